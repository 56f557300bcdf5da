//! Reading RFC 3339, element by element, so that errors name the element that is wrong.

use super::{Time, TimeError};

/// What may follow the seconds.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Fraction {
    /// Any number of decimal places, or none.
    Any,
    /// Exactly six.
    Micros,
}

pub(super) fn parse(text: &str, fraction: Fraction) -> Result<Time, TimeError> {
    Reader {
        text: text.as_bytes(),
        rest: text.as_bytes(),
        fraction,
    }
    .time()
}

/// The date of a day counted from 1970.
pub(super) fn civil_from_days(days: i64) -> (i64, i64, i64) {
    // Years start in March here, so that leap days come last. 146097 days are 400 years.
    let shifted = days.saturating_add(719_468);
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month = (month + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn days_in(month: i64, year: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// A text as Go's `time` package quotes it.
pub(super) fn quote(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    for &b in bytes {
        match b {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(b));
            }
            b' '..=0x7f => out.push(char::from(b)),
            _ => out.push_str(&format!("\\x{b:02x}")),
        }
    }
    out.push('"');
    out
}

struct Reader<'a> {
    text: &'a [u8],
    rest: &'a [u8],
    fraction: Fraction,
}

impl Reader<'_> {
    fn time(mut self) -> Result<Time, TimeError> {
        let year = self.year()?;
        self.literal(b'-', "-")?;
        let month = self.number("01", true)?;
        if !(1..=12).contains(&month) {
            return Err(self.out_of_range("month"));
        }
        self.literal(b'-', "-")?;
        let day = self.number("02", true)?;
        self.literal(b'T', "T")?;
        let hour = self.number("15", false)?;
        if hour > 23 {
            return Err(self.out_of_range("hour"));
        }
        self.literal(b':', ":")?;
        let minute = self.number("04", true)?;
        if minute > 59 {
            return Err(self.out_of_range("minute"));
        }
        self.literal(b':', ":")?;
        let second = self.number("05", true)?;
        if second > 59 {
            return Err(self.out_of_range("second"));
        }
        let nanos = match self.fraction {
            Fraction::Any => self.any_fraction(),
            Fraction::Micros => self.micros()?,
        };
        let offset = self.offset()?;
        if !self.rest.is_empty() {
            return Err(self.message(&format!(": extra text: {}", quote(self.rest))));
        }
        if day < 1 || day > days_in(month, year) {
            return Err(self.out_of_range("day"));
        }
        let days = days_from_civil(year, month, day);
        let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset;
        Ok(Time { seconds, nanos })
    }

    fn year(&mut self) -> Result<i64, TimeError> {
        match self.rest {
            [a, b, c, d, rest @ ..] if [a, b, c, d].iter().all(|b| b.is_ascii_digit()) => {
                self.rest = rest;
                Ok([a, b, c, d]
                    .iter()
                    .fold(0, |n, &&b| n * 10 + i64::from(b - b'0')))
            }
            _ => Err(self.cannot_parse("2006")),
        }
    }

    fn literal(&mut self, byte: u8, element: &str) -> Result<(), TimeError> {
        match self.rest {
            [first, rest @ ..] if *first == byte => {
                self.rest = rest;
                Ok(())
            }
            _ => Err(self.cannot_parse(element)),
        }
    }

    /// Two digits, or where not `fixed` also one.
    fn number(&mut self, element: &str, fixed: bool) -> Result<i64, TimeError> {
        match self.rest {
            [a, b, rest @ ..] if a.is_ascii_digit() && b.is_ascii_digit() => {
                self.rest = rest;
                Ok(i64::from(a - b'0') * 10 + i64::from(b - b'0'))
            }
            [a, rest @ ..] if a.is_ascii_digit() && !fixed => {
                self.rest = rest;
                Ok(i64::from(a - b'0'))
            }
            _ => Err(self.cannot_parse(element)),
        }
    }

    fn any_fraction(&mut self) -> u32 {
        let [b'.' | b',', digits @ ..] = self.rest else {
            return 0;
        };
        let len = digits.iter().take_while(|b| b.is_ascii_digit()).count();
        if len == 0 {
            return 0;
        }
        let (digits, rest) = digits.split_at(len);
        self.rest = rest;
        nanos(digits)
    }

    fn micros(&mut self) -> Result<u32, TimeError> {
        match self.rest {
            [b'.' | b',', rest @ ..] if rest.len() >= 6 => {
                let (digits, rest) = rest.split_at(6);
                if !digits.iter().all(u8::is_ascii_digit) {
                    return Err(self.cannot_parse(".000000"));
                }
                self.rest = rest;
                Ok(nanos(digits))
            }
            _ => Err(self.cannot_parse(".000000")),
        }
    }

    /// Seconds east of UTC.
    fn offset(&mut self) -> Result<i64, TimeError> {
        const ELEMENT: &str = "Z07:00";
        match self.rest {
            [b'Z', rest @ ..] => {
                self.rest = rest;
                Ok(0)
            }
            [sign, h1, h2, b':', m1, m2, rest @ ..] => {
                let two = |a: &u8, b: &u8| {
                    (a.is_ascii_digit() && b.is_ascii_digit())
                        .then(|| i64::from(a - b'0') * 10 + i64::from(b - b'0'))
                };
                let (hours, minutes) = (two(h1, h2), two(m1, m2));
                if hours.is_some_and(|h| h > 24) && minutes.is_none_or(|m| m <= 60) {
                    return Err(self.out_of_range("time zone offset hour"));
                }
                let (Some(hours), Some(minutes)) = (hours, minutes) else {
                    return Err(self.cannot_parse(ELEMENT));
                };
                if minutes > 60 {
                    return Err(self.out_of_range("time zone offset minute"));
                }
                let seconds = (hours * 60 + minutes) * 60;
                let seconds = match sign {
                    b'+' => seconds,
                    b'-' => -seconds,
                    _ => return Err(self.cannot_parse(ELEMENT)),
                };
                self.rest = rest;
                Ok(seconds)
            }
            _ => Err(self.cannot_parse(ELEMENT)),
        }
    }

    fn cannot_parse(&self, element: &str) -> TimeError {
        let layout = match self.fraction {
            Fraction::Any => "2006-01-02T15:04:05Z07:00",
            Fraction::Micros => "2006-01-02T15:04:05.000000Z07:00",
        };
        self.message(&format!(
            " as \"{layout}\": cannot parse {} as \"{element}\"",
            quote(self.rest)
        ))
    }

    fn out_of_range(&self, what: &str) -> TimeError {
        self.message(&format!(": {what} out of range"))
    }

    fn message(&self, what: &str) -> TimeError {
        TimeError(format!("parsing time {}{what}", quote(self.text)))
    }
}

/// Nanoseconds from decimal places, of which those beyond nine are dropped.
fn nanos(digits: &[u8]) -> u32 {
    let zeros = std::iter::repeat(&b'0');
    digits
        .iter()
        .chain(zeros)
        .take(9)
        .fold(0, |n, &b| n * 10 + u32::from(b - b'0'))
}
