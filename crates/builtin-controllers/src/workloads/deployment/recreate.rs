//! The strategy `Recreate`: all old pods are gone before the first new one is created.

use std::sync::Arc;

use kube::Resource;
use kubewright_controller::{Action, Result};

use super::{
    rollout::{Force, Rollout, scale_set},
    sets::Create,
};
use crate::workloads::{
    objects::{Pod, ReplicaSet},
    pods::owned_by,
};

impl Rollout<'_> {
    pub(super) async fn recreate(&mut self) -> Result<Action> {
        self.sync_new_set(Create::No).await?;
        let mut scaled = false;
        for set in &mut self.old {
            scaled |= scale_set(self.context, &self.deployment, set, 0, Force::No).await?;
        }
        if scaled || self.old_pods_run().await? {
            return self.sync_rollout_status().await;
        }
        if self.new.is_none() {
            self.sync_new_set(Create::Yes).await?;
        }
        if let Some(set) = &mut self.new {
            let wanted = self.deployment.replicas();
            scale_set(self.context, &self.deployment, set, wanted, Force::No).await?;
        }
        if self.is_complete(&self.deployment.status) {
            self.clean_up().await?;
        }
        self.sync_rollout_status().await
    }

    /// Reports whether pods of old ReplicaSets have not ended. Those that are being deleted run until they are gone.
    async fn old_pods_run(&self) -> Result<bool> {
        for set in &self.old {
            if set.object.status.replicas > 0 {
                return Ok(true);
            }
            let uid = set.object.metadata.uid.as_deref().unwrap_or_default();
            let client = self.context.client();
            for pod in owned_by::<Pod>(client, &ReplicaSet::kind(&()), uid).await? {
                let pod: Arc<Pod> = pod.decode()?;
                if !pod.is_terminal() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}
