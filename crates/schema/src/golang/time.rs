//! Points in time as `time.Parse` reads RFC 3339 and as API objects print them: in UTC, to the second or microsecond.

use super::duration::quote;

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
    let time = Reader {
        text,
        rest: text,
        precision,
    }
    .read()?;
    if time.seconds == days_from_civil(1, 1, 1) * DAY && time.nanos == 0 {
        return Ok(None);
    }
    Ok(Some(print(&time, precision)))
}

const DAY: i64 = 86_400;

struct Time {
    /// Since 1970, in UTC.
    seconds: i64,
    nanos: u32,
}

struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
    precision: Precision,
}

impl Reader<'_> {
    fn read(&mut self) -> Result<Time, String> {
        let year = self.year()?;
        self.literal("-")?;
        let month = self.pair("01")?;
        if !(1..=12).contains(&month) {
            return Err(self.out_of_range("month"));
        }
        self.literal("-")?;
        let day = self.pair("02")?;
        self.literal("T")?;
        let hour = self.hour()?;
        self.literal(":")?;
        let minute = self.pair("04")?;
        if minute >= 60 {
            return Err(self.out_of_range("minute"));
        }
        self.literal(":")?;
        let second = self.pair("05")?;
        if second >= 60 {
            return Err(self.out_of_range("second"));
        }
        let nanos = self.fraction()?;
        let offset = self.offset()?;
        if !self.rest.is_empty() {
            return Err(format!(
                "parsing time {}: extra text: {}",
                quote(self.text),
                quote(self.rest)
            ));
        }
        if day < 1 || day > days_in(year, month) {
            return Err(self.out_of_range("day"));
        }
        let days = days_from_civil(year, month, day);
        Ok(Time {
            seconds: days * DAY + hour * 3600 + minute * 60 + second - offset,
            nanos,
        })
    }

    fn year(&mut self) -> Result<i64, String> {
        match self.rest.get(..4) {
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                self.rest = self.rest.get(4..).unwrap_or_default();
                Ok(digits.parse().unwrap_or(0))
            }
            _ => Err(self.cannot_parse("2006")),
        }
    }

    fn pair(&mut self, element: &str) -> Result<i64, String> {
        match self.rest.as_bytes() {
            [a @ b'0'..=b'9', b @ b'0'..=b'9', ..] => {
                let value = i64::from(a - b'0') * 10 + i64::from(b - b'0');
                self.rest = self.rest.get(2..).unwrap_or_default();
                Ok(value)
            }
            _ => Err(self.cannot_parse(element)),
        }
    }

    /// One or two digits.
    fn hour(&mut self) -> Result<i64, String> {
        let hour = match self.rest.as_bytes() {
            [b'0'..=b'9', b'0'..=b'9', ..] => self.pair("15")?,
            [a @ b'0'..=b'9', ..] => {
                let value = i64::from(a - b'0');
                self.rest = self.rest.get(1..).unwrap_or_default();
                value
            }
            _ => return Err(self.cannot_parse("15")),
        };
        if hour >= 24 {
            return Err(self.out_of_range("hour"));
        }
        Ok(hour)
    }

    fn fraction(&mut self) -> Result<u32, String> {
        let bytes = self.rest.as_bytes();
        let digits = bytes
            .iter()
            .skip(1)
            .take_while(|b| b.is_ascii_digit())
            .count();
        let starts = matches!(bytes.first(), Some(b'.' | b','));
        let take = match self.precision {
            Precision::Micros if starts && digits >= 6 => 6,
            Precision::Micros => return Err(self.cannot_parse(".000000")),
            Precision::Seconds if starts && digits > 0 => digits,
            Precision::Seconds => return Ok(0),
        };
        let nanos = bytes
            .iter()
            .skip(1)
            .take(take.min(9))
            .fold(0u32, |n, b| n * 10 + u32::from(b - b'0'));
        self.rest = self.rest.get(1 + take..).unwrap_or_default();
        Ok(nanos * 10u32.pow(9u32.saturating_sub(take as u32)))
    }

    /// Seconds east of UTC.
    fn offset(&mut self) -> Result<i64, String> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let bytes = self.rest.as_bytes();
        let (Some(sign), Some(b':'), Some(hours), Some(minutes)) = (
            bytes.first(),
            bytes.get(3),
            bytes.get(1..3).and_then(two_digits),
            bytes.get(4..6).and_then(two_digits),
        ) else {
            return Err(self.cannot_parse("Z07:00"));
        };
        let sign = match sign {
            b'+' => 1,
            b'-' => -1,
            _ => return Err(self.cannot_parse("Z07:00")),
        };
        self.rest = self.rest.get(6..).unwrap_or_default();
        if hours > 24 {
            return Err(self.out_of_range("time zone offset hour"));
        }
        if minutes > 60 {
            return Err(self.out_of_range("time zone offset minute"));
        }
        Ok(sign * (hours * 60 + minutes) * 60)
    }

    fn literal(&mut self, literal: &str) -> Result<(), String> {
        match self.rest.strip_prefix(literal) {
            Some(rest) => {
                self.rest = rest;
                Ok(())
            }
            None => Err(self.cannot_parse(literal)),
        }
    }

    fn cannot_parse(&self, element: &str) -> String {
        let layout = match self.precision {
            Precision::Seconds => "2006-01-02T15:04:05Z07:00",
            Precision::Micros => "2006-01-02T15:04:05.000000Z07:00",
        };
        format!(
            "parsing time {} as {}: cannot parse {} as {}",
            quote(self.text),
            quote(layout),
            quote(self.rest),
            quote(element)
        )
    }

    fn out_of_range(&self, what: &str) -> String {
        format!("parsing time {}: {what} out of range", quote(self.text))
    }
}

fn two_digits(bytes: &[u8]) -> Option<i64> {
    match bytes {
        [a @ b'0'..=b'9', b @ b'0'..=b'9'] => Some(i64::from(a - b'0') * 10 + i64::from(b - b'0')),
        _ => None,
    }
}

fn print(time: &Time, precision: Precision) -> String {
    let (year, month, day) = civil_from_days(time.seconds.div_euclid(DAY));
    let second = time.seconds.rem_euclid(DAY);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let mut out = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    if precision == Precision::Micros {
        out.push_str(&format!(".{:06}", time.nanos / 1000));
    }
    out.push('Z');
    out
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar. The year is taken to start in March, so that the leap
/// day is its last.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
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
