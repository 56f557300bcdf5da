//! Durations: Go's text form, and the short forms of tables.

use super::parse::quote;

/// A text that is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DurationError(String);

/// The first number of nanoseconds that does not fit: 2^63.
const LIMIT: u64 = 1 << 63;

/// Parses a Go duration, `1h30m` or `-1.5s`, into nanoseconds.
///
/// # Errors
///
/// Returns Go's error if the text is not a duration or does not fit.
///
/// ```
/// use kubewright_machinery::time::parse_duration;
///
/// assert_eq!(parse_duration("1m30s")?, 90_000_000_000);
/// # Ok::<(), kubewright_machinery::time::DurationError>(())
/// ```
pub fn parse_duration(text: &str) -> Result<i64, DurationError> {
    let error = |what: &str| DurationError(format!("time: {what} {}", quote(text.as_bytes())));
    let invalid = || error("invalid duration");
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
        let (whole, after) = digits(rest);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => digits(after),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let end = after
            .find(|c: char| c == '.' || c.is_ascii_digit())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let whole = leading(whole).ok_or_else(invalid)?;
        if unit.is_empty() {
            return Err(error("missing unit in duration"));
        }
        let Some(nanos) = unit_nanos(unit) else {
            let unit = quote(unit.as_bytes());
            return Err(error(&format!("unknown unit {unit} in duration")));
        };
        if whole > LIMIT / nanos {
            return Err(invalid());
        }
        let part = whole * nanos + fraction_nanos(fraction, nanos);
        total = total
            .checked_add(part)
            .filter(|&t| part <= LIMIT && t <= LIMIT)
            .ok_or_else(invalid)?;
        rest = after;
    }
    if negative {
        return Ok((total as i64).wrapping_neg());
    }
    i64::try_from(total).map_err(|_| invalid())
}

/// Formats nanoseconds as Go does: `1h0m0s`, `1.5s`, `300ms`.
///
/// ```
/// use kubewright_machinery::time::format_duration;
///
/// assert_eq!(format_duration(90_000_000_000), "1m30s");
/// ```
pub fn format_duration(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    let text = match nanos {
        0 => return "0s".into(),
        1..1_000 => format!("{nanos}ns"),
        1_000..1_000_000 => format!("{}µs", with_fraction(nanos, 3)),
        1_000_000..1_000_000_000 => format!("{}ms", with_fraction(nanos, 6)),
        _ => {
            let minutes = nanos / 60_000_000_000;
            let seconds = with_fraction(nanos % 60_000_000_000, 9);
            match (minutes / 60, minutes % 60) {
                (0, 0) => format!("{seconds}s"),
                (0, minutes) => format!("{minutes}m{seconds}s"),
                (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
            }
        }
    };
    format!("{sign}{text}")
}

/// Formats an age with two or three digits, as tables show it: `5m`, `3h20m`, `2d3h`.
///
/// ```
/// use kubewright_machinery::time::human_duration;
///
/// assert_eq!(human_duration(12_000), "3h20m");
/// ```
pub fn human_duration(seconds: i64) -> String {
    let two = |a: i64, unit: char, b: i64, small: char| match b {
        0 => format!("{a}{unit}"),
        _ => format!("{a}{unit}{b}{small}"),
    };
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let days = hours / 24;
    match () {
        () if seconds < -1 => "<invalid>".into(),
        () if seconds < 0 => "0s".into(),
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => two(minutes, 'm', seconds % 60, 's'),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => two(hours, 'h', minutes % 60, 'm'),
        () if hours < 48 => format!("{hours}h"),
        () if hours < 24 * 8 => two(days, 'd', hours % 24, 'h'),
        () if days < 365 * 2 => format!("{days}d"),
        () if days < 365 * 8 => two(days / 365, 'y', days % 365, 'd'),
        () => format!("{}y", days / 365),
    }
}

/// Formats an age in one unit: `5m`, `3h`, `2d`.
///
/// ```
/// use kubewright_machinery::time::short_human_duration;
///
/// assert_eq!(short_human_duration(12_000), "3h");
/// ```
pub fn short_human_duration(seconds: i64) -> String {
    let hours = seconds / 3600;
    match () {
        () if seconds < -1 => "<invalid>".into(),
        () if seconds < 0 => "0s".into(),
        () if seconds < 60 => format!("{seconds}s"),
        () if seconds < 3600 => format!("{}m", seconds / 60),
        () if hours < 24 => format!("{hours}h"),
        () if hours < 24 * 365 => format!("{}d", hours / 24),
        () => format!("{}y", hours / 24 / 365),
    }
}

fn digits(text: &str) -> (&str, &str) {
    let end = text
        .bytes()
        .position(|b| !b.is_ascii_digit())
        .unwrap_or(text.len());
    text.split_at(end)
}

fn leading(digits: &str) -> Option<u64> {
    if digits.is_empty() {
        return Some(0);
    }
    digits.parse().ok().filter(|&n| n <= LIMIT)
}

fn unit_nanos(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// The part behind the point, in floating point as Go computes it. Digits that no longer fit are dropped.
fn fraction_nanos(digits: &str, unit: u64) -> u64 {
    let mut value = 0u64;
    let mut scale = 1f64;
    for b in digits.bytes() {
        if value > (LIMIT - 1) / 10 {
            break;
        }
        let next = value * 10 + u64::from(b - b'0');
        if next > LIMIT {
            break;
        }
        value = next;
        scale *= 10.0;
    }
    (value as f64 * (unit as f64 / scale)) as u64
}

/// `nanos / 10^places`, without trailing zeros.
fn with_fraction(nanos: u64, places: u32) -> String {
    let unit = 10u64.pow(places);
    let fraction = format!("{:0width$}", nanos % unit, width = places as usize);
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() {
        return (nanos / unit).to_string();
    }
    format!("{}.{fraction}", nanos / unit)
}
