//! Times and durations, read as Go reads them and printed as API objects print them.

use kubewright_machinery::time::{Layout, format_duration, parse_duration};

/// Returns a duration in Go's own notation: `90s` is `1m30s`. The error is Go's message.
pub(crate) fn duration(text: &str) -> Result<String, String> {
    let nanos = parse_duration(text).map_err(|e| e.to_string())?;
    Ok(format_duration(nanos))
}

/// Returns a time in UTC, to the second or in [`Layout::Micro`] to the microsecond; `None` for the zero time. The error
/// is Go's message.
pub(crate) fn time(text: &str, layout: Layout) -> Result<Option<String>, String> {
    let (time, _) = layout.parse(text).map_err(|e| e.to_string())?;
    Ok((!time.is_zero()).then(|| match layout {
        Layout::Micro => time.to_micros(),
        _ => time.to_seconds(),
    }))
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
            assert_eq!(duration(text).as_deref(), Ok(printed));
        }
    }

    #[test]
    fn errors_of_durations_are_those_of_go() {
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
            assert_eq!(duration(text).unwrap_err(), message);
        }
    }

    #[test]
    fn times_print_in_utc() {
        for (text, printed) in [
            ("2024-02-29T23:30:00Z", Some("2024-02-29T23:30:00Z")),
            ("2024-02-29T23:30:00.999Z", Some("2024-02-29T23:30:00Z")),
            ("2024-02-29T23:30:00-02:00", Some("2024-03-01T01:30:00Z")),
            ("1970-01-01T1:00:00+01:00", Some("1970-01-01T00:00:00Z")),
            ("0001-01-01T00:00:00Z", None),
        ] {
            assert_eq!(time(text, Layout::Rfc3339), Ok(printed.map(str::to_owned)));
        }
        assert_eq!(
            time("2024-01-01T00:00:00.123456+00:00", Layout::Micro),
            Ok(Some("2024-01-01T00:00:00.123456Z".to_owned()))
        );
    }

    #[test]
    fn errors_of_times_are_those_of_go() {
        let error = |text| time(text, Layout::Rfc3339).unwrap_err();
        assert_eq!(
            error("x"),
            r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#
        );
        assert_eq!(
            error("2024-1-01"),
            r#"parsing time "2024-1-01" as "2006-01-02T15:04:05Z07:00": cannot parse "1-01" as "01""#
        );
        assert_eq!(
            error("2023-02-29T00:00:00Z"),
            r#"parsing time "2023-02-29T00:00:00Z": day out of range"#
        );
        assert_eq!(
            error("2023-02-28T00:00:00Zx"),
            r#"parsing time "2023-02-28T00:00:00Zx": extra text: "x""#
        );
        assert_eq!(
            time("2023-02-28T00:00:00Z", Layout::Micro).unwrap_err(),
            r#"parsing time "2023-02-28T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000""#
        );
    }
}
