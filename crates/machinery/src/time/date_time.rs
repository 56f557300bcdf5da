//! The formats `date` and `date-time` of OpenAPI, as the strfmt package of Go checks them.

use super::Layout;

/// Reports whether a text has the format `date`: `2006-01-02`, a day that exists.
///
/// ```
/// use kubewright_machinery::time::is_date;
///
/// assert!(is_date("2024-02-29"));
/// assert!(!is_date("2023-02-29"));
/// ```
pub fn is_date(text: &str) -> bool {
    Layout::Date.parse(text).is_ok()
}

/// Reports whether a text has the format `date-time`: a date, a `t` in either case, and a time with a zone.
///
/// ```
/// use kubewright_machinery::time::is_date_time;
///
/// assert!(is_date_time("2024-02-29t10:00:00.5Z"));
/// assert!(!is_date_time("2023-02-29T10:00:00Z"));
/// ```
pub fn is_date_time(text: &str) -> bool {
    let text = text.to_lowercase();
    let mut parts = text.split('t');
    match (parts.next(), parts.next()) {
        (Some(date), Some(clock)) => is_date(date) && is_clock(clock),
        _ => false,
    }
}

fn is_clock(text: &str) -> bool {
    let Some((clock, rest)) = text.split_at_checked(8) else {
        return false;
    };
    let [h1, h2, b':', m1, m2, b':', s1, s2] = clock.as_bytes() else {
        return false;
    };
    let within = |high: &u8, low: &u8, last: &[u8; 2]| {
        high.is_ascii_digit() && low.is_ascii_digit() && [*high, *low] <= *last
    };
    if !(within(h1, h2, b"23") && within(m1, m2, b"59") && within(s1, s2, b"59")) {
        return false;
    }
    // Upstream's pattern has an unescaped dot, so any character may stand before the fraction.
    let mut fraction = rest.chars();
    fraction.next();
    let digits = fraction.as_str();
    let zone = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    is_zone(rest) || (zone.len() < digits.len() && is_zone(zone))
}

fn is_zone(text: &str) -> bool {
    match text.as_bytes() {
        [b'z'] => true,
        [b'+' | b'-', h1, h2, b':', m1, m2] => [h1, h2, m1, m2].iter().all(|b| b.is_ascii_digit()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_zone_and_any_character_before_the_fraction() {
        for text in [
            "2024-01-01T00:00:00Z",
            "2024-01-01t23:59:59.123+01:00",
            "2024-01-01T00:00:00x5z",
            "2024-01-01T00:00:00+12Z",
        ] {
            assert!(is_date_time(text), "{text}");
        }
        for text in [
            "",
            "2024-01-01",
            "2024-01-01T00:00:00",
            "2024-01-01T24:00:00Z",
            "2024-01-01T00:00:60Z",
            "2024-01-01T00:00:00.Z",
            "2024-13-01T00:00:00Z",
            "2024-01-01T0:00:00Z",
            "2024-01-01T00:00:0éZ",
        ] {
            assert!(!is_date_time(text), "{text}");
        }
    }
}
