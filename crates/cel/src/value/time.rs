//! Points in time: reading, writing, and the calendar.

use std::fmt;

/// A point in time, to the nanosecond, with the offset from UTC that it was written with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamp {
    seconds: i64,
    nanos: u32,
    offset: i32,
}

/// What a time looks like, by Go's reference time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    text: &'static str,
    clock: bool,
    zone: bool,
}

pub(crate) const RFC3339: Layout = Layout {
    text: "2006-01-02T15:04:05Z07:00",
    clock: true,
    zone: true,
};
/// Without an offset.
pub(crate) const LOCAL: Layout = Layout {
    text: "2006-01-02T15:04:05",
    clock: true,
    zone: false,
};
pub(crate) const DATE: Layout = Layout {
    text: "2006-01-02",
    clock: false,
    zone: false,
};

/// The first second of year 1.
pub(crate) const MIN_SECONDS: i64 = -62_135_596_800;
/// The last second of year 9999.
pub(crate) const MAX_SECONDS: i64 = 253_402_300_799;
const DAY: i64 = 86_400;

/// A date and time of day, somewhere.
pub(crate) struct Civil {
    pub(crate) year: i64,
    /// From 1.
    pub(crate) month: u32,
    /// From 1.
    pub(crate) day: u32,
    pub(crate) hour: i64,
    pub(crate) minute: i64,
    pub(crate) second: i64,
    /// Days since the first of January.
    pub(crate) day_of_year: i64,
    /// 0 is Sunday.
    pub(crate) day_of_week: i64,
}

impl Timestamp {
    /// The start of 1970.
    pub(crate) const EPOCH: Self = Self {
        seconds: 0,
        nanos: 0,
        offset: 0,
    };

    /// In UTC; none if it is not within the years 1 to 9999.
    pub fn from_unix(seconds: i64, nanos: u32) -> Option<Self> {
        (MIN_SECONDS..=MAX_SECONDS)
            .contains(&seconds)
            .then_some(Self {
                seconds,
                nanos: nanos % 1_000_000_000,
                offset: 0,
            })
    }

    /// Seconds since 1970, rounded down, and the nanoseconds beyond them.
    pub fn instant(self) -> (i64, u32) {
        (self.seconds, self.nanos)
    }

    /// Whether it is the zero of Go's times: the start of year 1.
    pub(crate) fn is_zero(self) -> bool {
        self.seconds == MIN_SECONDS && self.nanos == 0
    }

    /// Later by a number of nanoseconds; none if that is out of range.
    pub(crate) fn plus(self, nanos: i64) -> Option<Self> {
        let total = self.total() + i128::from(nanos);
        let seconds = i64::try_from(total.div_euclid(1_000_000_000)).ok()?;
        let nanos = total.rem_euclid(1_000_000_000) as u32;
        let at = Self::from_unix(seconds, nanos)?;
        Some(Self {
            offset: self.offset,
            ..at
        })
    }

    /// The nanoseconds since another time; none if there are too many.
    pub(crate) fn since(self, earlier: Self) -> Option<i64> {
        i64::try_from(self.total() - earlier.total()).ok()
    }

    /// The date and time at an offset from UTC in seconds.
    pub(crate) fn civil(self, offset: i64) -> Civil {
        let local = self.seconds + offset;
        let days = local.div_euclid(DAY);
        let of_day = local.rem_euclid(DAY);
        let (year, month, day) = date(days);
        Civil {
            year,
            month,
            day,
            hour: of_day / 3_600,
            minute: of_day / 60 % 60,
            second: of_day % 60,
            day_of_year: days - days_to(year, 1, 1),
            day_of_week: (days + 4).rem_euclid(7),
        }
    }

    fn total(self) -> i128 {
        i128::from(self.seconds) * 1_000_000_000 + i128::from(self.nanos)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let c = self.civil(i64::from(self.offset));
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
            c.year, c.month, c.day, c.hour, c.minute, c.second
        )?;
        if self.nanos > 0 {
            let digits = format!("{:09}", self.nanos);
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        if self.offset == 0 {
            return f.write_str("Z");
        }
        let sign = if self.offset < 0 { '-' } else { '+' };
        let minutes = self.offset.abs() / 60;
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

impl Timestamp {
    /// The same point in UTC.
    pub(crate) fn utc(self) -> Self {
        Self { offset: 0, ..self }
    }
}

/// Reads a time; the error is worded as Go words it.
pub(crate) fn parse(text: &str, layout: Layout) -> Result<Timestamp, String> {
    let mut reader = Reader {
        text,
        rest: text,
        layout,
    };
    let year = reader.number(4, "2006")?;
    reader.literal('-')?;
    let month = reader.number(2, "01")?;
    let month_fits = (1..=12).contains(&month);
    if !month_fits {
        return Err(reader.out_of_range("month"));
    }
    reader.literal('-')?;
    let day = reader.number(2, "02")?;
    let (mut hour, mut minute, mut second, mut nanos, mut offset) = (0, 0, 0, 0, 0);
    if layout.clock {
        reader.literal('T')?;
        hour = reader.number(2, "15")?;
        if hour > 23 {
            return Err(reader.out_of_range("hour"));
        }
        reader.literal(':')?;
        minute = reader.number(2, "04")?;
        if minute > 59 {
            return Err(reader.out_of_range("minute"));
        }
        reader.literal(':')?;
        second = reader.number(2, "05")?;
        if second > 59 {
            return Err(reader.out_of_range("second"));
        }
        nanos = reader.fraction();
    }
    if layout.zone {
        offset = reader.zone()?;
    }
    if !reader.rest.is_empty() {
        return Err(format!(
            "parsing time {text:?}: extra text: {:?}",
            reader.rest
        ));
    }
    let month = month as u32;
    if day < 1 || day > i64::from(days_in(year, month)) {
        return Err(reader.out_of_range("day"));
    }
    let of_day = hour * 3_600 + minute * 60 + second;
    Ok(Timestamp {
        seconds: days_to(year, month, day as u32) * DAY + of_day - i64::from(offset),
        nanos,
        offset,
    })
}

struct Reader<'t> {
    text: &'t str,
    rest: &'t str,
    layout: Layout,
}

impl Reader<'_> {
    fn number(&mut self, digits: usize, element: &str) -> Result<i64, String> {
        let number = self
            .rest
            .get(..digits)
            .filter(|d| d.bytes().all(|b| b.is_ascii_digit()));
        let Some(number) = number.and_then(|n| n.parse().ok()) else {
            return Err(self.cannot(element));
        };
        self.rest = &self.rest[digits..];
        Ok(number)
    }

    fn literal(&mut self, wanted: char) -> Result<(), String> {
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                Ok(())
            }
            None => Err(self.cannot(&wanted.to_string())),
        }
    }

    /// `.5`, or with a comma.
    fn fraction(&mut self) -> u32 {
        let Some(rest) = self.rest.strip_prefix(['.', ',']) else {
            return 0;
        };
        let count = rest.bytes().take_while(u8::is_ascii_digit).count();
        if count == 0 {
            return 0;
        }
        let mut nanos = 0;
        for place in 0..9 {
            let digit = rest.as_bytes().get(place).filter(|_| place < count);
            nanos = nanos * 10 + digit.map_or(0, |d| u32::from(d - b'0'));
        }
        self.rest = &rest[count..];
        nanos
    }

    fn zone(&mut self) -> Result<i32, String> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let read = |rest: &str| {
            let bytes = rest.as_bytes();
            let sign = match bytes.first()? {
                b'+' => 1,
                b'-' => -1,
                _ => return None,
            };
            let digits = |at: usize| rest.get(at..at + 2)?.parse::<u8>().ok();
            (*bytes.get(3)? == b':').then_some(())?;
            let (hours, minutes) = (digits(1)?, digits(4)?);
            (hours <= 24 && minutes < 60).then_some(())?;
            Some(sign * (i32::from(hours) * 3_600 + i32::from(minutes) * 60))
        };
        match read(self.rest) {
            Some(offset) => {
                self.rest = &self.rest[6..];
                Ok(offset)
            }
            None => Err(self.cannot("Z07:00")),
        }
    }

    fn cannot(&self, element: &str) -> String {
        format!(
            "parsing time {:?} as {:?}: cannot parse {:?} as {element:?}",
            self.text, self.layout.text, self.rest
        )
    }

    fn out_of_range(&self, what: &str) -> String {
        format!("parsing time {:?}: {what} out of range", self.text)
    }
}

/// Days from 1970 to a date.
fn days_to(year: i64, month: u32, day: u32) -> i64 {
    // Years from March, so that the leap day is the last.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let month = i64::from(if month > 2 { month - 3 } else { month + 9 });
    let of_year = (153 * month + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date of a number of days from 1970.
fn date(days: i64) -> (i64, u32, u32) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month as u32, day as u32)
}

fn days_in(year: i64, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}
