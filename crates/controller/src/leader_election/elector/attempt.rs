//! One attempt to acquire or renew the Lease, and its release.

use std::fmt;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use tokio::{sync::watch, time::Instant};

use super::{LeaderElector, Leadership};
use crate::leader_election::record::{self, Observed};

/// The outcome of an attempt.
#[derive(Debug, PartialEq)]
pub(super) enum Attempt {
    /// This candidate holds the Lease.
    Held,
    /// Another holds it.
    Taken,
    /// Unknown: the server rejected the request or did not respond.
    Failed,
}

impl LeaderElector {
    pub(super) async fn acquire_or_renew(&mut self) -> Attempt {
        self.trying = true;
        let attempt = self.attempt().await;
        self.trying = false;
        attempt
    }

    /// Makes one attempt.
    async fn attempt(&mut self) -> Attempt {
        let now = Instant::now();
        let leading = self.fence.held().is_open();
        let identity = self.config.identity.clone();
        if let (Some(observed), Some(lease)) = (&self.observed, &self.lease)
            && observed.holder() == identity
            && observed.is_held(now)
        {
            let spec = self.next(Some(observed.spec()));
            match self.lock.update(lease, spec).await {
                Ok(lease) => return self.holds(lease),
                Err(e) => {
                    tracing::debug!(lease = self.config.name, error = %e, "cannot renew without reading the lease")
                }
            }
        }
        let lease = match self.lock.get().await {
            Ok(Some(lease)) => lease,
            Ok(None) => {
                return match self.lock.create(self.next(None)).await {
                    Ok(lease) => self.holds(lease),
                    Err(e) => self.failed("create", &e),
                };
            }
            Err(e) => return self.failed("read", &e),
        };
        let spec = lease.spec.clone().unwrap_or_default();
        note(&mut self.observed, &self.leadership, &spec);
        self.lease = Some(lease.clone());
        let holder = record::holder(&spec);
        if !holder.is_empty() && holder != identity {
            let held = self
                .observed
                .as_ref()
                .is_some_and(|o| o.is_held(Instant::now()));
            // A leader that finds another holder was deposed and does not fight.
            if held || leading {
                return Attempt::Taken;
            }
        }
        if holder == identity
            && let Some(metrics) = &self.metrics
        {
            metrics.slow_path(&self.config.name);
        }
        match self.lock.update(&lease, self.next(Some(&spec))).await {
            Ok(lease) => self.holds(lease),
            Err(e) => self.failed("update", &e),
        }
    }

    /// Empties the record if it is still ours. If that fails within the deadline, the Lease expires by itself.
    pub(super) async fn release(&mut self) {
        let give_back = async {
            loop {
                let lease = match self.lock.get().await {
                    Ok(Some(lease)) => lease,
                    Ok(None) => return,
                    Err(e) => {
                        tracing::warn!(lease = self.config.name, error = %e, "cannot release the lease");
                        return;
                    }
                };
                let spec = lease.spec.clone().unwrap_or_default();
                if record::holder(&spec) != self.config.identity {
                    return;
                }
                let free = record::released(&spec, (self.clock)());
                match self.lock.update(&lease, free).await {
                    Ok(_) => return,
                    Err(e) if e.is_conflict() => {}
                    Err(e) => {
                        tracing::warn!(lease = self.config.name, error = %e, "cannot release the lease");
                        return;
                    }
                }
            }
        };
        // After the deadline the Lease expires by itself.
        let _ = tokio::time::timeout(self.config.renew_deadline, give_back).await;
        let holder = String::new();
        self.leadership.send_if_modified(|now| {
            let ours = now.holder == self.config.identity;
            if ours {
                now.holder = holder;
            }
            ours
        });
    }

    fn next(&self, before: Option<&LeaseSpec>) -> LeaseSpec {
        let duration = self.config.lease_duration;
        record::held(before, &self.config.identity, duration, (self.clock)())
    }

    fn holds(&mut self, lease: Lease) -> Attempt {
        let spec = lease.spec.clone().unwrap_or_default();
        note(&mut self.observed, &self.leadership, &spec);
        self.lease = Some(lease);
        Attempt::Held
    }

    fn failed(&self, what: &str, error: &dyn fmt::Display) -> Attempt {
        tracing::warn!(lease = self.config.name, "cannot {what} the lease: {error}");
        Attempt::Failed
    }
}

/// Observes a record, and reports its holder.
pub(super) fn note(
    observed: &mut Option<Observed>,
    leadership: &watch::Sender<Leadership>,
    spec: &LeaseSpec,
) {
    let now = Instant::now();
    match observed {
        Some(observed) => {
            observed.see(spec, now);
        }
        None => *observed = Some(Observed::new(spec.clone(), now)),
    }
    let holder = record::holder(spec);
    leadership.send_if_modified(|now| {
        let changed = now.holder != holder;
        if changed {
            now.holder = holder.to_owned();
        }
        changed
    });
}
