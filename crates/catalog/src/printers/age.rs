//! Ages and durations for people, from the time stamps of objects.
//!
//! The clock is an argument. A timestamp that is absent, unreadable or Go's zero time counts as unset.

use kubewright_machinery::time::{Time, human_duration};
use serde_json::Value;

use super::PrintOptions;

/// The time since the object was created.
pub(super) fn of(object: &Value, options: &PrintOptions) -> String {
    since(&object["metadata"]["creationTimestamp"], options)
}

/// The time since a time stamp, `<unknown>` if it is not set.
pub(super) fn since(field: &Value, options: &PrintOptions) -> String {
    match time(field) {
        Some(then) => since_time(then, options),
        None => "<unknown>".to_owned(),
    }
}

/// The time since a moment.
pub(super) fn since_time(then: Time, options: &PrintOptions) -> String {
    between(then, Time::from_unix(options.now_unix_seconds, 0))
}

/// The time from one moment to another.
pub(super) fn between(from: Time, to: Time) -> String {
    human_duration(to.seconds_since(from))
}

/// A length of time given in seconds.
pub(super) fn seconds(seconds: i64) -> String {
    human_duration(seconds)
}

/// The moment a field holds.
pub(super) fn time(field: &Value) -> Option<Time> {
    Time::parse(field.as_str()?)
        .ok()
        .filter(|time| !time.is_zero())
}

/// A time stamp in UTC to the second; the first moment of year one if it is not set.
pub(super) fn timestamp(field: &Value) -> String {
    time(field).map_or_else(|| "0001-01-01T00:00:00Z".to_owned(), Time::to_seconds)
}
