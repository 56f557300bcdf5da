//! The Gregorian calendar: dates from days and days from dates.
//!
//! Days are counted from 1970-01-01. Reading and writing of times is in [`time`](crate::time).
//!
//! ```
//! use kubewright_machinery::calendar::{Date, days_in_month};
//!
//! let date = Date { year: 2024, month: 2, day: 29 };
//! assert_eq!(date.days_since_1970(), 19_782);
//! assert_eq!(Date::from_days_since_1970(19_783), Date { year: 2024, month: 3, day: 1 });
//! assert_eq!(days_in_month(2023, 2), 28);
//! ```

/// Seconds of a day; the calendar has no leap seconds.
pub const SECONDS_PER_DAY: i64 = 86_400;

/// Days of 400 years, after which the calendar repeats.
const DAYS_PER_ERA: i64 = 146_097;
/// Days from the first of March of year 0 to 1970.
const MARCH_OF_YEAR_0: i64 = 719_468;

/// A day of the Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    /// The year; negative years are before year 0.
    pub year: i64,
    /// The month, from 1.
    pub month: i64,
    /// The day of the month, from 1.
    pub day: i64,
}

impl Date {
    /// Returns the date of a number of days since 1970-01-01.
    pub fn from_days_since_1970(days: i64) -> Self {
        // Years start in March here, so that a leap day is the last of its year.
        let shifted = days.saturating_add(MARCH_OF_YEAR_0);
        let era = shifted.div_euclid(DAYS_PER_ERA);
        let day_of_era = shifted.rem_euclid(DAYS_PER_ERA);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        let year = era * 400 + year_of_era + i64::from(month <= 2);
        Self { year, month, day }
    }

    /// Returns the number of days since 1970-01-01, negative before it; the nearest number if there are too many.
    pub fn days_since_1970(self) -> i64 {
        let year = self.year.saturating_sub(i64::from(self.month <= 2));
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let month = self.month.saturating_add(9) % 12;
        let day_of_year = ((153 * month + 2) / 5).saturating_add(self.day);
        let year_start = year_of_era * 365 + year_of_era / 4 - year_of_era / 100;
        era.saturating_mul(DAYS_PER_ERA)
            .saturating_add(year_start - MARCH_OF_YEAR_0 - 1)
            .saturating_add(day_of_year)
    }

    /// Reports whether the calendar has this day.
    pub fn is_valid(self) -> bool {
        (1..=12).contains(&self.month)
            && (1..=days_in_month(self.year, self.month)).contains(&self.day)
    }
}

/// Returns the number of days of a month, which counts from 1.
pub fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_days_are_inverse() {
        for days in (-800_000..3_000_000).step_by(97) {
            let date = Date::from_days_since_1970(days);
            assert!(date.is_valid(), "{date:?}");
            assert_eq!(date.days_since_1970(), days);
        }
    }

    #[test]
    fn extreme_dates_do_not_overflow() {
        for year in [i64::MIN, -1 << 60, 1 << 60, i64::MAX] {
            for (month, day) in [(1, 1), (12, 31), (i64::MIN, i64::MIN), (i64::MAX, i64::MAX)] {
                let _ = Date { year, month, day }.days_since_1970();
            }
        }
        for days in [i64::MIN, i64::MIN + 1, i64::MAX - 1, i64::MAX] {
            let _ = Date::from_days_since_1970(days);
        }
    }

    #[test]
    fn february_has_29_days_in_leap_years() {
        for (year, days) in [(2024, 29), (2023, 28), (2000, 29), (1900, 28)] {
            assert_eq!(days_in_month(year, 2), days);
        }
        let date = |month, day| Date {
            year: 2023,
            month,
            day,
        };
        assert!(date(2, 28).is_valid());
        assert!(!date(2, 29).is_valid());
        assert!(!date(13, 1).is_valid());
        assert!(!date(1, 0).is_valid());
    }
}
