//! Recognises dates: `2006-1-2`, with a time after a space, or with a time and a zone after a `T`.

use kubewright_machinery::calendar::Date;

/// Reports whether a text is a date, or a date and a time.
pub(super) fn is_timestamp(text: &str) -> bool {
    parse(text.as_bytes()).is_some()
}

fn parse(text: &[u8]) -> Option<()> {
    let (year, text) = text.split_at_checked(4)?;
    if !year.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let year = year
        .iter()
        .fold(0, |year, digit| year * 10 + i64::from(digit - b'0'));
    let (month, text) = number(text.strip_prefix(b"-")?)?;
    let (day, text) = number(text.strip_prefix(b"-")?)?;
    if !(Date { year, month, day }).is_valid() {
        return None;
    }
    match text {
        [] => Some(()),
        [b'T' | b't', text @ ..] => zone(time(text)?),
        [b' ', text @ ..] => time(behind_spaces(text))?.is_empty().then_some(()),
        _ => None,
    }
}

/// Reads hours, minutes, seconds and a fraction; returns the rest.
fn time(text: &[u8]) -> Option<&[u8]> {
    let (hour, text) = number(text)?;
    let (minute, text) = number(text.strip_prefix(b":")?)?;
    let (second, text) = number(text.strip_prefix(b":")?)?;
    if hour >= 24 || minute >= 60 || second >= 60 {
        return None;
    }
    Some(match text {
        [b'.' | b',', b'0'..=b'9', fraction @ ..] => {
            let digits = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
            fraction.get(digits..)?
        }
        text => text,
    })
}

/// Reads `Z`, or an offset of hours and minutes.
fn zone(text: &[u8]) -> Option<()> {
    match text {
        b"Z" => Some(()),
        [b'+' | b'-', h1, h2, b':', m1, m2] => {
            let (hours, minutes) = (pair(*h1, *h2)?, pair(*m1, *m2)?);
            (hours <= 24 && minutes <= 60).then_some(())
        }
        _ => None,
    }
}

/// Reads a number of one or two digits.
fn number(text: &[u8]) -> Option<(i64, &[u8])> {
    match text {
        [tens, ones, rest @ ..] if ones.is_ascii_digit() => Some((pair(*tens, *ones)?, rest)),
        [ones, rest @ ..] => Some((pair(b'0', *ones)?, rest)),
        [] => None,
    }
}

fn pair(tens: u8, ones: u8) -> Option<i64> {
    (tens.is_ascii_digit() && ones.is_ascii_digit())
        .then(|| i64::from(tens - b'0') * 10 + i64::from(ones - b'0'))
}

/// Returns the text without its leading spaces.
fn behind_spaces(text: &[u8]) -> &[u8] {
    let spaces = text.iter().take_while(|b| **b == b' ').count();
    text.get(spaces..).unwrap_or_default()
}
