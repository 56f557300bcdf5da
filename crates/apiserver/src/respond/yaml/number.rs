//! Numbers as Go prints them, on the way over JSON: whole numbers of 64 bits in full, others with an exponent from a
//! million on and below a ten-thousandth.

use serde_json::Number;

/// The text of a number.
pub(super) fn text(number: &Number) -> String {
    let text = number.to_string();
    if number.is_f64() {
        float_text(&text)
    } else {
        text
    }
}

/// A float, from the shortest text that reads back as the same one.
fn float_text(text: &str) -> String {
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(unsigned) => ("-", unsigned),
        None => ("", text),
    };
    let (mantissa, exponent) = unsigned.split_once('e').unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent: i64 = exponent.parse().unwrap_or(0);

    // The number is 0.digits, shifted by `point` places.
    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches('0');
    let point = whole.len() as i64 + exponent - (all.len() - digits.len()) as i64;
    let digits = digits.trim_end_matches('0');
    if digits.is_empty() {
        return "0".to_owned();
    }

    let plain = format!("{sign}{}", positional(digits, point));
    // Where JSON would not tell a float from an integer, neither does YAML.
    if plain.parse::<i64>().is_ok() || plain.parse::<u64>().is_ok() || (-3..=6).contains(&point) {
        return plain;
    }
    let (first, rest) = digits.split_at(1);
    let point_mark = if rest.is_empty() { "" } else { "." };
    let (e_sign, e) = if point > 0 {
        ('+', point - 1)
    } else {
        ('-', 1 - point)
    };
    format!("{sign}{first}{point_mark}{rest}e{e_sign}{e:02}")
}

/// `0.digits`, shifted by `point` places, without an exponent. Floats end at 309 places, so this is never long.
fn positional(digits: &str, point: i64) -> String {
    let zeros = |n: i64| "0".repeat(usize::try_from(n).unwrap_or(0));
    let length = digits.len() as i64;
    match usize::try_from(point) {
        Ok(at) if point > 0 && point < length => {
            let (whole, fraction) = digits.split_at(at);
            format!("{whole}.{fraction}")
        }
        Ok(_) if point >= length => format!("{digits}{}", zeros(point - length)),
        _ => format!("0.{}{digits}", zeros(-point)),
    }
}
