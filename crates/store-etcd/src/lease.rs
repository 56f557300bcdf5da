//! [`Leases`]: lifetimes of objects, implemented by etcd leases.
//!
//! Leases are expensive for etcd, so that objects that expire at about the same time share one, as in kube-apiserver.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{
    api::{LeaseGranted, lease_grant_request},
    grpc::{CallError, Channel},
};

/// The maximum extension of a lifetime for the sake of sharing, in percent.
const EXTENSION_PERCENT: u32 = 5;
/// The longest extension.
const LONGEST_EXTENSION: Duration = Duration::from_secs(60);
/// The maximum number of objects of a lease.
const MAX_OBJECTS: u32 = 1000;

/// The most recent lease.
#[derive(Default)]
pub(crate) struct Leases {
    last: Mutex<Option<Lease>>,
}

struct Lease {
    id: i64,
    ends: Instant,
    objects: u32,
}

impl Leases {
    /// Returns a lease that lasts for at least `ttl`, and not much longer.
    pub(crate) async fn lasting(
        &self,
        channel: &Channel,
        ttl: Duration,
        deadline: Instant,
    ) -> Result<i64, CallError> {
        // etcd counts in seconds.
        let ttl = Duration::from_secs(ttl.as_secs_f64().ceil().max(1.0) as u64);
        let now = Instant::now();
        if let Some(id) = self.shared(now, ttl) {
            return Ok(id);
        }
        let length = ttl + extension(ttl);
        let seconds = i64::try_from(length.as_secs()).unwrap_or(i64::MAX);
        let request = lease_grant_request(seconds);
        // A lease whose response was lost expires by itself.
        let granted: LeaseGranted = channel
            .once("/etcdserverpb.Lease/LeaseGrant", &request, deadline)
            .await?;
        *self.last.lock() = Some(Lease {
            id: granted.id,
            ends: now + length,
            objects: 1,
        });
        Ok(granted.id)
    }

    /// Forgets a lease that etcd no longer knows.
    pub(crate) fn forget(&self) {
        *self.last.lock() = None;
    }

    fn shared(&self, now: Instant, ttl: Duration) -> Option<i64> {
        let mut last = self.last.lock();
        let lease = last.as_mut()?;
        let wanted = now + ttl;
        let fits = wanted < lease.ends && wanted + extension(ttl) >= lease.ends;
        if !fits || lease.objects >= MAX_OBJECTS {
            return None;
        }
        lease.objects += 1;
        Some(lease.id)
    }
}

fn extension(ttl: Duration) -> Duration {
    let part = ttl.saturating_mul(EXTENSION_PERCENT) / 100;
    // In whole seconds, as in etcd.
    Duration::from_secs(part.min(LONGEST_EXTENSION).as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_with_similar_lifetimes_share_a_lease() {
        let hour = Duration::from_secs(3600);
        let leases = Leases::default();
        let now = Instant::now();
        assert_eq!(leases.shared(now, hour), None);
        *leases.last.lock() = Some(Lease {
            id: 7,
            ends: now + hour + extension(hour),
            objects: 1,
        });
        assert_eq!(leases.shared(now, hour), Some(7));
        let soon = now + Duration::from_secs(59);
        assert_eq!(leases.shared(soon, hour), Some(7));
        // It would end too early, or far too late.
        let late = now + Duration::from_secs(60);
        assert_eq!(leases.shared(late, hour), None);
        assert_eq!(leases.shared(now, hour / 2), None);
        for _ in 0..MAX_OBJECTS {
            leases.shared(now, hour);
        }
        assert_eq!(leases.shared(now, hour), None);
    }
}
