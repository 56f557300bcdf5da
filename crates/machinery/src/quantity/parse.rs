//! Parses quantities.

use std::borrow::Cow;

use super::{Decimal, Format, Quantity, QuantityError};

const NANO: i64 = -9;
/// The most digits that the short way takes, which keeps the text.
const SHORT_DIGITS: i64 = 18;

/// A quantity cut into its parts.
struct Parts<'a> {
    negative: bool,
    /// The digits before the point, without leading zeros; `0` if there are none.
    whole: &'a str,
    /// The digits after the point.
    fraction: &'a str,
    /// `true` if there is a digit. Kubernetes reads a short number without digits as 0.
    digits: bool,
    suffix: &'a str,
}

impl<'a> Parts<'a> {
    /// Returns the digits before and after the point.
    fn all_digits(&self) -> Cow<'a, str> {
        match self.fraction {
            "" => Cow::Borrowed(self.whole),
            fraction => Cow::Owned([self.whole, fraction].concat()),
        }
    }
}

/// The factor of a suffix: `base^exponent`.
struct Scale {
    binary: bool,
    exponent: i32,
    format: Format,
}

pub(super) fn parse(text: &str) -> Result<Quantity, QuantityError> {
    if text.is_empty() {
        return Err(QuantityError::Format);
    }
    let parts = split(text)?;
    let scale = interpret(parts.suffix).ok_or(QuantityError::Suffix)?;
    if scale.binary {
        binary(text, &parts, scale.exponent as u32)
    } else {
        decimal(text, &parts, &scale)
    }
}

fn decimal(text: &str, parts: &Parts<'_>, scale: &Scale) -> Result<Quantity, QuantityError> {
    let digits = parts.all_digits();
    let exponent = i64::from(scale.exponent) - parts.fraction.len() as i64;
    let number = Decimal::from_digits(parts.negative, &digits, exponent);
    let short = digits.len() as i64 <= SHORT_DIGITS && exponent >= NANO;
    if !short && !parts.digits {
        return Err(QuantityError::Number);
    }
    let kept = short && exponent % 3 == 0 && !digits.ends_with("000") && !digits.starts_with('0');
    Ok(Quantity {
        number: match number.is_multiple(NANO) {
            true => number,
            false => number.round_up(NANO),
        },
        format: scale.format,
        text: kept.then(|| text.into()),
    })
}

fn binary(text: &str, parts: &Parts<'_>, exponent: u32) -> Result<Quantity, QuantityError> {
    // The short way is for numbers that surely fit into 64 bits.
    let room = 15 - parts.whole.len() as i64 - i64::from(exponent * 3 / 10) - 1;
    if parts.fraction.is_empty()
        && room >= 0
        && let Ok(whole) = parts.whole.parse::<i64>()
    {
        let sign = if parts.negative { -1 } else { 1 };
        return Ok(Quantity {
            number: Decimal::from_int(sign * (whole << exponent), 0),
            format: Format::BinarySi,
            text: (whole & 7 != 0).then(|| text.into()),
        });
    }
    let digits = parts.all_digits();
    let unscaled = Decimal::from_digits(parts.negative, &digits, -(parts.fraction.len() as i64));
    let mut number = unscaled;
    for _ in 0..exponent / 10 {
        number = number.mul_small(1024);
    }
    if !parts.digits {
        return Err(QuantityError::Number);
    }
    number = number.round_up(NANO);
    let max = Decimal::from_int(i64::MAX, 0);
    if number.abs() > max {
        number = if number.is_negative() { max.neg() } else { max };
    }
    let small = !number.is_zero() && number.abs() < Decimal::from_int(1, 0);
    let format = if small {
        Format::DecimalSi
    } else {
        Format::BinarySi
    };
    Ok(Quantity::from_number(number, format))
}

fn split(text: &str) -> Result<Parts<'_>, QuantityError> {
    let (negative, unsigned) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    let unpadded = unsigned.trim_start_matches('0');
    let (whole, rest) = take(unpadded, |b| b.is_ascii_digit());
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => take(rest, |b| b.is_ascii_digit()),
        None => ("", rest),
    };
    let (_, rest) = take(suffix, |b| b"eEinumkKMGTP".contains(&b));
    let rest = rest.strip_prefix(['-', '+']).unwrap_or(rest);
    if !rest.bytes().all(|b| b.is_ascii_digit()) {
        return Err(QuantityError::Format);
    }
    Ok(Parts {
        negative,
        whole: if whole.is_empty() { "0" } else { whole },
        fraction,
        digits: !fraction.is_empty() || unsigned.starts_with(|c: char| c.is_ascii_digit()),
        suffix,
    })
}

fn take(text: &str, belongs: fn(u8) -> bool) -> (&str, &str) {
    let end = text.bytes().position(|b| !belongs(b)).unwrap_or(text.len());
    text.split_at(end)
}

fn interpret(suffix: &str) -> Option<Scale> {
    let (binary, exponent, format) = match suffix {
        "n" => (false, -9, Format::DecimalSi),
        "u" => (false, -6, Format::DecimalSi),
        "m" => (false, -3, Format::DecimalSi),
        "" => (false, 0, Format::DecimalSi),
        "k" => (false, 3, Format::DecimalSi),
        "M" => (false, 6, Format::DecimalSi),
        "G" => (false, 9, Format::DecimalSi),
        "T" => (false, 12, Format::DecimalSi),
        "P" => (false, 15, Format::DecimalSi),
        "E" => (false, 18, Format::DecimalSi),
        "Ki" => (true, 10, Format::BinarySi),
        "Mi" => (true, 20, Format::BinarySi),
        "Gi" => (true, 30, Format::BinarySi),
        "Ti" => (true, 40, Format::BinarySi),
        "Pi" => (true, 50, Format::BinarySi),
        "Ei" => (true, 60, Format::BinarySi),
        other => {
            let exponent = other.strip_prefix(['e', 'E'])?.parse::<i64>().ok()?;
            // Kubernetes keeps the lower 32 bits.
            (false, exponent as i32, Format::DecimalExponent)
        }
    };
    Some(Scale {
        binary,
        exponent,
        format,
    })
}
