//! Numbers and strings in the text forms of Go.

/// `%g`: the shortest form that reads back, with an exponent below 1e-4 and from 1e6 on.
pub(crate) fn float_shortest(number: f64) -> String {
    if let Some(text) = not_finite(number) {
        return text.into();
    }
    let (negative, digits, exponent) = digits(number);
    let sign = if negative { "-" } else { "" };
    if !(-4..6).contains(&exponent) {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let e = if exponent < 0 { '-' } else { '+' };
        return format!("{sign}{first}{point}{rest}e{e}{:02}", exponent.abs());
    }
    format!("{sign}{}", plain(&digits, exponent))
}

/// `%f` with as many places as it takes to read back, and never an exponent.
pub(crate) fn float_plain(number: f64) -> String {
    if let Some(text) = not_finite(number) {
        return text.into();
    }
    let (negative, digits, exponent) = digits(number);
    format!(
        "{}{}",
        if negative { "-" } else { "" },
        plain(&digits, exponent)
    )
}

/// `%q`
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x0b' => out.push_str("\\v"),
            c if c.is_control() && (c as u32) < 0x80 => {
                out.push_str(&format!("\\x{:02x}", c as u32));
            }
            c if is_printable(c) => out.push(c),
            c if (c as u32) < 0x10000 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push_str(&format!("\\U{:08x}", c as u32)),
        }
    }
    out.push('"');
    out
}

/// What Go calls printable, but for characters no one has: no controls, and of spaces only the plain one.
fn is_printable(c: char) -> bool {
    c == ' '
        || !(c.is_control()
            || c.is_whitespace()
            || matches!(c, '\u{ad}' | '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'))
}

fn not_finite(number: f64) -> Option<&'static str> {
    if number.is_nan() {
        return Some("NaN");
    }
    match number.is_infinite() {
        true if number < 0.0 => Some("-Inf"),
        true => Some("+Inf"),
        false => None,
    }
}

/// The shortest digits of a number and the power of ten of the first.
fn digits(number: f64) -> (bool, String, i32) {
    let text = format!("{:e}", number.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits = mantissa.replace('.', "");
    (
        number.is_sign_negative(),
        digits,
        exponent.parse().unwrap_or(0),
    )
}

fn plain(digits: &str, exponent: i32) -> String {
    if exponent < 0 {
        let zeros = "0".repeat(exponent.unsigned_abs() as usize - 1);
        return format!("0.{zeros}{digits}");
    }
    let whole = exponent as usize + 1;
    if digits.len() <= whole {
        return format!("{digits}{}", "0".repeat(whole - digits.len()));
    }
    let (whole, fraction) = digits.split_at(whole);
    format!("{whole}.{fraction}")
}
