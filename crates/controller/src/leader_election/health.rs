//! [`LeaderHealth`]: the health check of a leader.

use std::time::Duration;

use tokio::time::Instant;

use super::{config::ElectionConfig, fence::Fence};
use kubewright_client::BoxError;

use crate::health::Check;

/// Unhealthy if this process leads and its last renewal is older than the lease duration and a tolerance, which means
/// that the elector is stuck. Candidates are healthy.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use std::time::Duration;
/// use kubewright_controller::{health::Checks, leader_election::{ElectionConfig, LeaderElector}};
///
/// let elector = LeaderElector::new(client, ElectionConfig::new("shop", "default")).unwrap();
/// let checks = Checks::new();
/// checks.add("leader", elector.health(Duration::from_secs(20)));
/// assert_eq!(checks.report("leader", "").await.status, 200);
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct LeaderHealth {
    fence: Fence,
    lease: String,
    limit: Duration,
}

impl LeaderHealth {
    pub(super) fn new(fence: Fence, config: &ElectionConfig, tolerance: Duration) -> Self {
        Self {
            fence,
            lease: config.name.clone(),
            limit: config.lease_duration + tolerance,
        }
    }
}

#[async_trait::async_trait]
impl Check for LeaderHealth {
    async fn check(&self) -> Result<(), BoxError> {
        let held = self.fence.held();
        let late = held
            .renewed
            .is_some_and(|at| Instant::now().duration_since(at) > self.limit);
        if held.is_open() && late {
            let lease = &self.lease;
            return Err(format!("failed election to renew leadership on lease {lease}").into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_leader_that_does_not_notice_its_end_is_not_healthy() {
        let config = ElectionConfig::new("shop", "default");
        let fence = Fence::closed();
        let health = LeaderHealth::new(fence.clone(), &config, Duration::from_secs(20));
        assert!(health.check().await.is_ok());
        fence.begin(Instant::now(), config.renew_deadline, config.lease_duration);
        tokio::time::advance(Duration::from_secs(35)).await;
        assert!(health.check().await.is_ok());
        tokio::time::advance(Duration::from_secs(1)).await;
        let error = health.check().await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "failed election to renew leadership on lease shop"
        );
        fence.close();
        assert!(health.check().await.is_ok());
    }
}
