//! Which words are dates: `2006-1-2`, with a time behind a space, or with a time and a zone behind a `T`.

/// Whether a text is a date, or a date and a time.
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
        .fold(0, |year, digit| year * 10 + u32::from(digit - b'0'));
    let (month, text) = number(text.strip_prefix(b"-")?)?;
    let (day, text) = number(text.strip_prefix(b"-")?)?;
    if day < 1 || day > days_in(year, month)? {
        return None;
    }
    match text {
        [] => Some(()),
        [b'T' | b't', text @ ..] => zone(time(text)?),
        [b' ', text @ ..] => time(behind_spaces(text))?.is_empty().then_some(()),
        _ => None,
    }
}

/// Hours, minutes, seconds and a fraction; gives back what follows.
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

/// `Z`, or an offset of hours and minutes.
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

/// One digit or two.
fn number(text: &[u8]) -> Option<(u32, &[u8])> {
    match text {
        [tens, ones, rest @ ..] if ones.is_ascii_digit() => Some((pair(*tens, *ones)?, rest)),
        [ones, rest @ ..] => Some((pair(b'0', *ones)?, rest)),
        [] => None,
    }
}

fn pair(tens: u8, ones: u8) -> Option<u32> {
    (tens.is_ascii_digit() && ones.is_ascii_digit())
        .then(|| u32::from(tens - b'0') * 10 + u32::from(ones - b'0'))
}

fn days_in(year: u32, month: u32) -> Option<u32> {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 => Some(if leap { 29 } else { 28 }),
        4 | 6 | 9 | 11 => Some(30),
        1..=12 => Some(31),
        _ => None,
    }
}

/// The text behind its leading spaces.
fn behind_spaces(text: &[u8]) -> &[u8] {
    let spaces = text.iter().take_while(|b| **b == b' ').count();
    text.get(spaces..).unwrap_or_default()
}
