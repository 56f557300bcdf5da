//! Parses RFC 3339 element by element, so that errors name the wrong element.

use super::{Time, TimeError};
use crate::calendar::{Date, SECONDS_PER_DAY};

/// The elements that a text has, by Go's reference time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `2006-01-02T15:04:05Z07:00`, with any number of decimal places.
    Rfc3339,
    /// `2006-01-02T15:04:05.000000Z07:00`, with exactly six decimal places.
    Micro,
    /// `2006-01-02T15:04:05`, without an offset and with any number of decimal places.
    Local,
    /// `2006-01-02`
    Date,
}

impl Layout {
    /// Reads a text into a time and its offset from UTC in seconds, which is 0 in layouts without one.
    ///
    /// # Errors
    ///
    /// Returns Go's error if the text does not have the layout or names no point in time.
    ///
    /// ```
    /// use kubewright_machinery::time::Layout;
    ///
    /// let (time, offset) = Layout::Rfc3339.parse("2024-05-01T10:00:00+02:00")?;
    /// assert_eq!((time.to_seconds(), offset), ("2024-05-01T08:00:00Z".to_owned(), 7_200));
    /// # Ok::<(), kubewright_machinery::time::TimeError>(())
    /// ```
    pub fn parse(self, text: &str) -> Result<(Time, i64), TimeError> {
        Reader {
            text: text.as_bytes(),
            rest: text.as_bytes(),
            layout: self,
        }
        .time()
    }

    fn text(self) -> &'static str {
        match self {
            Self::Rfc3339 => "2006-01-02T15:04:05Z07:00",
            Self::Micro => "2006-01-02T15:04:05.000000Z07:00",
            Self::Local => "2006-01-02T15:04:05",
            Self::Date => "2006-01-02",
        }
    }
}

/// Reads `2006-01-02T15:04:05Z`, the form that the server writes; `None` if the text has another one.
pub(super) fn seconds_in_utc(text: &[u8]) -> Option<Time> {
    const FORM: &[u8; 20] = b"0000-00-00T00:00:00Z";
    let text: &[u8; 20] = text.try_into().ok()?;
    // Digits where the form has them, and the same characters elsewhere.
    let fits = |(byte, form): (&u8, &u8)| match form {
        b'0' => byte.is_ascii_digit(),
        _ => byte == form,
    };
    if !text.iter().zip(FORM).all(fits) {
        return None;
    }
    let two = |at: usize| i64::from(text[at] - b'0') * 10 + i64::from(text[at + 1] - b'0');
    let date = Date {
        year: two(0) * 100 + two(2),
        month: two(5),
        day: two(8),
    };
    let (hour, minute, second) = (two(11), two(14), two(17));
    if !date.is_valid() || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = date.days_since_1970() * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second;
    Some(Time { seconds, nanos: 0 })
}

/// Quotes a text as Go's `time` package does, which escapes byte by byte.
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

#[derive(Clone, Copy, PartialEq)]
enum Digits {
    Two,
    OneOrTwo,
}

struct Reader<'a> {
    text: &'a [u8],
    rest: &'a [u8],
    layout: Layout,
}

impl Reader<'_> {
    fn time(mut self) -> Result<(Time, i64), TimeError> {
        let year = self.year()?;
        self.literal(b'-', "-")?;
        let month = self.number("01", Digits::Two)?;
        if !(1..=12).contains(&month) {
            return Err(self.out_of_range("month"));
        }
        self.literal(b'-', "-")?;
        let day = self.number("02", Digits::Two)?;
        let (second, nanos) = match self.layout {
            Layout::Date => (0, 0),
            Layout::Rfc3339 | Layout::Micro | Layout::Local => self.clock()?,
        };
        let offset = match self.layout {
            Layout::Date | Layout::Local => 0,
            Layout::Rfc3339 | Layout::Micro => self.offset()?,
        };
        if !self.rest.is_empty() {
            return Err(self.message(&format!(": extra text: {}", quote(self.rest))));
        }
        let date = Date { year, month, day };
        if !date.is_valid() {
            return Err(self.out_of_range("day"));
        }
        let seconds = date.days_since_1970() * SECONDS_PER_DAY + second - offset;
        Ok((Time { seconds, nanos }, offset))
    }

    /// Reads the second of the day and the nanoseconds beyond it.
    fn clock(&mut self) -> Result<(i64, u32), TimeError> {
        self.literal(b'T', "T")?;
        let hour = self.number("15", Digits::OneOrTwo)?;
        if hour > 23 {
            return Err(self.out_of_range("hour"));
        }
        self.literal(b':', ":")?;
        let minute = self.number("04", Digits::Two)?;
        if minute > 59 {
            return Err(self.out_of_range("minute"));
        }
        self.literal(b':', ":")?;
        let second = self.number("05", Digits::Two)?;
        if second > 59 {
            return Err(self.out_of_range("second"));
        }
        let nanos = match self.layout {
            Layout::Micro => self.micros()?,
            Layout::Rfc3339 | Layout::Local | Layout::Date => self.any_fraction(),
        };
        Ok((hour * 3600 + minute * 60 + second, nanos))
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

    fn number(&mut self, element: &str, digits: Digits) -> Result<i64, TimeError> {
        match self.rest {
            [a, b, rest @ ..] if a.is_ascii_digit() && b.is_ascii_digit() => {
                self.rest = rest;
                Ok(i64::from(a - b'0') * 10 + i64::from(b - b'0'))
            }
            [a, rest @ ..] if a.is_ascii_digit() && digits == Digits::OneOrTwo => {
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

    /// Reads the seconds east of UTC.
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
        let layout = self.layout.text();
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

/// Returns the nanoseconds that decimal places stand for. Places beyond the ninth are dropped.
fn nanos(digits: &[u8]) -> u32 {
    let zeros = std::iter::repeat(&b'0');
    digits
        .iter()
        .chain(zeros)
        .take(9)
        .fold(0, |n, &b| n * 10 + u32::from(b - b'0'))
}
