//! Recognises plain words that would not read as strings: null, truth values, numbers of every notation,
//! dates.

use super::timestamp;

/// Reports whether a plain text would not read as a string, or not by every reader.
pub(super) fn is_not_a_string(text: &str) -> bool {
    match text.as_bytes().first() {
        None => true,
        Some(b'~') => text == "~",
        Some(b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O') => is_word(text),
        Some(b'.') => is_special_float(text) || is_go_float(text),
        Some(b'0'..=b'9' | b'+' | b'-') => {
            is_special_float(text)
                || timestamp::is_timestamp(text)
                || is_number(&text.replace('_', ""))
                || is_sexagesimal(text)
        }
        Some(_) => false,
    }
}

/// The words for null and for truth values, in their three spellings each.
fn is_word(text: &str) -> bool {
    const WORDS: [&str; 9] = ["y", "yes", "true", "on", "n", "no", "false", "off", "null"];
    let Some(first) = text.chars().next() else {
        return false;
    };
    let rest = text.get(first.len_utf8()..).unwrap_or_default();
    let lower = |s: &str| s.bytes().all(|b| b.is_ascii_lowercase());
    let upper = |s: &str| s.bytes().all(|b| b.is_ascii_uppercase());
    WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
        && (lower(rest) || upper(rest) && first.is_ascii_uppercase())
}

fn is_special_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN")
}

/// A number that starts with a digit or a sign, its underscores gone.
fn is_number(text: &str) -> bool {
    let (sign, digits) = match text.as_bytes().first() {
        Some(sign @ (b'+' | b'-')) => (Some(*sign), text.get(1..).unwrap_or_default()),
        _ => (None, text),
    };
    if let Some((radix, digits)) = radix_of(digits) {
        // `0b-1` is a number as well.
        return fits(sign, digits, radix)
            || text
                .strip_prefix("0b")
                .is_some_and(|rest| match rest.as_bytes().first() {
                    Some(sign @ (b'+' | b'-')) => {
                        fits(Some(*sign), rest.get(1..).unwrap_or_default(), 2)
                    }
                    _ => false,
                });
    }
    is_decimal_float(digits)
}

/// The radix a prefix names, and the digits behind the prefix.
fn radix_of(digits: &str) -> Option<(u32, &str)> {
    let rest = digits.strip_prefix('0')?;
    let radix = match rest.as_bytes().first()? {
        b'b' | b'B' => 2,
        b'o' | b'O' => 8,
        b'x' | b'X' => 16,
        _ => return None,
    };
    Some((radix, rest.get(1..)?))
}

/// Reports whether the digits fit a number of 64 bits: signed if there is a sign, of either kind if not.
fn fits(sign: Option<u8>, digits: &str, radix: u32) -> bool {
    let limit = match sign {
        None => u128::from(u64::MAX),
        Some(b'-') => 1 << 63,
        Some(_) => (1 << 63) - 1,
    };
    !digits.is_empty()
        && digits.chars().all(|c| c.is_digit(radix))
        && u128::from_str_radix(digits, radix).is_ok_and(|n| n <= limit)
}

/// `1`, `1.`, `.5`, `1.5e-3`: at least a digit before the exponent, and not too large.
fn is_decimal_float(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let exponent_ok = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && all_digits(digits)
    });
    exponent_ok
        && !(whole.is_empty() && fraction.is_empty())
        && all_digits(whole)
        && all_digits(fraction)
        && text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// A float that starts with its point. Underscores may stand between two digits.
fn is_go_float(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digit = |at: Option<usize>| {
        at.and_then(|at| bytes.get(at))
            .is_some_and(u8::is_ascii_digit)
    };
    let lone = |at: usize| {
        let mut left = at;
        while left > 0 && bytes.get(left) == Some(&b'_') {
            left -= 1;
        }
        left + 1 != at || !digit(Some(left)) || !digit(at.checked_add(1))
    };
    let misplaced = bytes
        .iter()
        .enumerate()
        .any(|(at, b)| *b == b'_' && lone(at));
    !misplaced && is_decimal_float(&text.replace('_', ""))
}

/// Reports whether a text is in base 60: `12:30:45` or `1:59.5`. Some other readers take it for a number.
fn is_sexagesimal(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let Some((first, rest)) = unsigned.split_once(':') else {
        return false;
    };
    let (places, fraction) = rest.split_once('.').unwrap_or((rest, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    first.starts_with(|c: char| c.is_ascii_digit())
        && digits(first)
        && digits(fraction)
        && places.split(':').all(|place| match place.as_bytes() {
            [ones] => ones.is_ascii_digit(),
            [tens, ones] => (b'0'..=b'5').contains(tens) && ones.is_ascii_digit(),
            _ => false,
        })
}
