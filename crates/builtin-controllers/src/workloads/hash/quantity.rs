//! The insides of a quantity as Go prints them.
//!
//! Go keeps the text of a quantity that it recognises as canonical, and small amounts as an integer and a power of ten; for
//! others it keeps a big decimal in billionths.

use std::fmt::Write;

use serde_json::Value;

/// The number of decimal digits that always fit into 64 bits.
const DIGITS: usize = 18;

/// A text taken apart.
struct Parsed<'a> {
    is_negative: bool,
    /// The digits before and after the point, without leading zeros.
    digits: String,
    /// The number of digits after the point.
    fraction: usize,
    format: &'static str,
    /// The power of two or ten of the suffix.
    exponent: i32,
    text: &'a str,
}

/// Prints the value of a quantity.
pub(super) fn write(out: &mut String, value: Option<&Value>) {
    let number;
    let text = match value {
        Some(Value::String(text)) => text.as_str(),
        Some(Value::Number(value)) => {
            number = value.to_string();
            &number
        }
        _ => "",
    };
    if text.is_empty() || text == "0" {
        return amount(out, 0, 0, text, if text.is_empty() { "" } else { DECIMAL });
    }
    let Some(parsed) = parse(text) else {
        return amount(out, 0, 0, "", "");
    };
    match parsed.small() {
        Some((value, scale)) => {
            let kept = if parsed.is_canonical(scale) { text } else { "" };
            amount(out, value, scale, kept, parsed.format);
        }
        None => parsed.write_big(out),
    }
}

const DECIMAL: &str = "DecimalSI";
const BINARY: &str = "BinarySI";

fn amount(out: &mut String, value: i64, scale: i32, text: &str, format: &str) {
    let _ = write!(
        out,
        "{{i:(resource.int64Amount){{value:(int64){value} scale:(resource.Scale){scale}}} \
         d:(resource.infDecAmount){{Dec:(*inf.Dec)<nil>}} s:(string){text} Format:(resource.Format){format}}}"
    );
}

fn parse(text: &str) -> Option<Parsed<'_>> {
    let (is_negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = rest
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(rest.len());
    let (number, suffix) = rest.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let (format, exponent) = suffix_of(suffix)?;
    Some(Parsed {
        is_negative,
        digits: format!("{}{fraction}", whole.trim_start_matches('0')),
        fraction: fraction.len(),
        format,
        exponent,
        text,
    })
}

fn suffix_of(suffix: &str) -> Option<(&'static str, i32)> {
    let power = |letters: &str| letters.find(suffix.chars().next()?);
    Some(match suffix {
        "" => (DECIMAL, 0),
        "n" => (DECIMAL, -9),
        "u" => (DECIMAL, -6),
        "m" => (DECIMAL, -3),
        "k" | "M" | "G" | "T" | "P" | "E" => {
            (DECIMAL, 3 * (i32::try_from(power("kMGTPE")?).ok()? + 1))
        }
        "Ki" | "Mi" | "Gi" | "Ti" | "Pi" | "Ei" => {
            (BINARY, 10 * (i32::try_from(power("KMGTPE")?).ok()? + 1))
        }
        _ => (
            "DecimalExponent",
            suffix.strip_prefix(['e', 'E'])?.parse().ok()?,
        ),
    })
}

impl Parsed<'_> {
    /// Returns the amount as an integer and a power of ten, if Go does.
    fn small(&self) -> Option<(i64, i32)> {
        let fraction = i32::try_from(self.fraction).ok()?;
        let (factor, scale, room) = match self.format {
            BINARY if self.fraction == 0 => {
                let used = i64::from(self.exponent) * 3 / 10 + 1;
                (
                    1_i64.checked_shl(self.exponent.cast_unsigned())?,
                    0,
                    15 - used,
                )
            }
            BINARY => return None,
            _ => (1, self.exponent, i64::try_from(DIGITS).ok()?),
        };
        let scale = scale - fraction;
        if i64::try_from(self.digits.len()).ok()? > room || scale < -9 {
            return None;
        }
        let value = self.number()?.checked_mul(factor)?;
        Some((if self.is_negative { -value } else { value }, scale))
    }

    fn number(&self) -> Option<i64> {
        match self.digits.as_str() {
            "" => Some(0),
            digits => digits.parse().ok(),
        }
    }

    /// Reports whether Go keeps the text.
    fn is_canonical(&self, scale: i32) -> bool {
        match self.format {
            BINARY => self.exponent % 10 == 0 && self.number().is_some_and(|value| value & 7 != 0),
            _ => {
                scale % 3 == 0
                    && !self.digits.ends_with("000")
                    && !self.digits.is_empty()
                    && !self.digits.starts_with('0')
            }
        }
    }

    /// Prints an amount as a big decimal in billionths.
    fn write_big(&self, out: &mut String) {
        let Some((words, scale)) = self.words() else {
            return amount(out, 0, 0, self.text, self.format);
        };
        let _ = write!(
            out,
            "{{i:(resource.int64Amount){{value:(int64)0 scale:(resource.Scale)0}} \
             d:(resource.infDecAmount){{Dec:(*inf.Dec){{unscaled:(big.Int){{neg:(bool){} abs:(big.nat)[{words}]}} \
             scale:(inf.Scale){scale}}}}} s:(string) Format:(resource.Format){}}}",
            self.is_negative, self.format
        );
    }

    /// Returns the 64-bit words of the amount in billionths, lowest first, and the scale. `None` beyond 128 bits.
    fn words(&self) -> Option<(String, i32)> {
        let digits: u128 = self.digits.parse().ok()?;
        let (value, down) = match self.format {
            BINARY => (digits.checked_mul(1 << self.exponent)?, self.fraction),
            _ => {
                let up = u32::try_from(self.exponent.max(0)).ok()?;
                let down = usize::try_from(-self.exponent.min(0)).ok()? + self.fraction;
                (digits.checked_mul(10_u128.checked_pow(up)?)?, down)
            }
        };
        let whole = value.div_ceil(10_u128.checked_pow(u32::try_from(down).ok()?)?);
        if self.format == BINARY && whole > u128::from(i64::MAX.cast_unsigned()) {
            return Some((i64::MAX.to_string(), 0));
        }
        let scaled = value.checked_mul(10_u128.pow(9))?;
        let scaled = scaled.div_ceil(10_u128.checked_pow(u32::try_from(down).ok()?)?);
        let low = u64::try_from(scaled & u128::from(u64::MAX)).ok()?;
        let high = u64::try_from(scaled >> 64).ok()?;
        let words = match high {
            0 => low.to_string(),
            high => format!("{low} {high}"),
        };
        Some((words, 9))
    }
}
