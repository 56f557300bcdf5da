//! Times and durations, as the API writes them.
//!
//! A [`Time`] is read with [`Time::parse`] or [`Time::parse_micro`] (RFC 3339, with the leniency and the error texts of
//! Go's `time.Parse`) and written in UTC with [`Time::to_seconds`] or [`Time::to_micros`]. Nothing here reads a clock;
//! a program converts its clock's `SystemTime` into a [`Time`].
//!
//! `duration` holds Go's durations (`1h0m0s`) and the ages that tables show (`3h20m`).

mod date_time;
mod duration;
mod parse;
#[cfg(test)]
mod tests;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::calendar::{Date, SECONDS_PER_DAY};

pub use date_time::{is_date, is_date_time};
pub use duration::{
    DurationError, format_duration, human_duration, parse_duration, short_human_duration,
};
pub use parse::Layout;
use parse::seconds_in_utc;

/// A point in time, to the nanosecond, from year 0 to year 9999 and somewhat beyond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time {
    /// Seconds since 1970 in UTC, rounded down.
    seconds: i64,
    nanos: u32,
}

/// A text that is not a point in time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TimeError(String);

/// Seconds from year 1 to 1970. The start of year 1 is Go's zero time, which the API writes as `null`.
const YEAR_ONE: i64 = 62_135_596_800;

impl Time {
    /// Creates a time from seconds since 1970 and nanoseconds below a second.
    pub const fn from_unix(seconds: i64, nanos: u32) -> Self {
        Self {
            seconds,
            nanos: nanos % 1_000_000_000,
        }
    }

    /// Reads a `metav1.Time`: RFC 3339, with or without fractions, in any offset.
    ///
    /// # Errors
    ///
    /// Returns Go's error if the text is not RFC 3339.
    ///
    /// ```
    /// use kubewright_machinery::time::Time;
    ///
    /// let time = Time::parse("2024-05-01T12:00:00+02:00")?;
    /// assert_eq!(time.to_seconds(), "2024-05-01T10:00:00Z");
    /// # Ok::<(), kubewright_machinery::time::TimeError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, TimeError> {
        match seconds_in_utc(text.as_bytes()) {
            Some(time) => Ok(time),
            None => Layout::Rfc3339.parse(text).map(|(time, _)| time),
        }
    }

    /// Reads a `metav1.MicroTime`: RFC 3339 with exactly six decimal places.
    ///
    /// # Errors
    ///
    /// Returns Go's error if the text is not RFC 3339 with six decimal places.
    pub fn parse_micro(text: &str) -> Result<Self, TimeError> {
        Layout::Micro.parse(text).map(|(time, _)| time)
    }

    /// Returns the seconds since 1970, rounded down.
    pub fn unix_seconds(self) -> i64 {
        self.seconds
    }

    /// Returns the nanoseconds beyond [`Time::unix_seconds`].
    pub fn subsec_nanos(self) -> u32 {
        self.nanos
    }

    /// Reports whether the time is the start of year 1, which means an unset time.
    pub fn is_zero(self) -> bool {
        self.seconds == -YEAR_ONE && self.nanos == 0
    }

    /// Formats the time as a `metav1.Time`: `2024-05-01T10:00:00Z`.
    pub fn to_seconds(self) -> String {
        format!("{}Z", self.civil())
    }

    /// Formats the time as a `metav1.MicroTime`: `2024-05-01T10:00:00.123456Z`.
    pub fn to_micros(self) -> String {
        format!("{}.{:06}Z", self.civil(), self.nanos / 1000)
    }

    /// Returns the time without its fraction of a second.
    #[must_use]
    pub fn truncated(self) -> Self {
        Self { nanos: 0, ..self }
    }

    /// Returns the time that many seconds later; earlier if negative.
    #[must_use]
    pub fn plus_seconds(self, seconds: i64) -> Self {
        Self {
            seconds: self.seconds.saturating_add(seconds),
            ..self
        }
    }

    /// Returns the whole seconds since another time, rounded towards zero.
    pub fn seconds_since(self, earlier: Self) -> i64 {
        let nanos = |t: Self| i128::from(t.seconds) * 1_000_000_000 + i128::from(t.nanos);
        let seconds = (nanos(self) - nanos(earlier)) / 1_000_000_000;
        i64::try_from(seconds).unwrap_or(if seconds < 0 { i64::MIN } else { i64::MAX })
    }

    /// Returns the age that tables show at this time for an object created at `created`.
    pub fn age_of(self, created: Self) -> String {
        human_duration(self.seconds_since(created))
    }

    fn civil(self) -> String {
        let second = self.seconds.rem_euclid(SECONDS_PER_DAY);
        let Date { year, month, day } =
            Date::from_days_since_1970(self.seconds.div_euclid(SECONDS_PER_DAY));
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let sign = if year < 0 { "-" } else { "" };
        let year = year.abs();
        format!("{sign}{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
    }
}

impl From<SystemTime> for Time {
    fn from(time: SystemTime) -> Self {
        match time.duration_since(UNIX_EPOCH) {
            Ok(after) => Self {
                seconds: i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
                nanos: after.subsec_nanos(),
            },
            Err(before) => {
                let before = before.duration();
                let seconds = i64::try_from(before.as_secs()).unwrap_or(i64::MAX);
                let nanos = before.subsec_nanos();
                Self {
                    seconds: -seconds - i64::from(nanos > 0),
                    nanos: (1_000_000_000 - nanos) % 1_000_000_000,
                }
            }
        }
    }
}

impl From<Time> for SystemTime {
    fn from(time: Time) -> Self {
        let whole = Duration::from_secs(time.seconds.unsigned_abs());
        let start = if time.seconds < 0 {
            UNIX_EPOCH.checked_sub(whole)
        } else {
            UNIX_EPOCH.checked_add(whole)
        };
        let start = start.unwrap_or(UNIX_EPOCH);
        start
            .checked_add(Duration::from_nanos(time.nanos.into()))
            .unwrap_or(start)
    }
}
