//! Timestamps.

use std::fmt;

use kubewright_machinery::calendar::{Date, SECONDS_PER_DAY};
use kubewright_machinery::time::{Layout, TimeError};

/// A point in time, to the nanosecond, with the offset from UTC that it was written with.
///
/// ```
/// use kubewright_cel::Timestamp;
///
/// let at = Timestamp::from_unix(1_700_000_000, 500_000_000).expect("it is in range");
/// assert_eq!(at.to_string(), "2023-11-14T22:13:20.5Z");
/// assert_eq!(at.instant(), (1_700_000_000, 500_000_000));
/// assert_eq!(Timestamp::from_unix(i64::MAX, 0), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamp {
    seconds: i64,
    nanos: u32,
    offset: i32,
}

/// The first second of year 1.
pub(crate) const MIN_SECONDS: i64 = -62_135_596_800;
/// The last second of year 9999.
pub(crate) const MAX_SECONDS: i64 = 253_402_300_799;

/// A date and time of day, somewhere.
pub(crate) struct Civil {
    pub(crate) year: i64,
    /// The number, from 1.
    pub(crate) month: i64,
    /// The number, from 1.
    pub(crate) day: i64,
    pub(crate) hour: i64,
    pub(crate) minute: i64,
    pub(crate) second: i64,
    /// The days since the first of January.
    pub(crate) day_of_year: i64,
    /// The day of the week; 0 is Sunday.
    pub(crate) day_of_week: i64,
}

impl Timestamp {
    /// The start of 1970.
    pub(crate) const EPOCH: Self = Self {
        seconds: 0,
        nanos: 0,
        offset: 0,
    };

    /// Creates a timestamp in UTC; `None` if it is not within the years 1 to 9999.
    pub fn from_unix(seconds: i64, nanos: u32) -> Option<Self> {
        (MIN_SECONDS..=MAX_SECONDS)
            .contains(&seconds)
            .then_some(Self {
                seconds,
                nanos: nanos % 1_000_000_000,
                offset: 0,
            })
    }

    /// Returns the seconds since 1970, rounded down, and the nanoseconds beyond them.
    pub fn instant(self) -> (i64, u32) {
        (self.seconds, self.nanos)
    }

    /// Reports whether the timestamp is Go's zero time: the start of year 1.
    pub(crate) fn is_zero(self) -> bool {
        self.seconds == MIN_SECONDS && self.nanos == 0
    }

    /// Adds nanoseconds; `None` if the result is out of range.
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

    /// Returns the nanoseconds since another time; `None` if there are too many.
    pub(crate) fn since(self, earlier: Self) -> Option<i64> {
        i64::try_from(self.total() - earlier.total()).ok()
    }

    /// Returns the date and time at an offset from UTC in seconds.
    pub(crate) fn civil(self, offset: i64) -> Civil {
        let local = self.seconds + offset;
        let days = local.div_euclid(SECONDS_PER_DAY);
        let of_day = local.rem_euclid(SECONDS_PER_DAY);
        let Date { year, month, day } = Date::from_days_since_1970(days);
        let new_year = Date {
            year,
            month: 1,
            day: 1,
        };
        Civil {
            year,
            month,
            day,
            hour: of_day / 3_600,
            minute: of_day / 60 % 60,
            second: of_day % 60,
            day_of_year: days - new_year.days_since_1970(),
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
    /// Reads a time; the error is worded as Go words it.
    pub(crate) fn parse(text: &str, layout: Layout) -> Result<Self, TimeError> {
        let (time, offset) = layout.parse(text)?;
        Ok(Self {
            seconds: time.unix_seconds(),
            nanos: time.subsec_nanos(),
            // An offset has two digits of hours, so it fits.
            offset: offset as i32,
        })
    }

    /// Returns the same point in time in UTC.
    pub(crate) fn utc(self) -> Self {
        Self { offset: 0, ..self }
    }
}
