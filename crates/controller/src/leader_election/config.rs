//! [`ElectionConfig`]: the settings of a leader election.

use std::{collections::BTreeMap, time::Duration};

use thiserror::Error;
use uuid::Uuid;

/// The jitter of retries, as a multiple of the retry period.
pub(super) const JITTER_FACTOR: f64 = 1.2;

/// The settings of a leader election.
///
/// ```
/// use std::time::Duration;
/// use kubewright_controller::leader_election::ElectionConfig;
///
/// let seconds = Duration::from_secs;
/// let config = ElectionConfig::new("shop-operator", "shop").times(seconds(30), seconds(20), seconds(5));
/// assert!(config.validate().is_ok());
/// assert!(config.times(seconds(10), seconds(20), seconds(5)).validate().is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ElectionConfig {
    /// The name of the Lease. Candidates with the same name and namespace elect one leader.
    pub name: String,
    /// The namespace of the Lease.
    pub namespace: String,
    /// The identity of the candidate, unique among all candidates.
    pub identity: String,
    /// The time that other candidates wait after the last change of the record before they take the Lease. In whole seconds.
    pub lease_duration: Duration,
    /// The time for which the leader tries to renew before it gives up.
    pub renew_deadline: Duration,
    /// The wait between attempts.
    pub retry_period: Duration,
    /// True to release the Lease at the end, so that the next leader need not wait.
    pub release_on_cancel: bool,
    /// True to watch the Lease, so that changes are seen at once. Needs the verb `watch`; otherwise the Lease is
    /// polled.
    pub watch: bool,
    /// Labels of the Lease. Existing ones are kept.
    pub labels: BTreeMap<String, String>,
}

/// An invalid [`ElectionConfig`].
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ElectionConfigError {
    /// The leader could continue after others take over.
    #[error("leaseDuration must be greater than renewDeadline")]
    LeaseDuration,
    /// There would be no second attempt to renew.
    #[error("renewDeadline must be greater than retryPeriod*JitterFactor")]
    RenewDeadline,
    /// The duration of a Lease is a whole number of seconds, at least one.
    #[error("leaseDuration must be at least one second")]
    NoLeaseDuration,
    /// There would be no time to renew.
    #[error("renewDeadline must be greater than zero")]
    NoRenewDeadline,
    /// Attempts would follow each other without a wait.
    #[error("retryPeriod must be greater than zero")]
    NoRetryPeriod,
    /// The Lease has no name.
    #[error("Lock name is empty")]
    NoName,
    /// The Lease has no namespace.
    #[error("Lock namespace is empty")]
    NoNamespace,
    /// The candidate has no identity.
    #[error("Lock identity is empty")]
    NoIdentity,
}

/// Returns a unique identity for this process: `hostname_uuid`.
///
/// ```
/// use kubewright_controller::leader_election::default_identity;
///
/// assert_ne!(default_identity(), default_identity());
/// ```
pub fn default_identity() -> String {
    let host = hostname::get().unwrap_or_default();
    format!("{}_{}", host.to_string_lossy(), Uuid::new_v4())
}

impl ElectionConfig {
    /// Creates settings with client-go's timeouts of 15 s, 10 s and 2 s, watching the Lease and releasing it at the
    /// end.
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

    /// Sets the identity of the candidate.
    #[must_use]
    pub fn identity(mut self, identity: impl Into<String>) -> Self {
        self.identity = identity.into();
        self
    }

    /// Sets the lease duration, the renew deadline and the retry period.
    #[must_use]
    pub fn times(mut self, lease: Duration, renew_deadline: Duration, retry: Duration) -> Self {
        self.lease_duration = lease;
        self.renew_deadline = renew_deadline;
        self.retry_period = retry;
        self
    }

    /// Validates the settings.
    ///
    /// A Go holder may lead until the retry period *and* the renew deadline have passed since its last renewal, so its
    /// lease should be longer than both together. This implementation counts both in the deadline and needs no more
    /// than is checked here.
    ///
    /// # Errors
    ///
    /// Fails if these settings could lead to two leaders at once.
    pub fn validate(&self) -> Result<(), ElectionConfigError> {
        // Others wait for the duration in the record.
        if Duration::from_secs(self.lease_duration.as_secs()) <= self.renew_deadline {
            return Err(ElectionConfigError::LeaseDuration);
        }
        if self.renew_deadline <= self.retry_period.mul_f64(JITTER_FACTOR) {
            return Err(ElectionConfigError::RenewDeadline);
        }
        if self.lease_duration < Duration::from_secs(1) {
            return Err(ElectionConfigError::NoLeaseDuration);
        }
        if self.renew_deadline.is_zero() {
            return Err(ElectionConfigError::NoRenewDeadline);
        }
        if self.retry_period.is_zero() {
            return Err(ElectionConfigError::NoRetryPeriod);
        }
        if self.name.is_empty() {
            return Err(ElectionConfigError::NoName);
        }
        if self.namespace.is_empty() {
            return Err(ElectionConfigError::NoNamespace);
        }
        if self.identity.is_empty() {
            return Err(ElectionConfigError::NoIdentity);
        }
        Ok(())
    }

    /// Returns the duration as it appears in the record, which others wait for.
    pub(super) fn recorded_duration(&self) -> Duration {
        Duration::from_secs(self.lease_duration.as_secs())
    }

    /// Returns the timeout of one request.
    pub(super) fn request_timeout(&self) -> Duration {
        (self.renew_deadline / 2).max(Duration::from_secs(1))
    }

    /// Returns the wait before the next attempt of a candidate.
    pub(super) fn candidate_pause(&self) -> Duration {
        self.retry_period
            .mul_f64(1.0 + rand::random::<f64>() * JITTER_FACTOR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(lease: u64, renew: u64, retry: u64) -> Result<(), ElectionConfigError> {
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
            Err(ElectionConfigError::LeaseDuration)
        );
        assert_eq!(
            times(15_000, 2_400, 2_000),
            Err(ElectionConfigError::RenewDeadline)
        );
        assert_eq!(times(15_000, 2_401, 2_000), Ok(()));
        assert_eq!(times(0, 0, 0), Err(ElectionConfigError::LeaseDuration));
        assert_eq!(times(1_000, 0, 0), Err(ElectionConfigError::RenewDeadline));
        assert_eq!(
            times(1_000, 500, 0),
            Err(ElectionConfigError::NoRetryPeriod)
        );
    }

    #[test]
    fn a_fraction_of_a_second_does_not_count_since_the_record_has_no_place_for_it() {
        assert_eq!(
            times(1_900, 1_500, 100),
            Err(ElectionConfigError::LeaseDuration)
        );
        assert_eq!(times(2_900, 1_500, 100), Ok(()));
    }

    #[test]
    fn a_candidate_without_a_name_is_refused() {
        let config = ElectionConfig::new("a", "b").identity("");
        assert_eq!(config.validate(), Err(ElectionConfigError::NoIdentity));
        let config = ElectionConfig::new("", "b");
        assert_eq!(config.validate(), Err(ElectionConfigError::NoName));
        let config = ElectionConfig::new("a", "");
        assert_eq!(config.validate(), Err(ElectionConfigError::NoNamespace));
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
