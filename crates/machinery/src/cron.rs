//! Cron schedules, as CronJobs have them.

use crate::{go, time::parse_duration};

/// The lowest and highest value of each field, and its names.
const FIELDS: [(u32, u32, &[&str]); 5] = [
    (0, 59, &[]),
    (0, 23, &[]),
    (1, 31, &[]),
    (
        1,
        12,
        &[
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ],
    ),
    (0, 6, &["sun", "mon", "tue", "wed", "thu", "fri", "sat"]),
];
const DESCRIPTORS: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// A cron schedule.
///
/// ```
/// use kubewright_machinery::cron::Schedule;
///
/// let Schedule::Fields(fields) = Schedule::parse("0 9-17/4 * * mon-fri").unwrap() else { unreachable!() };
/// assert!(fields.has_hour(13) && !fields.has_hour(14));
/// assert_eq!(Schedule::parse("@every 90s"), Ok(Schedule::Every(90)));
/// assert_eq!(Schedule::parse("* *").unwrap_err(), "expected exactly 5 fields, found 2: [* *]");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// At the times that match the fields.
    Fields(Fields),
    /// Every this many seconds, at least one.
    Every(i64),
}

/// The minutes, hours, days and months of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Whether all days of the month, or all days of the week, match.
    is_any_day: bool,
}

impl Schedule {
    /// Parses a schedule: five fields, or a descriptor such as `@daily`. A time zone before it is skipped, see [`split_zone`].
    ///
    /// # Errors
    ///
    /// Fails with the message of the Go library that Kubernetes uses.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (_, spec) = split_zone(text);
        if !spec.starts_with('@') {
            return Fields::parse(spec).map(Self::Fields);
        }
        let known = DESCRIPTORS.iter().find(|(name, _)| *name == spec);
        if let Some((_, fields)) = known {
            return Fields::parse(fields).map(Self::Fields);
        }
        let Some(duration) = spec.strip_prefix("@every ") else {
            return Err(format!("unrecognized descriptor: {spec}"));
        };
        let nanos = parse_duration(duration)
            .map_err(|error| format!("failed to parse duration {spec}: {error}"))?;
        Ok(Self::Every((nanos / 1_000_000_000).max(1)))
    }
}

/// Splits the time zone off a schedule such as `TZ=Europe/Berlin 0 4 * * *`.
pub fn split_zone(text: &str) -> (Option<&str>, &str) {
    let zone = text.strip_prefix("TZ=");
    let Some(zone) = zone.or_else(|| text.strip_prefix("CRON_TZ=")) else {
        return (None, text);
    };
    match zone.split_once(' ') {
        Some((zone, rest)) => (Some(zone), rest.trim()),
        None => (Some(zone), ""),
    }
}

impl Fields {
    fn parse(text: &str) -> Result<Self, String> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        if fields.len() != FIELDS.len() {
            return Err(format!(
                "expected exactly 5 fields, found {}: [{}]",
                fields.len(),
                fields.join(" ")
            ));
        }
        let mut bits = [0; 5];
        let mut is_any = [false; 5];
        for (i, (text, (low, high, names))) in fields.into_iter().zip(FIELDS).enumerate() {
            for part in text.split(',').filter(|part| !part.is_empty()) {
                let (range, is_all) = parse_range(part, low, high, names)?;
                bits[i] |= range;
                is_any[i] |= is_all;
            }
        }
        let [minutes, hours, days, months, weekdays] = bits;
        Ok(Self {
            minutes,
            hours,
            days,
            months,
            weekdays,
            is_any_day: is_any[2] || is_any[4],
        })
    }

    /// Reports whether a minute matches.
    pub fn has_minute(&self, minute: u32) -> bool {
        has(self.minutes, minute)
    }

    /// Reports whether an hour matches.
    pub fn has_hour(&self, hour: u32) -> bool {
        has(self.hours, hour)
    }

    /// Reports whether a month matches, from 1 on.
    pub fn has_month(&self, month: u32) -> bool {
        has(self.months, month)
    }

    /// Reports whether a day matches by its number from 1 on and its day of the week from Sunday, which is 0. If both are
    /// restricted, one of them suffices.
    pub fn has_day(&self, day: u32, weekday: u32) -> bool {
        let (day, weekday) = (has(self.days, day), has(self.weekdays, weekday));
        match self.is_any_day {
            true => day && weekday,
            false => day || weekday,
        }
    }
}

fn has(bits: u64, value: u32) -> bool {
    bits.checked_shr(value).is_some_and(|bits| bits & 1 == 1)
}

/// Parses `n`, `n-m` or `*`, each with `/step`. Returns the values as bits, and whether they are all.
fn parse_range(text: &str, low: u32, high: u32, names: &[&str]) -> Result<(u64, bool), String> {
    let range_and_step: Vec<&str> = text.split('/').collect();
    let low_and_high: Vec<&str> = range_and_step[0].split('-').collect();
    let single = low_and_high.len() == 1;
    let (start, mut end) = if matches!(low_and_high[0], "*" | "?") {
        (low, high)
    } else {
        let start = number_or_name(low_and_high[0], names)?;
        match low_and_high.as_slice() {
            [_] => (start, start),
            [_, end] => (start, number_or_name(end, names)?),
            _ => return Err(format!("too many hyphens: {text}")),
        }
    };
    let step = match range_and_step.as_slice() {
        [_] => 1,
        [_, step] => {
            let step = number(step)?;
            if single {
                end = high;
            }
            step
        }
        _ => return Err(format!("too many slashes: {text}")),
    };
    if start < low {
        return Err(format!(
            "beginning of range ({start}) below minimum ({low}): {text}"
        ));
    }
    if end > high {
        return Err(format!(
            "end of range ({end}) above maximum ({high}): {text}"
        ));
    }
    if start > end {
        return Err(format!(
            "beginning of range ({start}) beyond end of range ({end}): {text}"
        ));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    let is_all = matches!(low_and_high[0], "*" | "?") && step == 1;
    let values = (start..=end).step_by(step as usize);
    Ok((values.fold(0, |bits, value| bits | 1 << value), is_all))
}

fn number_or_name(text: &str, names: &[&str]) -> Result<u32, String> {
    let lower = text.to_lowercase();
    match names.iter().position(|n| *n == lower) {
        Some(i) if names.len() == 12 => Ok(i as u32 + 1),
        Some(i) => Ok(i as u32),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u32, String> {
    match text.parse::<i64>() {
        Ok(n) if n < 0 => Err(format!("negative number ({n}) not allowed: {text}")),
        Ok(n) => Ok(u32::try_from(n).unwrap_or(u32::MAX)),
        Err(_) => {
            let quoted = go::quote(text);
            Err(format!(
                "failed to parse int from {text}: strconv.Atoi: parsing {quoted}: invalid syntax"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> Fields {
        match Schedule::parse(text) {
            Ok(Schedule::Fields(fields)) => fields,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn schedules_of_every_form_are_fine() {
        for good in [
            "*/5 * * * *",
            "0 9-17/2 * jan-mar mon,wed",
            "@daily",
            "@every 1h30m",
            "? * * * ?",
            "TZ=Europe/Berlin 0 4 * * *",
        ] {
            assert!(Schedule::parse(good).is_ok(), "{good}");
        }
    }

    #[test]
    fn fields_match_lists_ranges_and_steps() {
        let some = fields("*/20 9-17/4,22 * mar *");
        let minutes: Vec<u32> = (0..60).filter(|m| some.has_minute(*m)).collect();
        let hours: Vec<u32> = (0..24).filter(|h| some.has_hour(*h)).collect();
        assert_eq!((minutes, hours), (vec![0, 20, 40], vec![9, 13, 17, 22]));
        assert!(some.has_month(3) && !some.has_month(4) && !some.has_month(99));
        // `N/step` goes on to the end.
        assert!(fields("50/5 * * * *").has_minute(55));
        assert_eq!(fields("@weekly"), fields("0 0 * * sun"));
    }

    #[test]
    fn of_two_restricted_days_one_suffices() {
        let either = fields("0 0 13 * fri");
        assert!(either.has_day(13, 1) && either.has_day(1, 5) && !either.has_day(1, 1));
        let stepped = fields("0 0 */2 * fri");
        assert!(stepped.has_day(2, 5) && stepped.has_day(1, 1));
        let both = fields("0 0 * * fri");
        assert!(both.has_day(1, 5) && !both.has_day(1, 1));
    }

    #[test]
    fn a_bad_schedule_says_why() {
        let cases = [
            ("x", "expected exactly 5 fields, found 1: [x]"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            (
                "5-2 * * * *",
                "beginning of range (5) beyond end of range (2): 5-2",
            ),
            (
                "*/0 * * * *",
                "step of range should be a positive number: */0",
            ),
            ("@soon", "unrecognized descriptor: @soon"),
            (
                "@every x",
                "failed to parse duration @every x: time: invalid duration \"x\"",
            ),
        ];
        for (schedule, problem) in cases {
            assert_eq!(Schedule::parse(schedule), Err(problem.to_owned()));
        }
    }
}
