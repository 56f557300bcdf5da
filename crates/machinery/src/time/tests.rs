use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::*;

#[test]
fn times_are_read_in_any_offset_and_written_in_utc() {
    for (text, seconds, micros) in [
        (
            "2024-05-01T10:00:00Z",
            "2024-05-01T10:00:00Z",
            "2024-05-01T10:00:00.000000Z",
        ),
        (
            "2024-02-29T23:59:59.999999999Z",
            "2024-02-29T23:59:59Z",
            "2024-02-29T23:59:59.999999Z",
        ),
        (
            "2024-05-01T00:30:00+01:00",
            "2024-04-30T23:30:00Z",
            "2024-04-30T23:30:00.000000Z",
        ),
        (
            "1969-12-31T23:59:59.5-00:30",
            "1970-01-01T00:29:59Z",
            "1970-01-01T00:29:59.500000Z",
        ),
        (
            "2024-05-01T3:00:00,25Z",
            "2024-05-01T03:00:00Z",
            "2024-05-01T03:00:00.250000Z",
        ),
        (
            "0000-01-01T00:00:00Z",
            "0000-01-01T00:00:00Z",
            "0000-01-01T00:00:00.000000Z",
        ),
        (
            "9999-12-31T23:59:59Z",
            "9999-12-31T23:59:59Z",
            "9999-12-31T23:59:59.000000Z",
        ),
        (
            "0000-01-01T03:00:00+24:00",
            "-0001-12-31T03:00:00Z",
            "-0001-12-31T03:00:00.000000Z",
        ),
    ] {
        let time = Time::parse(text).unwrap();
        assert_eq!(time.to_seconds(), seconds, "{text}");
        assert_eq!(time.to_micros(), micros, "{text}");
    }
}

#[test]
fn wrong_times_name_the_element_that_is_wrong() {
    for (text, expected) in [
        (
            "2024",
            r#"parsing time "2024" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "-""#,
        ),
        (
            "2024-1-01T00:00:00Z",
            r#"parsing time "2024-1-01T00:00:00Z" as "2006-01-02T15:04:05Z07:00": cannot parse "1-01T00:00:00Z" as "01""#,
        ),
        (
            "2023-02-29T00:00:00Z",
            r#"parsing time "2023-02-29T00:00:00Z": day out of range"#,
        ),
        (
            "2024-13-01T00:00:00Z",
            r#"parsing time "2024-13-01T00:00:00Z": month out of range"#,
        ),
        (
            "2024-01-01T24:00:00Z",
            r#"parsing time "2024-01-01T24:00:00Z": hour out of range"#,
        ),
        (
            "2024-01-01T00:00:60Z",
            r#"parsing time "2024-01-01T00:00:60Z": second out of range"#,
        ),
        (
            "2024-02-20T00:00:00+25:00",
            r#"parsing time "2024-02-20T00:00:00+25:00": time zone offset hour out of range"#,
        ),
        (
            "2024-02-20T00:00:00Zx",
            r#"parsing time "2024-02-20T00:00:00Zx": extra text: "x""#,
        ),
        (
            "2024-02-20 é",
            r#"parsing time "2024-02-20 \xc3\xa9" as "2006-01-02T15:04:05Z07:00": cannot parse " \xc3\xa9" as "T""#,
        ),
    ] {
        assert_eq!(Time::parse(text).unwrap_err().to_string(), expected);
    }
}

#[test]
fn micro_times_have_exactly_six_places() {
    let time = Time::parse_micro("2024-02-20T00:00:00.123456+01:00").unwrap();
    assert_eq!(time.to_micros(), "2024-02-19T23:00:00.123456Z");
    for (text, rest, element) in [
        ("2024-02-20T00:00:00Z", "Z", ".000000"),
        ("2024-02-20T00:00:00.1234567Z", "7Z", "Z07:00"),
        ("2024-02-20T00:00:00.12345xZ", ".12345xZ", ".000000"),
    ] {
        assert_eq!(
            Time::parse_micro(text).unwrap_err().to_string(),
            format!(
                "parsing time \"{text}\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"{rest}\" as \"{element}\""
            )
        );
    }
}

#[test]
fn every_day_around_three_turns_of_centuries_survives_a_round_trip() {
    let mut time = Time::parse("1896-01-01T12:34:56Z").unwrap();
    while time < Time::parse("2104-12-31T00:00:00Z").unwrap() {
        assert_eq!(Time::parse(&time.to_seconds()), Ok(time));
        time = time.plus_seconds(86_400);
    }
}

#[test]
fn the_systems_clock_converts_both_ways() {
    for time in [
        UNIX_EPOCH,
        UNIX_EPOCH + Duration::new(1_700_000_000, 123),
        UNIX_EPOCH - Duration::new(5, 250_000_000),
    ] {
        assert_eq!(SystemTime::from(Time::from(time)), time);
    }
    assert_eq!(
        Time::from(UNIX_EPOCH - Duration::from_millis(1500)).to_micros(),
        "1969-12-31T23:59:58.500000Z"
    );
    assert!(Time::parse("0001-01-01T00:00:00Z").unwrap().is_zero());
}

#[test]
fn ages_are_counted_in_whole_seconds() {
    let created = Time::parse("2024-05-01T10:00:00Z").unwrap();
    assert_eq!(
        Time::parse("2024-05-01T13:20:00.9Z")
            .unwrap()
            .age_of(created),
        "3h20m"
    );
    assert_eq!(
        Time::parse("2024-05-01T09:59:58.5Z")
            .unwrap()
            .age_of(created),
        "0s"
    );
    assert_eq!(
        Time::parse("2024-05-01T09:59:58Z").unwrap().age_of(created),
        "<invalid>"
    );
    assert_eq!(created.truncated(), created);
}

#[test]
fn human_durations_have_two_or_three_figures() {
    const M: i64 = 60;
    const H: i64 = 3600;
    const D: i64 = 24 * H;
    for (seconds, long, short) in [
        (-2, "<invalid>", "<invalid>"),
        (-1, "0s", "0s"),
        (0, "0s", "0s"),
        (119, "119s", "1m"),
        (120, "2m", "2m"),
        (121, "2m1s", "2m"),
        (10 * M - 1, "9m59s", "9m"),
        (10 * M, "10m", "10m"),
        (3 * H - 1, "179m", "2h"),
        (3 * H, "3h", "3h"),
        (3 * H + 20 * M, "3h20m", "3h"),
        (8 * H + 59 * M, "8h", "8h"),
        (2 * D - 1, "47h", "1d"),
        (2 * D + 3 * H, "2d3h", "2d"),
        (8 * D + 5 * H, "8d", "8d"),
        (2 * 365 * D - 1, "729d", "1y"),
        (2 * 365 * D, "2y", "2y"),
        (3 * 365 * D + D, "3y1d", "3y"),
        (8 * 365 * D + D, "8y", "8y"),
    ] {
        assert_eq!(human_duration(seconds), long, "{seconds}");
        assert_eq!(short_human_duration(seconds), short, "{seconds}");
    }
}

#[test]
fn go_durations_are_read_and_written() {
    for (text, nanos, printed) in [
        ("0", 0, "0s"),
        ("1h", 3_600_000_000_000, "1h0m0s"),
        ("1h30m5.5s", 5_405_500_000_000, "1h30m5.5s"),
        ("-1.5s", -1_500_000_000, "-1.5s"),
        ("90s", 90_000_000_000, "1m30s"),
        ("300ms", 300_000_000, "300ms"),
        ("1500us", 1_500_000, "1.5ms"),
        ("1.5µs", 1_500, "1.5µs"),
        (".5ns", 0, "0s"),
        (
            "9223372036854775807ns",
            i64::MAX,
            "2562047h47m16.854775807s",
        ),
        (
            "-9223372036854775808ns",
            i64::MIN,
            "-2562047h47m16.854775808s",
        ),
    ] {
        assert_eq!(parse_duration(text), Ok(nanos), "{text}");
        assert_eq!(format_duration(nanos), printed, "{text}");
    }
    for (text, expected) in [
        ("", r#"time: invalid duration """#),
        ("x", r#"time: invalid duration "x""#),
        ("1", r#"time: missing unit in duration "1""#),
        ("1d", r#"time: unknown unit "d" in duration "1d""#),
        (
            "9223372036854775808ns",
            r#"time: invalid duration "9223372036854775808ns""#,
        ),
        ("3000000h", r#"time: invalid duration "3000000h""#),
    ] {
        assert_eq!(parse_duration(text).unwrap_err().to_string(), expected);
    }
}

#[test]
fn the_usual_form_is_read_like_every_other() {
    for text in [
        "1970-01-01T00:00:00Z",
        "2024-02-29T23:59:59Z",
        "0001-01-01T00:00:00Z",
        "9999-12-31T12:30:45Z",
    ] {
        let long = Layout::Rfc3339.parse(text).map(|(time, _)| time);
        assert_eq!(parse::seconds_in_utc(text.as_bytes()), long.ok(), "{text}");
        assert!(parse::seconds_in_utc(text.as_bytes()).is_some());
    }
    for text in [
        "2023-02-29T00:00:00Z",
        "2024-13-01T00:00:00Z",
        "2024-01-01T24:00:00Z",
        "2024-01-01T00:60:00Z",
        "2024-01-01T00:00:60Z",
        "2024-01-01t00:00:00Z",
        "2024-01-01T00:00:0aZ",
        "2024-01-01T00:00:00",
    ] {
        assert_eq!(parse::seconds_in_utc(text.as_bytes()), None, "{text}");
        assert!(Time::parse(text).is_err(), "{text}");
    }
}
