//! Points in time as `time.Parse` reads RFC 3339 and as API objects print them: in UTC, to the second or microsecond.

use kubewright_machinery::time::Time;

/// Which of the two layouts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Precision {
    /// `2006-01-02T15:04:05Z07:00`
    Seconds,
    /// `2006-01-02T15:04:05.000000Z07:00`
    Micros,
}

/// The time in UTC; `None` for the zero time. The error is Go's message.
pub(crate) fn recode(text: &str, precision: Precision) -> Result<Option<String>, String> {
    let time = match precision {
        Precision::Seconds => Time::parse(text),
        Precision::Micros => Time::parse_micro(text),
    };
    let time = time.map_err(|e| e.to_string())?;
    Ok((!time.is_zero()).then(|| match precision {
        Precision::Seconds => time.to_seconds(),
        Precision::Micros => time.to_micros(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_print_in_utc() {
        for (text, printed) in [
            ("2024-02-29T23:30:00Z", Some("2024-02-29T23:30:00Z")),
            ("2024-02-29T23:30:00.999Z", Some("2024-02-29T23:30:00Z")),
            ("2024-02-29T23:30:00-02:00", Some("2024-03-01T01:30:00Z")),
            ("1970-01-01T1:00:00+01:00", Some("1970-01-01T00:00:00Z")),
            ("0001-01-01T00:00:00Z", None),
        ] {
            assert_eq!(
                recode(text, Precision::Seconds),
                Ok(printed.map(str::to_owned))
            );
        }
        assert_eq!(
            recode("2024-01-01T00:00:00.123456+00:00", Precision::Micros),
            Ok(Some("2024-01-01T00:00:00.123456Z".to_owned()))
        );
    }

    #[test]
    fn errors_are_those_of_go() {
        let error = |text| recode(text, Precision::Seconds).unwrap_err();
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
            recode("2023-02-28T00:00:00Z", Precision::Micros).unwrap_err(),
            r#"parsing time "2023-02-28T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000""#
        );
    }
}
