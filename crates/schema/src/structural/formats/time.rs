//! Dates, times and durations.

use crate::golang::duration;

/// `2006-01-02`, a day that exists.
pub(super) fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return false;
    }
    let number = |from: usize, to: usize| -> Option<u32> {
        bytes[from..to].iter().try_fold(0, |n, b| {
            b.is_ascii_digit().then(|| n * 10 + u32::from(b - b'0'))
        })
    };
    let (Some(year), Some(month), Some(day)) = (number(0, 4), number(5, 7), number(8, 10)) else {
        return false;
    };
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// A date, a `t`, and a time with a zone.
pub(super) fn is_date_time(text: &str) -> bool {
    let text = text.to_lowercase();
    let mut parts = text.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else {
        return false;
    };
    is_date(date) && is_time(time)
}

fn is_time(text: &str) -> bool {
    let Some((clock, zone)) = text.split_at_checked(8) else {
        return false;
    };
    let bytes = clock.as_bytes();
    let shaped = bytes[2] == b':' && bytes[5] == b':';
    let parts = [&bytes[..2], &bytes[3..5], &bytes[6..]];
    let digits = parts.iter().all(|p| p.iter().all(u8::is_ascii_digit));
    if !shaped || !digits || parts[0] > b"23" || parts[1] > b"59" || parts[2] > b"59" {
        return false;
    }
    // A fraction begins with any character, which is how the real check has it.
    let zone = match zone.find(['z', '+', '-']) {
        Some(0) => zone,
        Some(at) => {
            let mut fraction = zone[..at].chars();
            fraction.next();
            let rest = fraction.as_str();
            if rest.is_empty() || !rest.bytes().all(|b| b.is_ascii_digit()) {
                return false;
            }
            &zone[at..]
        }
        None => return false,
    };
    if zone == "z" {
        return true;
    }
    let bytes = zone.as_bytes();
    bytes.len() == 6 && bytes[3] == b':' && [1, 2, 4, 5].iter().all(|i| bytes[*i].is_ascii_digit())
}

/// Variants of the units; the last of each may go on.
const UNITS: [&[&str]; 8] = [
    &["ns", "nano"],
    &["us", "µs", "micro"],
    &["ms", "milli"],
    &["s", "sec"],
    &["m", "min"],
    &["h", "hr", "hour"],
    &["d", "day"],
    &["w", "wk", "week"],
];

/// Go's own notation, or any text in which a number has a unit: `5 days`.
pub(super) fn is_duration(text: &str) -> bool {
    if duration::recode(text).is_ok() {
        return true;
    }
    let mut found = false;
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let from = &rest[start..];
        let digits = from.len() - from.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let after = from[digits..].trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']);
        let unit_end = after
            .find(|c: char| !c.is_ascii_alphabetic() && c != 'µ')
            .unwrap_or(after.len());
        let unit = after[..unit_end].to_lowercase();
        rest = &after[unit_end..];
        if unit.is_empty() {
            continue;
        }
        if from[..digits].parse::<i64>().is_err() {
            return false;
        }
        found |= UNITS.iter().any(|variants| {
            let open = variants.last().is_some_and(|last| unit.starts_with(last));
            open || variants.contains(&unit.as_str())
        });
    }
    found
}
