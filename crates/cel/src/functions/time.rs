//! Fields of times and durations.

use crate::value::time::Civil;
use crate::value::{EvalError, EvalResult, Timestamp, Value};

use super::{Implementation, Registry, no_such_overload};

type Field = fn(&Civil, u32) -> i64;

pub(super) fn declare(r: &mut Registry) {
    let fields: [(&'static str, &str, &str, Implementation); 10] = [
        (
            "getFullYear",
            "timestamp_to_year",
            "timestamp_to_year_with_tz",
            |a| field(a, |c, _| c.year),
        ),
        (
            "getMonth",
            "timestamp_to_month",
            "timestamp_to_month_with_tz",
            |a| field(a, |c, _| c.month - 1),
        ),
        (
            "getDayOfYear",
            "timestamp_to_day_of_year",
            "timestamp_to_day_of_year_with_tz",
            |a| field(a, |c, _| c.day_of_year),
        ),
        (
            "getDayOfMonth",
            "timestamp_to_day_of_month",
            "timestamp_to_day_of_month_with_tz",
            |a| field(a, |c, _| c.day - 1),
        ),
        (
            "getDate",
            "timestamp_to_day_of_month_1_based",
            "timestamp_to_day_of_month_1_based_with_tz",
            |a| field(a, |c, _| c.day),
        ),
        (
            "getDayOfWeek",
            "timestamp_to_day_of_week",
            "timestamp_to_day_of_week_with_tz",
            |a| field(a, |c, _| c.day_of_week),
        ),
        (
            "getHours",
            "timestamp_to_hours",
            "timestamp_to_hours_with_tz",
            |a| field(a, |c, _| c.hour),
        ),
        (
            "getMinutes",
            "timestamp_to_minutes",
            "timestamp_to_minutes_with_tz",
            |a| field(a, |c, _| c.minute),
        ),
        (
            "getSeconds",
            "timestamp_to_seconds",
            "timestamp_to_seconds_tz",
            |a| field(a, |c, _| c.second),
        ),
        (
            "getMilliseconds",
            "timestamp_to_milliseconds",
            "timestamp_to_milliseconds_with_tz",
            |a| field(a, |_, n| i64::from(n / 1_000_000)),
        ),
    ];
    for (name, id, id_with_zone, implementation) in fields {
        r.member(name, id.to_owned(), "timestamp", "int", implementation);
        r.member(
            name,
            id_with_zone.to_owned(),
            "timestamp string",
            "int",
            implementation,
        );
    }
    let units: [(&'static str, &'static str, Implementation); 4] = [
        ("getHours", "duration_to_hours", |a| {
            whole(a, 3_600_000_000_000)
        }),
        ("getMinutes", "duration_to_minutes", |a| {
            whole(a, 60_000_000_000)
        }),
        ("getSeconds", "duration_to_seconds", |a| {
            whole(a, 1_000_000_000)
        }),
        ("getMilliseconds", "duration_to_milliseconds", |a| {
            whole(a, 1_000_000)
        }),
    ];
    for (name, id, implementation) in units {
        r.member(name, id, "duration", "int", implementation);
    }
}

fn field<'a>(args: &[Value<'a>], field: Field) -> EvalResult<'a> {
    let (at, offset) = match args {
        [Value::Timestamp(at)] => (*at, 0),
        [Value::Timestamp(at), Value::String(zone)] => (*at, offset(zone, *at)?),
        _ => return no_such_overload(),
    };
    Ok(Value::Int(field(&at.civil(offset), at.instant().1)))
}

fn whole<'a>(args: &[Value<'a>], unit: i64) -> EvalResult<'a> {
    match args {
        [Value::Duration(nanos)] => Ok(Value::Int(nanos / unit)),
        _ => no_such_overload(),
    }
}

/// Returns the seconds east of UTC of `+05:30`, or of a named zone at a time.
fn offset(zone: &str, at: Timestamp) -> Result<i64, EvalError> {
    let Some((hours, minutes)) = zone.split_once(':') else {
        return named_offset(zone, at);
    };
    let number = |text: &str| {
        let invalid = || {
            let quoted = kubewright_machinery::go::quote(text);
            EvalError::new(format!("strconv.Atoi: parsing {quoted}: invalid syntax"))
        };
        text.parse::<i32>().map(i64::from).map_err(|_| invalid())
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let minutes = match zone.starts_with('-') {
        true => hours * 60 - minutes,
        false => hours * 60 + minutes,
    };
    Ok(minutes * 60)
}

/// Returns the seconds east of UTC of a named zone at a time.
fn named_offset(zone: &str, at: Timestamp) -> Result<i64, EvalError> {
    match zone {
        "" | "UTC" | "Local" => Ok(0),
        _ => lookup(zone, at).ok_or_else(|| EvalError::new(format!("unknown time zone {zone}"))),
    }
}

#[cfg(feature = "time-zones")]
fn lookup(zone: &str, at: Timestamp) -> Option<i64> {
    let zones = jiff::tz::TimeZoneDatabase::bundled();
    let zone = zones.get(zone).ok().filter(|found| {
        // Names are case-sensitive.
        found.iana_name() == Some(zone)
    })?;
    let at = jiff::Timestamp::from_second(at.instant().0).ok()?;
    Some(i64::from(zone.to_offset(at).seconds()))
}

#[cfg(not(feature = "time-zones"))]
fn lookup(zone: &str, _: Timestamp) -> Option<i64> {
    matches!(zone, "Etc/UTC" | "GMT").then_some(0)
}
