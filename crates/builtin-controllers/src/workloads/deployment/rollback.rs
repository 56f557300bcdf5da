//! The annotation by which old clients ask for a rollback. kubectl patches the template itself.

use kube::ResourceExt;
use kubewright_controller::{Action, Result, events::EventType};

use super::{
    revisions::{ROLLBACK_TO, is_own, last_revision, revision_of},
    rollout::Rollout,
    sets::Create,
    sync::HASH,
};
use crate::workloads::objects::{Deployment, ReplicaSet};

/// Returns the revision to roll a Deployment back to; 0 for the last one.
pub(super) fn requested(deployment: &Deployment) -> Option<i64> {
    deployment.annotation(ROLLBACK_TO)?.parse().ok()
}

impl Rollout<'_> {
    pub(super) async fn roll_back(&mut self) -> Result<Action> {
        self.sync_new_set(Create::Yes).await?;
        let revision = match requested(&self.deployment) {
            Some(0) | None => last_revision(self.sets()),
            Some(revision) => revision,
        };
        let name = self.deployment.name_any();
        let mut sets = self.sets();
        let found = sets.find(|set| revision != 0 && revision_of(set) == Some(revision));
        let found: Option<ReplicaSet> = found.cloned();
        drop(sets);
        let event = match found {
            None => {
                let message = match revision {
                    0 => "Unable to find last revision.",
                    _ => "Unable to find the revision to rollback to.",
                };
                let reason = "DeploymentRollbackRevisionNotFound";
                (EventType::Warning, reason, message.to_owned())
            }
            Some(set) if self.has_template_of(&set) => (
                EventType::Warning,
                "DeploymentRollbackTemplateUnchanged",
                format!(
                    "The rollback revision contains the same template as current deployment {name:?}"
                ),
            ),
            Some(set) => {
                self.take_template_of(&set);
                let message = format!("Rolled back deployment {name:?} to revision {revision}");
                (EventType::Normal, "DeploymentRollback", message)
            }
        };
        if let Some(annotations) = &mut self.deployment.metadata.annotations {
            annotations.remove(ROLLBACK_TO);
        }
        let (type_, reason, message) = event;
        if type_ == EventType::Warning {
            self.event(type_, reason, message);
            self.write().await?;
        } else {
            self.write().await?;
            self.event(type_, reason, message);
        }
        Ok(Action::done())
    }

    fn has_template_of(&self, set: &ReplicaSet) -> bool {
        let template = &self.deployment.spec.template;
        template.equals_but_for_label(&set.spec.template, HASH)
    }

    /// Takes the template and the annotations of a ReplicaSet.
    fn take_template_of(&mut self, set: &ReplicaSet) {
        self.deployment.spec.template = set.spec.template.without_label(HASH);
        let annotations = self.deployment.metadata.annotations.get_or_insert_default();
        annotations.retain(|name, _| is_own(name));
        for (name, value) in set.metadata.annotations.iter().flatten() {
            if !is_own(name) {
                annotations.insert(name.clone(), value.clone());
            }
        }
    }
}
