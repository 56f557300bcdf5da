//! Durations as `time.ParseDuration` reads them and `Duration.String` prints them.

use kubewright_machinery::time::{format_duration, parse_duration};

/// The duration in Go's own notation: `90s` is `1m30s`. The error is Go's message.
pub(crate) fn recode(text: &str) -> Result<String, String> {
    let nanos = parse_duration(text).map_err(|e| e.to_string())?;
    Ok(format_duration(nanos))
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
