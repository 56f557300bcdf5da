//! [`Timetable`]: the times of a schedule in its time zone.

use jiff::{
    SignedDuration, Timestamp, Zoned,
    civil::{DateTime, Time},
    tz::TimeZone,
};
use kubewright_machinery::cron::{Fields, Schedule, split_zone};

use crate::workloads::objects::CronJob;

/// The years in which a time is searched for.
const YEARS: i16 = 5;

/// The number of missed times from which on there are too many.
const TOO_MANY: i64 = 100;

/// A schedule in a time zone.
pub(super) struct Timetable {
    schedule: Schedule,
    zone: TimeZone,
}

/// The times that were missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missed {
    None,
    Few,
    Many,
}

/// The last time at which a Job should have started.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Recent {
    /// The time from which on times count.
    pub(super) earliest: Timestamp,
    pub(super) last: Option<Timestamp>,
    pub(super) missed: Missed,
}

/// Finds a time zone by its name.
pub(super) fn zone_of(name: &str) -> Result<TimeZone, String> {
    match name {
        "" | "UTC" => Ok(TimeZone::UTC),
        name => TimeZone::get(name).map_err(|_| format!("unknown time zone {name}")),
    }
}

impl Timetable {
    /// Returns the times of a CronJob. A time zone in the schedule itself comes before that of the spec.
    ///
    /// # Errors
    ///
    /// Fails if the schedule is invalid.
    pub(super) fn of(job: &CronJob) -> Result<Self, String> {
        let text = &job.spec.schedule;
        let zone = match split_zone(text).0 {
            Some(own) => {
                zone_of(own).map_err(|error| format!("provided bad location {own}: {error}"))?
            }
            None => {
                zone_of(job.spec.time_zone.as_deref().unwrap_or_default()).unwrap_or(TimeZone::UTC)
            }
        };
        Ok(Self {
            schedule: Schedule::parse(text)?,
            zone,
        })
    }

    /// Returns the first time after another; `None` if there is none within five years.
    pub(super) fn next(&self, after: Timestamp) -> Option<Timestamp> {
        match &self.schedule {
            Schedule::Every(seconds) => {
                let whole = Timestamp::from_second(after.as_second()).ok()?;
                whole.checked_add(SignedDuration::from_secs(*seconds)).ok()
            }
            Schedule::Fields(fields) => {
                next(fields, &after.to_zoned(self.zone.clone())).map(|next| next.timestamp())
            }
        }
    }

    /// Returns the last time until now at which a Job should have started, since the last one did or the CronJob was created.
    ///
    /// # Errors
    ///
    /// Fails if the schedule has no times.
    pub(super) fn recent(
        &self,
        job: &CronJob,
        now: Timestamp,
        deadline: Option<i64>,
    ) -> Result<Recent, &'static str> {
        let created = job.metadata.creation_timestamp.as_ref();
        let known = job.status.last_schedule_time.as_ref().or(created);
        let mut earliest = known.map_or(now, |known| known.0);
        if let Some(seconds) = deadline {
            let limit = now.checked_sub(SignedDuration::from_secs(seconds));
            earliest = earliest.max(limit.unwrap_or(earliest));
        }
        let recent = |last, missed| Recent {
            earliest,
            last,
            missed,
        };
        const NEVER: &str = "time difference between two schedules is less than 1 second";
        let first = self.next(earliest).ok_or(NEVER)?;
        if now < first {
            return Ok(recent(None, Missed::None));
        }
        let second = self.next(first).ok_or(NEVER)?;
        if now < second {
            return Ok(recent(Some(first), Missed::None));
        }
        let distance = second.duration_since(first).as_secs();
        if distance < 1 {
            return Err(NEVER);
        }
        // The number is an estimate: the distances may differ. From somewhat before, all times are tried.
        let count = now.duration_since(first).as_secs() / distance + 1;
        let back = SignedDuration::from_secs((count - 2) * distance);
        let mut last = None;
        let mut time = self.next(first.checked_add(back).unwrap_or(first));
        while let Some(at) = time.filter(|at| *at <= now) {
            last = Some(at);
            time = self.next(at);
        }
        let missed = match count > TOO_MANY {
            true => Missed::Many,
            false => Missed::Few,
        };
        Ok(recent(last, missed))
    }

    /// Returns the next time after now, or after the last one.
    pub(super) fn upcoming(&self, job: &CronJob, now: Timestamp) -> Option<Timestamp> {
        let from = match self.recent(job, now, None) {
            Err(_) => now,
            Ok(recent) => match (recent.last, recent.missed) {
                (Some(last), _) => last,
                (None, Missed::None) => recent.earliest,
                (None, _) => now,
            },
        };
        self.next(from)
    }
}

/// Returns the first time after another that matches. A time of day that does not exist on a day is left out, and one that
/// exists twice matches twice.
fn next(fields: &Fields, after: &Zoned) -> Option<Zoned> {
    let zone = after.time_zone();
    let at = |date_time: DateTime| zone.to_zoned(date_time).ok();
    let number = |value: i8| u32::try_from(value).unwrap_or(0);
    let hour = SignedDuration::from_hours(1);
    let minute = SignedDuration::from_mins(1);
    let whole = after.timestamp().as_second();
    let mut t = Timestamp::from_second(whole + 1)
        .ok()?
        .to_zoned(zone.clone());
    let mut is_moved = false;
    let last_year = t.year() + YEARS;
    'year: loop {
        if t.year() > last_year {
            return None;
        }
        while !fields.has_month(number(t.month())) {
            let first = t.date().first_of_month();
            is_moved = true;
            let next = first.checked_add(jiff::Span::new().months(1)).ok()?;
            t = at(next.to_datetime(Time::midnight()))?;
            if t.month() == 1 {
                continue 'year;
            }
        }
        while !fields.has_day(number(t.day()), number(t.weekday().to_sunday_zero_offset())) {
            is_moved = true;
            t = at(t.date().tomorrow().ok()?.to_datetime(Time::midnight()))?;
            // Midnight may not exist.
            if t.hour() != 0 {
                let hours = i64::from(if t.hour() > 12 {
                    24 - t.hour()
                } else {
                    -t.hour()
                });
                t = t.checked_add(SignedDuration::from_hours(hours)).ok()?;
            }
            if t.day() == 1 {
                continue 'year;
            }
        }
        while !fields.has_hour(number(t.hour())) {
            if !is_moved {
                is_moved = true;
                let past = i64::from(t.minute()) * 60 + i64::from(t.second());
                t = t.checked_sub(SignedDuration::from_secs(past)).ok()?;
            }
            t = t.checked_add(hour).ok()?;
            if t.hour() == 0 {
                continue 'year;
            }
        }
        while !fields.has_minute(number(t.minute())) {
            if !is_moved {
                is_moved = true;
                t = t
                    .checked_sub(SignedDuration::from_secs(i64::from(t.second())))
                    .ok()?;
            }
            t = t.checked_add(minute).ok()?;
            if t.minute() == 0 {
                continue 'year;
            }
        }
        if t.second() != 0 {
            let left = 60 - i64::from(t.second());
            is_moved = true;
            t = t.checked_add(SignedDuration::from_secs(left)).ok()?;
            continue 'year;
        }
        return Some(t);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn job(schedule: &str, zone: &str, last: &str) -> CronJob {
        serde_json::from_value(json!({
            "metadata": {"creationTimestamp": last},
            "spec": {"schedule": schedule, "timeZone": zone},
        }))
        .unwrap()
    }

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    /// Returns the next times after one.
    fn times(schedule: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
        let table = Timetable::of(&job(schedule, zone, after)).unwrap();
        let first = table.next(time(after));
        let times = std::iter::successors(first, |last| table.next(*last));
        times.take(count).map(|time| time.to_string()).collect()
    }

    #[test]
    fn times_follow_from_the_fields() {
        assert_eq!(
            times("*/20 * * * *", "", "2026-01-01T00:05:07Z", 3),
            [
                "2026-01-01T00:20:00Z",
                "2026-01-01T00:40:00Z",
                "2026-01-01T01:00:00Z"
            ]
        );
        assert_eq!(
            times("30 6-16/4 * * 1-5", "", "2026-01-02T14:30:00Z", 2),
            ["2026-01-05T06:30:00Z", "2026-01-05T10:30:00Z"]
        );
        assert_eq!(
            times("0 0 29 2 *", "", "2026-01-01T00:00:00Z", 1),
            ["2028-02-29T00:00:00Z"]
        );
        assert_eq!(
            times("59 23 31 2 *", "", "2026-01-01T00:00:00Z", 1),
            [""; 0]
        );
        assert_eq!(
            times("@every 90s", "", "2026-01-01T00:00:07.5Z", 2),
            ["2026-01-01T00:01:37Z", "2026-01-01T00:03:07Z"]
        );
    }

    #[test]
    fn times_of_day_that_do_not_exist_are_left_out_and_others_come_twice() {
        assert_eq!(
            times("30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", 2),
            ["2026-03-28T01:30:00Z", "2026-03-30T00:30:00Z"]
        );
        assert_eq!(
            times("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 3),
            [
                "2026-10-25T00:30:00Z",
                "2026-10-25T01:30:00Z",
                "2026-10-26T01:30:00Z"
            ]
        );
    }

    #[test]
    fn of_many_missed_times_the_last_counts() {
        let recent = |schedule: &str, last: &str, now: &str, deadline| {
            let job = job(schedule, "", last);
            let table = Timetable::of(&job).unwrap();
            let recent = table.recent(&job, time(now), deadline);
            recent.map(|recent| (recent.last.map(|last| last.to_string()), recent.missed))
        };
        let at = |text: &str| Some(text.to_owned());
        let (start, hourly) = ("2026-01-01T00:30:00Z", "0 * * * *");
        assert_eq!(
            recent(hourly, start, "2026-01-01T00:59:00Z", None),
            Ok((None, Missed::None))
        );
        assert_eq!(
            recent(hourly, start, "2026-01-01T01:00:00Z", None),
            Ok((at("2026-01-01T01:00:00Z"), Missed::None))
        );
        assert_eq!(
            recent(hourly, start, "2026-01-01T05:10:00Z", None),
            Ok((at("2026-01-01T05:00:00Z"), Missed::Few))
        );
        assert_eq!(
            recent(hourly, start, "2027-01-01T05:10:00Z", None),
            Ok((at("2027-01-01T05:00:00Z"), Missed::Many))
        );
        assert_eq!(
            recent(hourly, start, "2027-01-01T05:10:00Z", Some(60)),
            Ok((None, Missed::None))
        );
        assert!(recent("59 23 31 2 *", start, "2027-01-01T05:10:00Z", None).is_err());
    }
}
