//! Durations as `time.ParseDuration` reads them and `Duration.String` prints them.

use std::fmt::Write;

/// The duration in Go's own notation: `90s` is `1m30s`. The error is Go's message.
pub(crate) fn recode(text: &str) -> Result<String, String> {
    parse(text).map(print)
}

/// Quotes the short way of Go's `time` package: what is not printable ASCII is written byte by byte.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            ' '..='\u{7f}' => out.push(c),
            _ => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    let _ = write!(out, "\\x{byte:02x}");
                }
            }
        }
    }
    out.push('"');
    out
}

const LIMIT: u64 = 1 << 63;

fn parse(text: &str) -> Result<i64, String> {
    let invalid = || format!("time: invalid duration {}", quote(text));
    let (negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total = 0u64;
    while !rest.is_empty() {
        let (whole, after) = split_digits(rest);
        let mut amount = 0u64;
        for digit in whole.bytes() {
            amount = amount
                .checked_mul(10)
                .and_then(|a| a.checked_add(u64::from(digit - b'0')))
                .filter(|a| *a <= LIMIT)
                .ok_or_else(invalid)?;
        }
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => split_digits(after),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let end = after
            .find(|c: char| c == '.' || c.is_ascii_digit())
            .unwrap_or(after.len());
        let (name, tail) = after.split_at(end);
        if name.is_empty() {
            return Err(format!("time: missing unit in duration {}", quote(text)));
        }
        let Some(unit) = unit(name) else {
            return Err(format!(
                "time: unknown unit {} in duration {}",
                quote(name),
                quote(text)
            ));
        };
        total = amount
            .checked_mul(unit)
            .and_then(|a| a.checked_add(part_of(fraction, unit)))
            .and_then(|a| a.checked_add(total))
            .filter(|t| *t <= LIMIT)
            .ok_or_else(invalid)?;
        rest = tail;
    }
    if negative {
        return Ok((total as i64).wrapping_neg());
    }
    i64::try_from(total).map_err(|_| invalid())
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text.split_at(end)
}

/// So many digits after the point, in units.
fn part_of(fraction: &str, unit: u64) -> u64 {
    let (mut value, mut scale) = (0u64, 1f64);
    for digit in fraction.bytes().take(18) {
        value = value * 10 + u64::from(digit - b'0');
        scale *= 10.0;
    }
    (value as f64 * (unit as f64 / scale)) as u64
}

fn unit(name: &str) -> Option<u64> {
    Some(match name {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

fn print(duration: i64) -> String {
    let mut out = String::new();
    if duration < 0 {
        out.push('-');
    }
    let nanos = duration.unsigned_abs();
    match nanos {
        0 => return "0s".to_owned(),
        1..1_000 => {
            let _ = write!(out, "{nanos}ns");
        }
        1_000..1_000_000 => {
            push_decimal(&mut out, nanos, 1_000);
            out.push_str("µs");
        }
        1_000_000..1_000_000_000 => {
            push_decimal(&mut out, nanos, 1_000_000);
            out.push_str("ms");
        }
        _ => {
            let minutes = nanos / 60_000_000_000;
            if minutes >= 60 {
                let _ = write!(out, "{}h", minutes / 60);
            }
            if minutes > 0 {
                let _ = write!(out, "{}m", minutes % 60);
            }
            push_decimal(&mut out, nanos % 60_000_000_000, 1_000_000_000);
            out.push('s');
        }
    }
    out
}

fn push_decimal(out: &mut String, amount: u64, unit: u64) {
    let _ = write!(out, "{}", amount / unit);
    let fraction = amount % unit;
    if fraction > 0 {
        let digits = format!("{:0width$}", fraction, width = unit.ilog10() as usize);
        out.push('.');
        out.push_str(digits.trim_end_matches('0'));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_print_in_hours_minutes_and_seconds() {
        for (text, printed) in [
            ("0", "0s"),
            ("90s", "1m30s"),
            ("1h", "1h0m0s"),
            ("1.5h", "1h30m0s"),
            ("-1500ms", "-1.5s"),
            ("1500us", "1.5ms"),
            ("1500ns", "1.5µs"),
            ("3ns", "3ns"),
            ("100h", "100h0m0s"),
            ("-9223372036854775808ns", "-2562047h47m16.854775808s"),
        ] {
            assert_eq!(recode(text).as_deref(), Ok(printed));
        }
    }

    #[test]
    fn errors_are_those_of_go() {
        for (text, message) in [
            ("", r#"time: invalid duration """#),
            ("x", r#"time: invalid duration "x""#),
            ("5", r#"time: missing unit in duration "5""#),
            ("5x", r#"time: unknown unit "x" in duration "5x""#),
            (
                "9223372036854775808ns",
                r#"time: invalid duration "9223372036854775808ns""#,
            ),
        ] {
            assert_eq!(recode(text).unwrap_err(), message);
        }
    }
}
