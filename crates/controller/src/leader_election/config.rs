//! [`ElectionConfig`]: which Lease, who, and how long.

use std::{collections::BTreeMap, time::Duration};

use thiserror::Error;
use uuid::Uuid;

/// Tries are spread over the retry period and this many times as much.
pub(super) const JITTER_FACTOR: f64 = 1.2;

/// Which Lease is taken, by whom, and for how long.
#[derive(Clone, Debug, PartialEq)]
pub struct ElectionConfig {
    /// The Lease's name. Candidates with the same name and namespace elect one leader.
    pub name: String,
    /// The Lease's namespace.
    pub namespace: String,
    /// Who the candidate is. Must differ between candidates.
    pub identity: String,
    /// How long others wait, after the record last changed, before they take the lease. Counts in whole seconds.
    pub lease_duration: Duration,
    /// How long the leader tries to renew before it gives up.
    pub renew_deadline: Duration,
    /// How long to wait between tries.
    pub retry_period: Duration,
    /// Give the lease back at the end, so that the next leader need not wait.
    pub release_on_cancel: bool,
    /// Watch the Lease, so that a change is seen at once. Needs the verb `watch` on it; without, the Lease is polled.
    pub watch: bool,
    /// Labels to put on the Lease. Others that it has are kept.
    pub labels: BTreeMap<String, String>,
}

/// Why an [`ElectionConfig`] is refused.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ConfigError {
    /// The leader would go on after others take over.
    #[error("leaseDuration must be greater than renewDeadline")]
    LeaseDuration,
    /// There would be no second try.
    #[error("renewDeadline must be greater than retryPeriod*JitterFactor")]
    RenewDeadline,
    /// A Lease's duration is a whole number of seconds, at least one.
    #[error("leaseDuration must be at least one second")]
    NoLeaseDuration,
    /// There would be no time to renew.
    #[error("renewDeadline must be greater than zero")]
    NoRenewDeadline,
    /// Tries would follow each other without a pause.
    #[error("retryPeriod must be greater than zero")]
    NoRetryPeriod,
    /// The Lease has no name.
    #[error("Lock name is empty")]
    NoName,
    /// The Lease has no namespace.
    #[error("Lock namespace is empty")]
    NoNamespace,
    /// The candidate has no name.
    #[error("Lock identity is empty")]
    NoIdentity,
}

/// A name for this process that no other has: `hostname_uuid`.
pub fn default_identity() -> String {
    let host = hostname::get().unwrap_or_default();
    format!("{}_{}", host.to_string_lossy(), Uuid::new_v4())
}

impl ElectionConfig {
    /// The Lease of that name, with the usual times: 15 s, 10 s, 2 s. It is watched, and given back at the end.
    pub fn new(name: impl Into<String>, namespace: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            namespace: namespace.into(),
            identity: default_identity(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            release_on_cancel: true,
            watch: true,
            labels: BTreeMap::new(),
        }
    }

    /// Another name for the candidate.
    #[must_use]
    pub fn identity(mut self, identity: impl Into<String>) -> Self {
        self.identity = identity.into();
        self
    }

    /// Other times.
    #[must_use]
    pub fn times(mut self, lease: Duration, renew_deadline: Duration, retry: Duration) -> Self {
        self.lease_duration = lease;
        self.renew_deadline = renew_deadline;
        self.retry_period = retry;
        self
    }

    /// Whether these times keep two leaders apart.
    ///
    /// A Go holder may lead until the retry period *and* the renew deadline have passed since its last renewal, so its lease
    /// should be longer than both together. Ours counts both in the deadline and needs no more than is checked here.
    pub fn validate(&self) -> Result<(), ConfigError> {
        // What stands in the record is what others wait for.
        if Duration::from_secs(self.lease_duration.as_secs()) <= self.renew_deadline {
            return Err(ConfigError::LeaseDuration);
        }
        if self.renew_deadline <= self.retry_period.mul_f64(JITTER_FACTOR) {
            return Err(ConfigError::RenewDeadline);
        }
        if self.lease_duration < Duration::from_secs(1) {
            return Err(ConfigError::NoLeaseDuration);
        }
        if self.renew_deadline.is_zero() {
            return Err(ConfigError::NoRenewDeadline);
        }
        if self.retry_period.is_zero() {
            return Err(ConfigError::NoRetryPeriod);
        }
        if self.name.is_empty() {
            return Err(ConfigError::NoName);
        }
        if self.namespace.is_empty() {
            return Err(ConfigError::NoNamespace);
        }
        if self.identity.is_empty() {
            return Err(ConfigError::NoIdentity);
        }
        Ok(())
    }

    /// What others wait for: the duration as it stands in the record.
    pub(super) fn recorded_duration(&self) -> Duration {
        Duration::from_secs(self.lease_duration.as_secs())
    }

    /// How long one request may take.
    pub(super) fn request_timeout(&self) -> Duration {
        (self.renew_deadline / 2).max(Duration::from_secs(1))
    }

    /// How long a candidate waits before it tries again.
    pub(super) fn candidate_pause(&self) -> Duration {
        self.retry_period
            .mul_f64(1.0 + rand::random::<f64>() * JITTER_FACTOR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(lease: u64, renew: u64, retry: u64) -> Result<(), ConfigError> {
        let millis = Duration::from_millis;
        ElectionConfig::new("a", "b")
            .times(millis(lease), millis(renew), millis(retry))
            .validate()
    }

    #[test]
    fn the_usual_times_are_those_of_client_go() {
        let config = ElectionConfig::new("a", "b");
        assert_eq!(config.lease_duration, Duration::from_secs(15));
        assert_eq!(config.renew_deadline, Duration::from_secs(10));
        assert_eq!(config.retry_period, Duration::from_secs(2));
        assert_eq!(config.validate(), Ok(()));
        assert_eq!(config.request_timeout(), Duration::from_secs(5));
    }

    #[test]
    fn times_that_allow_two_leaders_are_refused() {
        assert_eq!(
            times(10_000, 10_000, 2_000),
            Err(ConfigError::LeaseDuration)
        );
        assert_eq!(times(15_000, 2_400, 2_000), Err(ConfigError::RenewDeadline));
        assert_eq!(times(15_000, 2_401, 2_000), Ok(()));
        assert_eq!(times(0, 0, 0), Err(ConfigError::LeaseDuration));
        assert_eq!(times(1_000, 0, 0), Err(ConfigError::RenewDeadline));
        assert_eq!(times(1_000, 500, 0), Err(ConfigError::NoRetryPeriod));
    }

    #[test]
    fn a_fraction_of_a_second_does_not_count_since_the_record_has_no_place_for_it() {
        assert_eq!(times(1_900, 1_500, 100), Err(ConfigError::LeaseDuration));
        assert_eq!(times(2_900, 1_500, 100), Ok(()));
    }

    #[test]
    fn a_candidate_without_a_name_is_refused() {
        let config = ElectionConfig::new("a", "b").identity("");
        assert_eq!(config.validate(), Err(ConfigError::NoIdentity));
        let config = ElectionConfig::new("", "b");
        assert_eq!(config.validate(), Err(ConfigError::NoName));
        let config = ElectionConfig::new("a", "");
        assert_eq!(config.validate(), Err(ConfigError::NoNamespace));
    }

    #[test]
    fn identities_differ_and_begin_with_the_host() {
        let (a, b) = (default_identity(), default_identity());
        assert_ne!(a, b);
        let (host, id) = a.rsplit_once('_').unwrap();
        assert!(b.starts_with(host));
        assert!(Uuid::parse_str(id).is_ok());
    }

    #[test]
    fn candidates_spread_their_tries_over_two_to_four_seconds() {
        let config = ElectionConfig::new("a", "b");
        for _ in 0..1000 {
            let pause = config.candidate_pause().as_secs_f64();
            assert!((2.0..4.4).contains(&pause), "{pause}");
        }
    }
}
