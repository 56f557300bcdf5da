//! `format`: `"%s has %d"` and a list.
//!
//! The clauses are read once by [`clauses`], for calls and for the check of constant formats alike.

use crate::value::{EvalError, EvalResult, Value};
use kubewright_machinery::go;

use super::conversion::to_string;
use super::no_such_overload;

/// A piece of a format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Literal text.
    Text(String),
    /// The next argument.
    Clause(Clause),
}

/// The verb for an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clause {
    String,
    Decimal,
    /// A number with a fixed number of decimal places.
    Fixed(usize),
    Scientific,
    Binary,
    Hex {
        upper: bool,
    },
    Octal,
}

/// The maximum number of decimal places.
const MAX_PLACES: usize = 1_000;

/// The pieces of a format for `count` arguments, up to the first error.
pub(crate) fn clauses(format: &str, count: usize) -> (Vec<Piece>, Option<String>) {
    let mut pieces = Vec::new();
    let mut used = 0;
    let mut text = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            text.push('%');
            rest = after;
            continue;
        }
        if !text.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut text)));
        }
        if used >= count && !rest.is_empty() {
            return (pieces, Some(format!("index {used} out of range")));
        }
        if rest.is_empty() {
            let why = match used >= count {
                true => format!("index {used} out of range"),
                false => "unexpected end of string".into(),
            };
            return (pieces, Some(why));
        }
        match clause(rest) {
            Ok((clause, length)) => {
                pieces.push(Piece::Clause(clause));
                rest = &rest[length..];
                used += 1;
            }
            Err(why) => {
                let why = format!("could not parse formatting clause: {why}");
                return (pieces, Some(why));
            }
        }
    }
    text.push_str(rest);
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    (pieces, None)
}

impl Clause {
    /// The error of a value this clause cannot write.
    pub(crate) fn refuse(self, type_name: &str) -> String {
        let what = match self {
            Self::String => {
                "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"
            }
            Self::Decimal => "decimal clause can only be used on integers",
            Self::Fixed(_) => "fixed-point clause can only be used on doubles",
            Self::Scientific => "scientific clause can only be used on doubles",
            Self::Binary => "only integers and bools can be formatted as binary",
            Self::Hex { .. } => "only integers, byte buffers, and strings can be formatted as hex",
            Self::Octal => "octal clause can only be used on integers",
        };
        format!("error during formatting: {what}, was given {type_name}")
    }

    fn write(self, value: &Value<'_>) -> Result<String, EvalError> {
        let text = match (self, value) {
            (Self::String, value) => return self.string(value),
            (Self::Decimal, Value::Int(i)) => i.to_string(),
            (Self::Decimal, Value::Uint(u)) => u.to_string(),
            (Self::Fixed(places), value) => match number(value) {
                Some(number) => fixed(number, places),
                None => return Err(self.error(value)),
            },
            (Self::Scientific, value) => match number(value) {
                Some(number) => scientific(number),
                None => return Err(self.error(value)),
            },
            (Self::Binary, Value::Int(i)) => signed(*i, format!("{:b}", i.unsigned_abs())),
            (Self::Binary, Value::Uint(u)) => format!("{u:b}"),
            (Self::Binary, Value::Bool(b)) => u8::from(*b).to_string(),
            (Self::Hex { upper }, value) => {
                let text = match value {
                    Value::Int(i) => signed(*i, format!("{:x}", i.unsigned_abs())),
                    Value::Uint(u) => format!("{u:x}"),
                    Value::String(text) => hex(text.as_bytes()),
                    Value::Bytes(bytes) => hex(bytes),
                    _ => return Err(self.error(value)),
                };
                if upper { text.to_uppercase() } else { text }
            }
            (Self::Octal, Value::Int(i)) => signed(*i, format!("{:o}", i.unsigned_abs())),
            (Self::Octal, Value::Uint(u)) => format!("{u:o}"),
            (_, value) => return Err(self.error(value)),
        };
        Ok(text)
    }

    fn string(self, value: &Value<'_>) -> Result<String, EvalError> {
        match value {
            Value::List(_) | Value::Map(_) => nested(value),
            Value::Null
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Uint(_)
            | Value::Double(_)
            | Value::String(_)
            | Value::Bytes(_)
            | Value::Duration(_)
            | Value::Timestamp(_)
            | Value::Type(_) => to_string(std::slice::from_ref(value))
                .map(|text| text.to_string())
                .map_err(|why| {
                    EvalError::new(format!(
                        "error during formatting: could not convert argument {} to string",
                        go::quote(&why.to_string())
                    ))
                }),
            other => Err(self.error(other)),
        }
    }

    fn error(self, value: &Value<'_>) -> EvalError {
        EvalError::new(self.refuse(value.type_name()))
    }
}

/// `format.format(args)`
pub(super) fn format<'a>(args: &[Value<'a>]) -> EvalResult<'a> {
    let [Value::String(format), Value::List(values)] = args else {
        return no_such_overload();
    };
    let (pieces, error) = clauses(format, values.len());
    let mut out = String::new();
    let mut at = 0;
    for piece in &pieces {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Clause(clause) => {
                if let Some(value) = values.get(at) {
                    out.push_str(&clause.write(&value?)?);
                }
                at += 1;
            }
        }
    }
    match error {
        Some(error) => Err(EvalError::new(error)),
        None => Ok(Value::text(out)),
    }
}

/// The clause at the start and its length.
fn clause(text: &str) -> Result<(Clause, usize), String> {
    let (places, length) =
        places(text).map_err(|why| format!("error while parsing precision: {why}"))?;
    let Some(c) = text.as_bytes().get(length).copied() else {
        return Err(
            "error while parsing precision: could not find end of precision specifier".into(),
        );
    };
    let clause = match c {
        b's' => Clause::String,
        b'd' => Clause::Decimal,
        b'f' => Clause::Fixed(places.unwrap_or(6).min(MAX_PLACES)),
        b'e' => Clause::Scientific,
        b'b' => Clause::Binary,
        b'x' => Clause::Hex { upper: false },
        b'X' => Clause::Hex { upper: true },
        b'o' => Clause::Octal,
        other => {
            return Err(format!(
                "unrecognized formatting clause \"{}\"",
                char::from(other)
            ));
        }
    };
    Ok((clause, length + 1))
}

/// `.2`: the number of places, and how long that is.
fn places(text: &str) -> Result<(Option<usize>, usize), String> {
    let Some(rest) = text.strip_prefix('.') else {
        return Ok((None, 0));
    };
    let count = rest.bytes().take_while(u8::is_ascii_digit).count();
    let digits = &rest[..count];
    if count == rest.len() {
        return Err("could not find end of precision specifier".into());
    }
    match digits.parse::<i64>() {
        Ok(places) => Ok((Some(usize::try_from(places).unwrap_or(0)), count + 1)),
        Err(_) => {
            let why = if digits.is_empty() {
                "invalid syntax"
            } else {
                "value out of range"
            };
            Err(format!(
                "error while converting precision to integer: strconv.Atoi: parsing {}: {why}",
                go::quote(digits)
            ))
        }
    }
}

/// Formats doubles, with words for those that are not finite.
fn number(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::Double(d) => Some(*d),
        Value::String(text) => match &**text {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

fn signed(of: i64, digits: String) -> String {
    match of < 0 {
        true => format!("-{digits}"),
        false => digits,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn not_finite(number: f64) -> Option<String> {
    if number.is_nan() {
        return Some("NaN".into());
    }
    let sign = if number < 0.0 { "-" } else { "" };
    number.is_infinite().then(|| format!("{sign}\u{221e}"))
}

/// Formats in English: `1,234.50`.
fn fixed(number: f64, places: usize) -> String {
    if let Some(text) = not_finite(number) {
        return text;
    }
    let text = format!("{:.places$}", number.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let mut out = String::from(if number.is_sign_negative() { "-" } else { "" });
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// Formats in English: `1.234500×10⁰³`.
fn scientific(number: f64) -> String {
    if let Some(text) = not_finite(number) {
        return text;
    }
    let text = format!("{number:.6e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ("\u{207b}", digits),
        None => ("", exponent),
    };
    let raised: String = format!("{digits:0>2}").chars().map(superscript).collect();
    format!("{mantissa}\u{d7}10{sign}{raised}")
}

fn superscript(digit: char) -> char {
    match digit {
        '1' => '\u{b9}',
        '2' => '\u{b2}',
        '3' => '\u{b3}',
        digit => char::from_u32(0x2070 + digit.to_digit(10).unwrap_or(0)).unwrap_or(digit),
    }
}

/// A value inside a list or map.
fn nested(value: &Value<'_>) -> Result<String, EvalError> {
    let text = match value {
        Value::List(list) => {
            let items: Result<Vec<String>, EvalError> =
                list.iter().map(|item| nested(&item?)).collect();
            format!("[{}]", items?.join(", "))
        }
        Value::Map(map) => {
            let mut entries = Vec::new();
            for (key, value) in map.iter() {
                let key = match &key {
                    Value::String(_) | Value::Bool(_) | Value::Int(_) | Value::Uint(_) => {
                        nested(&key)?
                    }
                    other => {
                        return Err(EvalError::new(format!(
                            "error during formatting: no formatting function for map key of type {}",
                            other.type_name()
                        )));
                    }
                };
                entries.push((key, nested(&value?)?));
            }
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            let entries: Vec<String> = entries.iter().map(|(k, v)| format!("{k}:{v}")).collect();
            format!("{{{}}}", entries.join(", "))
        }
        Value::String(text) => go::quote(text),
        Value::Bytes(bytes) => format!("b{}", go::quote(&String::from_utf8_lossy(bytes))),
        Value::Double(d) if d.is_finite() => format!("{d:.6}"),
        Value::Double(d) => go::quote(&go::float(*d)),
        Value::Timestamp(at) => format!("timestamp({})", go::quote(&at.to_string())),
        Value::Duration(_) => format!("duration({})", go::quote(&value.to_string())),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Type(_) => {
            return Clause::String.string(value);
        }
        other => {
            return Err(EvalError::new(format!(
                "error during formatting: no formatting function for {}",
                other.type_name()
            )));
        }
    };
    Ok(text)
}
