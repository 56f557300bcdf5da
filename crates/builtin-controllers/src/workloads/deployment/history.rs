//! Old ReplicaSets that are deleted.

use kube::{ResourceExt, api::DeleteParams};
use kubewright_client::ErrorExt;
use kubewright_controller::Result;

use super::{revisions::revision_of, rollout::Rollout};
use crate::workloads::objects::ReplicaSet;

impl Rollout<'_> {
    /// Deletes the old ReplicaSets with the lowest revisions beyond the limit of the history, unless they have pods.
    pub(super) async fn clean_up(&self) -> Result<()> {
        let Some(limit) = self.deployment.history_limit() else {
            return Ok(());
        };
        let old = self.old.iter().map(|set| &set.object);
        let mut old: Vec<&ReplicaSet> = old
            .filter(|set| set.metadata.deletion_timestamp.is_none())
            .collect();
        let surplus = old
            .len()
            .saturating_sub(usize::try_from(limit).unwrap_or(0));
        old.sort_by_key(|set| revision_of(set).unwrap_or(0));
        let is_empty = |set: &&&ReplicaSet| {
            set.status.replicas == 0
                && set.replicas() == 0
                && set.metadata.generation.unwrap_or(0) <= set.status.observed_generation
        };
        for set in old.iter().take(surplus).filter(is_empty) {
            let namespace = set.namespace().unwrap_or_default();
            let sets = self.context.client().api::<ReplicaSet>(&namespace);
            match sets.delete(&set.name_any(), &DeleteParams::default()).await {
                Err(error) if !error.is_not_found() => return Err(error.into()),
                _ => {}
            }
        }
        Ok(())
    }
}
