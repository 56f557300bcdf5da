//! The contents of a Lease, and when it is free.
//!
//! Pure: the wall clock is an argument and only written, never compared; the local clock is an argument too.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{api::coordination::v1::LeaseSpec, apimachinery::pkg::apis::meta::v1::MicroTime};
use tokio::time::Instant;

/// A record, and when it was first seen.
#[derive(Clone, Debug)]
pub(crate) struct Observed {
    spec: LeaseSpec,
    seen: Instant,
}

impl Observed {
    /// Starts observing a record.
    pub(crate) fn new(spec: LeaseSpec, now: Instant) -> Self {
        Self { spec, seen: now }
    }

    /// Observes the record again, and reports whether it has changed. Any change restarts the time.
    pub(crate) fn see(&mut self, spec: &LeaseSpec, now: Instant) -> bool {
        let changed = self.spec != *spec;
        if changed {
            self.spec = spec.clone();
            self.seen = now;
        }
        changed
    }

    /// Returns the record.
    pub(crate) fn spec(&self) -> &LeaseSpec {
        &self.spec
    }

    /// Returns the holder; empty if there is none.
    pub(crate) fn holder(&self) -> &str {
        holder(&self.spec)
    }

    /// Returns when the Lease may be taken if the record does not change, by the record's own duration.
    pub(crate) fn expires(&self) -> Instant {
        let seconds = self.spec.lease_duration_seconds.unwrap_or(0);
        self.seen + Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
    }

    /// Reports whether the Lease is still held.
    pub(crate) fn is_held(&self, now: Instant) -> bool {
        !self.holder().is_empty() && self.expires() > now
    }
}

/// Returns the holder; empty if there is none.
pub(crate) fn holder(spec: &LeaseSpec) -> &str {
    spec.holder_identity.as_deref().unwrap_or("")
}

/// Returns the record of a leader that follows the previous one: renewing keeps the time of acquisition and the number
/// of transitions, taking over resets both and adds a transition.
pub(crate) fn held(
    before: Option<&LeaseSpec>,
    identity: &str,
    duration: Duration,
    now: Timestamp,
) -> LeaseSpec {
    let mut spec = LeaseSpec {
        holder_identity: Some(identity.to_owned()),
        lease_duration_seconds: Some(i32::try_from(duration.as_secs()).unwrap_or(i32::MAX)),
        acquire_time: Some(MicroTime(now)),
        renew_time: Some(MicroTime(now)),
        lease_transitions: Some(0),
        ..LeaseSpec::default()
    };
    if let Some(before) = before {
        let transitions = before.lease_transitions.unwrap_or(0);
        if holder(before) == identity {
            spec.acquire_time = before.acquire_time.clone().or(spec.acquire_time);
            spec.lease_transitions = Some(transitions);
            // Others recognise a renewal by its change, so there must be one even if the clock stands still.
            if before.renew_time == spec.renew_time {
                let later = now.checked_add(SignedDuration::from_micros(1));
                spec.renew_time = Some(MicroTime(later.unwrap_or(now)));
            }
        } else {
            spec.lease_transitions = Some(transitions.saturating_add(1));
        }
    }
    spec
}

/// Returns the record of a released Lease.
pub(crate) fn released(before: &LeaseSpec, now: Timestamp) -> LeaseSpec {
    LeaseSpec {
        holder_identity: Some(String::new()),
        lease_duration_seconds: Some(1),
        acquire_time: Some(MicroTime(now)),
        renew_time: Some(MicroTime(now)),
        lease_transitions: Some(before.lease_transitions.unwrap_or(0)),
        ..LeaseSpec::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(15);

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_first_record_has_no_transitions() {
        let spec = held(None, "a", LEASE, at(100));
        assert_eq!(holder(&spec), "a");
        assert_eq!(spec.lease_duration_seconds, Some(15));
        assert_eq!(spec.lease_transitions, Some(0));
        assert_eq!(spec.acquire_time, Some(MicroTime(at(100))));
        assert_eq!(spec.renew_time, Some(MicroTime(at(100))));
    }

    #[test]
    fn renewing_keeps_the_time_of_acquisition_and_taking_over_counts() {
        let first = held(None, "a", LEASE, at(100));
        let renewed = held(Some(&first), "a", LEASE, at(102));
        assert_eq!(renewed.acquire_time, Some(MicroTime(at(100))));
        assert_eq!(renewed.renew_time, Some(MicroTime(at(102))));
        assert_eq!(renewed.lease_transitions, Some(0));
        let taken = held(Some(&renewed), "b", LEASE, at(120));
        assert_eq!(taken.acquire_time, Some(MicroTime(at(120))));
        assert_eq!(taken.lease_transitions, Some(1));
        let full = LeaseSpec {
            lease_transitions: Some(i32::MAX),
            ..taken
        };
        let again = held(Some(&full), "c", LEASE, at(1));
        assert_eq!(again.lease_transitions, Some(i32::MAX));
    }

    #[test]
    fn a_renewal_is_seen_even_if_the_holders_clock_stands_still() {
        let first = held(None, "a", LEASE, at(100));
        assert_ne!(held(Some(&first), "a", LEASE, at(100)), first);
    }

    #[test]
    fn a_released_record_has_no_holder_and_one_second() {
        let mut first = held(None, "a", LEASE, at(100));
        first.lease_transitions = Some(7);
        let free = released(&first, at(130));
        assert_eq!(free.holder_identity.as_deref(), Some(""));
        assert_eq!(free.lease_duration_seconds, Some(1));
        assert_eq!(free.lease_transitions, Some(7));
        assert_eq!(free.acquire_time, Some(MicroTime(at(130))));
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_that_counts_is_since_the_record_changed_here() {
        // The holder's clock is years off, which does not matter.
        let spec = held(None, "a", LEASE, at(4_000_000_000));
        let start = Instant::now();
        let mut observed = Observed::new(spec.clone(), start);
        let later = start + LEASE - Duration::from_millis(1);
        assert!(!observed.see(&spec, later));
        assert!(observed.is_held(later));
        assert!(!observed.is_held(start + LEASE));
        assert!(observed.see(&held(Some(&spec), "a", LEASE, at(1)), later));
        assert!(observed.is_held(start + LEASE));
        assert!(!observed.is_held(later + LEASE));
    }

    #[tokio::test(start_paused = true)]
    async fn the_duration_is_the_records_and_an_empty_record_has_no_holder() {
        let now = Instant::now();
        let mut spec = held(None, "a", LEASE, at(1));
        spec.lease_duration_seconds = Some(60);
        assert!(Observed::new(spec.clone(), now).is_held(now + Duration::from_secs(59)));
        spec.lease_duration_seconds = Some(-5);
        assert!(!Observed::new(spec.clone(), now).is_held(now));
        spec.lease_duration_seconds = None;
        assert!(!Observed::new(spec.clone(), now).is_held(now));
        assert!(!Observed::new(released(&spec, at(2)), now).is_held(now));
        assert!(!Observed::new(LeaseSpec::default(), now).is_held(now));
    }
}
