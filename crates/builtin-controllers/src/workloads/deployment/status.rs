//! The status of a Deployment.

use kubewright_controller::{Action, Result};

use super::rollout::Rollout;
use crate::workloads::objects::{Condition, DeploymentStatus, ReplicaSet};

impl Rollout<'_> {
    /// Writes the status if it differs.
    pub(super) async fn sync_status(&mut self) -> Result<Action> {
        let status = self.status();
        if self.deployment.status != status {
            self.deployment.status = status;
            self.write_status().await?;
        }
        Ok(Action::done())
    }

    /// Returns the status that follows from the ReplicaSets.
    pub(super) fn status(&self) -> DeploymentStatus {
        let deployment = &self.deployment;
        let sum = |count: fn(&ReplicaSet) -> i32| self.sets().map(count).sum::<i32>();
        let available = self.available();
        let updated = self.new.as_ref().map(|set| set.object.status.replicas);
        let mut status = DeploymentStatus {
            observed_generation: deployment.metadata.generation.unwrap_or(0),
            replicas: sum(|set| set.status.replicas),
            updated_replicas: updated.unwrap_or(0),
            ready_replicas: sum(|set| set.status.ready_replicas),
            available_replicas: available,
            unavailable_replicas: (self.desired() - available).max(0),
            terminating_replicas: self.terminating(),
            conditions: deployment.status.conditions.clone(),
            collision_count: deployment.status.collision_count,
        };
        let minimum = deployment.replicas() - deployment.max_unavailable();
        let condition = match available >= minimum {
            true => self.condition(
                "Available",
                "True",
                "MinimumReplicasAvailable",
                "Deployment has minimum availability.".into(),
            ),
            false => self.condition(
                "Available",
                "False",
                "MinimumReplicasUnavailable",
                "Deployment does not have minimum availability.".into(),
            ),
        };
        Condition::set(&mut status.conditions, condition);
        status
    }

    /// Returns the number of terminating pods; `None` if a ReplicaSet does not tell.
    fn terminating(&self) -> Option<i32> {
        let mut sum = 0;
        for set in self.sets() {
            match set.status.terminating_replicas {
                Some(count) => sum += count,
                None if set.status.observed_generation == 0 => {}
                None => return None,
            }
        }
        Some(sum)
    }

    /// Reports whether all pods are new and available.
    pub(super) fn is_complete(&self, status: &DeploymentStatus) -> bool {
        let wanted = self.deployment.replicas();
        status.updated_replicas == wanted
            && status.replicas == wanted
            && status.available_replicas == wanted
            && status.observed_generation >= self.deployment.metadata.generation.unwrap_or(0)
    }
}
