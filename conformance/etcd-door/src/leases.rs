//! [`Leases`]: lifetimes that keys are given. The store itself deletes what has expired.

use std::{collections::HashMap, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::call::CallError;

/// The most leases at a time.
const MAX_LEASES: usize = 100_000;
/// The longest lease, in seconds, as in etcd.
const LONGEST: i64 = 9_000_000_000;

/// The granted leases by number.
#[derive(Default)]
pub(crate) struct Leases {
    granted: Mutex<Granted>,
}

#[derive(Default)]
struct Granted {
    ends: HashMap<i64, Instant>,
    last: i64,
}

impl Leases {
    /// Grants a lease, and returns its number.
    pub(crate) fn grant(&self, seconds: i64, id: i64) -> Result<i64, CallError> {
        if !(1..=LONGEST).contains(&seconds) {
            return Err(CallError::invalid("etcdserver: too large lease TTL"));
        }
        let now = Instant::now();
        let mut granted = self.granted.lock();
        if granted.ends.len() >= MAX_LEASES {
            granted.ends.retain(|_, ends| *ends > now);
        }
        if granted.ends.len() >= MAX_LEASES {
            return Err(CallError::too_many());
        }
        let id = match id {
            0 => {
                granted.last += 1;
                granted.last
            }
            id => id,
        };
        let ends = now + Duration::from_secs(seconds.unsigned_abs());
        match granted.ends.insert(id, ends).is_some_and(|old| old > now) {
            true => Err(CallError::invalid("etcdserver: lease already exists")),
            false => Ok(id),
        }
    }

    /// Returns the time that is left of a lease. Zero stands for none.
    pub(crate) fn left(&self, id: i64) -> Result<Option<Duration>, CallError> {
        if id == 0 {
            return Ok(None);
        }
        let ends = self.granted.lock().ends.get(&id).copied();
        let left = ends.and_then(|ends| ends.checked_duration_since(Instant::now()));
        let left = left.filter(|left| !left.is_zero());
        left.map(Some).ok_or_else(CallError::no_lease)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_lease_ends() {
        let leases = Leases::default();
        let id = leases.grant(10, 0).unwrap();
        assert_eq!(leases.left(0), Ok(None));
        assert_eq!(leases.left(id), Ok(Some(Duration::from_secs(10))));
        assert!(leases.grant(10, id).is_err());
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(leases.left(id), Err(CallError::no_lease()));
        assert_eq!(leases.left(99), Err(CallError::no_lease()));
        assert!(leases.grant(0, 0).is_err());
    }
}
