//! Numbers with a check digit.

/// Removes spaces and dashes.
fn without_separators(text: &str) -> String {
    text.chars()
        .filter(|c| !matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}' | '-'))
        .collect()
}

fn digits(text: &str) -> Option<Vec<u32>> {
    text.bytes()
        .map(|b| b.is_ascii_digit().then(|| u32::from(b - b'0')))
        .collect()
}

pub(super) fn is_isbn10(text: &str) -> bool {
    let text = without_separators(text);
    if text.len() != 10 || !text.is_ascii() {
        return false;
    }
    let (body, last) = text.split_at(9);
    let last = match last {
        "X" => 10,
        digit => match digit.parse::<u32>() {
            Ok(digit) => digit,
            Err(_) => return false,
        },
    };
    let Some(body) = digits(body) else {
        return false;
    };
    let sum: u32 = body
        .iter()
        .zip(1..)
        .map(|(digit, weight)| digit * weight)
        .sum();
    (sum + 10 * last).is_multiple_of(11)
}

pub(super) fn is_isbn13(text: &str) -> bool {
    let Some(all) = digits(&without_separators(text)).filter(|d| d.len() == 13) else {
        return false;
    };
    let sum: u32 = all[..12]
        .iter()
        .zip([1, 3].into_iter().cycle())
        .map(|(d, w)| d * w)
        .sum();
    all[12] == (10 - sum % 10) % 10
}

pub(super) fn is_credit_card(text: &str) -> bool {
    let text: String = text.chars().filter(char::is_ascii_digit).collect();
    let begins = |prefixes: &[&str]| prefixes.iter().any(|p| text.starts_with(p));
    let known = match text.len() {
        13 => begins(&["4"]),
        14 => {
            begins(&["300", "301", "302", "303", "304", "305", "36", "38"])
                || (text.starts_with('3') && matches!(text.as_bytes()[1], b'6' | b'8'))
        }
        15 => begins(&["34", "37", "2131", "1800"]),
        16 => begins(&["4", "51", "52", "53", "54", "55", "6011", "65", "35"]),
        _ => false,
    };
    let Some(all) = digits(&text).filter(|_| known) else {
        return false;
    };
    let sum: u32 = all
        .iter()
        .rev()
        .enumerate()
        .map(|(i, digit)| {
            if i % 2 == 0 {
                *digit
            } else {
                digit * 2 / 10 + digit * 2 % 10
            }
        })
        .sum();
    sum.is_multiple_of(10)
}
