//! Quantities: `quantity("1.5Gi").isGreaterThan(quantity("1G"))`.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use kubewright_machinery::quantity::{Format, Quantity as Number};

use crate::value::{EvalError, EvalResult, Value};

use super::{Implementation, Registry, no_such_overload};

/// A quantity, and whether it is held in a machine word, which is what `isInteger` asks.
///
/// ```
/// use kubewright_cel::{Activation, Env, Value};
///
/// let program = Env::new().compile("quantity('1.5Gi').add(quantity('512Mi'))")?.program()?;
/// let activation = Activation::new();
/// let Ok(Value::Quantity(sum)) = program.evaluate(&activation).result else {
///     panic!("the sum is a quantity");
/// };
/// assert_eq!(sum.to_string(), "2Gi");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Quantity {
    number: Number,
    /// `value × 10^scale`, while it fits.
    word: Option<(i64, i32)>,
    /// `true` for a computed quantity, which the right side of `==` must not be.
    computed: bool,
}

pub(super) fn declare(r: &mut Registry) {
    r.global(
        "quantity",
        "string_to_quantity",
        "string",
        "quantity",
        parse as Implementation,
    );
    r.global(
        "isQuantity",
        "is_quantity_string",
        "string",
        "bool",
        is_quantity as Implementation,
    );
    r.global(
        "sign",
        "quantity_sign",
        "quantity",
        "int",
        sign as Implementation,
    );
    let members: [(&'static str, &'static str, &str, &str, Implementation); 10] = [
        (
            "isGreaterThan",
            "quantity_is_greater_than",
            "quantity quantity",
            "bool",
            |a| compare(a, |o| Value::Bool(o.is_gt())),
        ),
        (
            "isLessThan",
            "quantity_is_less_than",
            "quantity quantity",
            "bool",
            |a| compare(a, |o| Value::Bool(o.is_lt())),
        ),
        (
            "compareTo",
            "quantity_compare_to",
            "quantity quantity",
            "int",
            |a| compare(a, |o| Value::Int(o as i64)),
        ),
        (
            "asApproximateFloat",
            "quantity_get_float",
            "quantity",
            "double",
            as_float,
        ),
        (
            "asInteger",
            "quantity_get_int",
            "quantity",
            "int",
            as_integer,
        ),
        (
            "isInteger",
            "quantity_is_integer",
            "quantity",
            "bool",
            is_integer,
        ),
        (
            "add",
            "quantity_add",
            "quantity quantity",
            "quantity",
            |a| combine(a, false),
        ),
        ("add", "quantity_add_int", "quantity int", "quantity", |a| {
            combine(a, false)
        }),
        (
            "sub",
            "quantity_sub",
            "quantity quantity",
            "quantity",
            |a| combine(a, true),
        ),
        ("sub", "quantity_sub_int", "quantity int", "quantity", |a| {
            combine(a, true)
        }),
    ];
    for (name, id, params, result, implementation) in members {
        r.member(name, id, params, result, implementation);
    }
}

impl Quantity {
    fn parse(text: &str) -> Result<Self, EvalError> {
        let number = Number::parse(text).map_err(|why| EvalError::new(why.to_string()))?;
        Ok(Self {
            number,
            word: word(text),
            computed: false,
        })
    }

    /// `self == other`; an error if `other` was computed.
    pub(crate) fn equals(&self, other: &Self) -> Result<bool, EvalError> {
        if other.computed {
            return Err(EvalError::NO_SUCH_OVERLOAD);
        }
        Ok(self.number == other.number)
    }

    /// As an integer, if it is one that fits and is written as one.
    fn integer(&self) -> Option<i64> {
        let (value, scale) = self.word?;
        scaled(value, scale)
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number.fmt(f)
    }
}

/// `value × 10^by`, if `by` is not negative and the product fits.
fn scaled(value: i64, by: i32) -> Option<i64> {
    let factor = 10i64.checked_pow(u32::try_from(by).ok()?)?;
    value.checked_mul(factor)
}

/// The machine word a quantity is read into, if it is short enough.
fn word(text: &str) -> Option<(i64, i32)> {
    let (negative, text) = match text.strip_prefix(['+', '-']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    let text = text.trim_start_matches('0');
    let whole = text.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, rest) = text.split_at(whole);
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(rest.bytes().take_while(u8::is_ascii_digit).count()),
        None => ("", rest),
    };
    let digits = (whole.len() + fraction.len()) as i32;
    let (exponent, factor, fits) = match suffix {
        "n" => (-9, 1, digits <= 18),
        "u" => (-6, 1, digits <= 18),
        "m" => (-3, 1, digits <= 18),
        "" => (0, 1, digits <= 18),
        "k" => (3, 1, digits <= 18),
        "M" => (6, 1, digits <= 18),
        "G" => (9, 1, digits <= 18),
        "T" => (12, 1, digits <= 18),
        "P" => (15, 1, digits <= 18),
        "E" => (18, 1, digits <= 18),
        "Ki" | "Mi" | "Gi" | "Ti" | "Pi" | "Ei" => {
            let power = match suffix.as_bytes().first()? {
                b'K' => 10,
                b'M' => 20,
                b'G' => 30,
                b'T' => 40,
                b'P' => 50,
                _ => 60,
            };
            let precision = 15 - whole.len() as i32 - (power as f32 * 3.0 / 10.0) as i32 - 1;
            (0, 1i64 << power, fraction.is_empty() && precision >= 0)
        }
        other => (
            other.strip_prefix(['e', 'E'])?.parse().ok()?,
            1,
            digits <= 18,
        ),
    };
    let scale = i32::checked_sub(exponent, i32::try_from(fraction.len()).ok()?)?;
    if !fits || scale < -9 {
        return None;
    }
    let digits = format!("{whole}{fraction}");
    let value: i64 = if digits.is_empty() {
        0
    } else {
        digits.parse().ok()?
    };
    let value = value.checked_mul(factor)?;
    Some((if negative { -value } else { value }, scale))
}

/// The sum of two words, at the finer scale.
fn add_words(a: (i64, i32), b: (i64, i32)) -> Option<(i64, i32)> {
    match (a, b) {
        (a, (0, _)) => Some(a),
        ((0, _), b) => Some(b),
        ((a, a_scale), (b, b_scale)) if a_scale >= b_scale => {
            let by = a_scale.checked_sub(b_scale)?;
            Some((scaled(a, by)?.checked_add(b)?, b_scale))
        }
        ((a, a_scale), (b, b_scale)) => {
            let by = b_scale.checked_sub(a_scale)?;
            Some((a.checked_add(scaled(b, by)?)?, a_scale))
        }
    }
}

fn parse<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::String(text)] => Ok(Value::Quantity(Arc::new(Quantity::parse(text)?))),
        _ => no_such_overload(),
    }
}

fn is_quantity<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::String(text)] => Ok(Value::Bool(Number::parse(text).is_ok())),
        _ => no_such_overload(),
    }
}

fn sign<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::Quantity(quantity)] => Ok(Value::Int(i64::from(quantity.number.sign()))),
        _ => no_such_overload(),
    }
}

fn compare<'a>(args: &[Value<'a>], then: fn(Ordering) -> Value<'static>) -> EvalResult<'a> {
    match args {
        [Value::Quantity(a), Value::Quantity(b)] => Ok(then(a.number.cmp(&b.number))),
        _ => no_such_overload(),
    }
}

fn as_float<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::Quantity(quantity)] => Ok(Value::Double(quantity.number.as_f64())),
        _ => no_such_overload(),
    }
}

fn as_integer<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::Quantity(quantity)] => match quantity.integer() {
            Some(value) => Ok(Value::Int(value)),
            None => Err(EvalError::new("cannot convert value to integer")),
        },
        _ => no_such_overload(),
    }
}

fn is_integer<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    match args {
        [Value::Quantity(quantity)] => Ok(Value::Bool(quantity.integer().is_some())),
        _ => no_such_overload(),
    }
}

fn combine<'a>(args: &[Value<'a>], subtract: bool) -> EvalResult<'a> {
    let [Value::Quantity(a), other] = args else {
        return no_such_overload();
    };
    let (number, word) = match other {
        Value::Quantity(b) => (b.number.clone(), b.word),
        Value::Int(b) => (Number::new(*b, Format::DecimalExponent), Some((*b, 0))),
        _ => return no_such_overload(),
    };
    let (number, word) = match subtract {
        false => (&a.number + &number, word),
        true => (
            &a.number - &number,
            word.and_then(|(value, scale)| Some((value.checked_neg()?, scale))),
        ),
    };
    let word = a.word.zip(word).and_then(|(a, b)| add_words(a, b));
    Ok(Value::Quantity(Arc::new(Quantity {
        number,
        word,
        computed: true,
    })))
}
