//! The strategy `RollingUpdate`: the new ReplicaSet grows and the old ones shrink, one step in a pass.

use kubewright_controller::{Action, Result};

use super::{
    rollout::{Force, Rollout, Scaled, scale_set},
    sets::Create,
};

impl Rollout<'_> {
    pub(super) async fn roll(&mut self) -> Result<Action> {
        self.sync_new_set(Create::Yes).await?;
        if self.grow_new().await? || self.shrink_old().await? {
            return self.sync_rollout_status().await;
        }
        if self.is_complete(&self.deployment.status) {
            self.clean_up().await?;
        }
        self.sync_rollout_status().await
    }

    /// Scales the new ReplicaSet up as far as the surge allows, or down if it is too large.
    async fn grow_new(&mut self) -> Result<Scaled> {
        let wanted = self.deployment.replicas();
        let Some(now) = self.new.as_ref().map(|set| set.object.replicas()) else {
            return Ok(false);
        };
        let size = match now > wanted {
            true => wanted,
            false => self.new_size(now),
        };
        let Some(set) = &mut self.new else {
            return Ok(false);
        };
        scale_set(self.context, &self.deployment, set, size, Force::No).await
    }

    /// Scales old ReplicaSets down: first by their pods that are not available, then as far as enough pods stay available.
    async fn shrink_old(&mut self) -> Result<Scaled> {
        let Some(new) = self.new.as_ref().map(|set| &set.object) else {
            return Ok(false);
        };
        let is_active = self.old.iter().any(|set| set.object.replicas() > 0);
        let minimum = self.deployment.replicas() - self.deployment.max_unavailable();
        let unavailable = new.replicas() - new.status.available_replicas;
        let budget = self.desired() - minimum - unavailable;
        if !is_active || budget <= 0 {
            return Ok(false);
        }
        let mut removed = 0;
        for set in &mut self.old {
            let missing = set.object.replicas() - set.object.status.available_replicas;
            let count = missing.min(budget - removed);
            if set.object.replicas() == 0 || count <= 0 {
                continue;
            }
            let size = set.object.replicas() - count;
            scale_set(self.context, &self.deployment, set, size, Force::No).await?;
            removed += count;
        }
        // Sets that are not active have no available pods, or lose them anyway.
        let old = self.old.iter().filter(|set| set.object.replicas() > 0);
        let old: i32 = old.map(|set| set.object.status.available_replicas).sum();
        let new = self
            .new
            .iter()
            .map(|set| set.object.status.available_replicas);
        let mut surplus = old + new.sum::<i32>() - minimum;
        for set in &mut self.old {
            let count = set.object.replicas().min(surplus);
            if count <= 0 {
                continue;
            }
            let size = set.object.replicas() - count;
            scale_set(self.context, &self.deployment, set, size, Force::No).await?;
            surplus -= count;
            removed += count;
        }
        Ok(removed > 0)
    }
}
