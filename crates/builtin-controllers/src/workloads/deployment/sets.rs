//! Finding and creating the new ReplicaSet: the one with the template of the Deployment.

use kube::ResourceExt;
use kubewright_client::{Error, ErrorExt};
use kubewright_controller::{Result, events::EventType, owner::is_controlled_by};
use kubewright_informer::Key;
use serde_json::json;

use super::{
    limits::{Rounding, scaled},
    progress::PROGRESSING,
    revisions::{REVISION, annotate, max_revision, set_replica_annotations},
    rollout::{Rollout, write_set},
    sync::HASH,
};
use crate::{
    namespace::is_terminating_cause,
    workloads::{
        hash,
        objects::{Condition, Current, Draft, ReplicaSet, controller_reference},
        pods::message_of,
    },
};

/// Whether a new ReplicaSet is created if there is none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Create {
    Yes,
    No,
}

/// The maximum length of a name.
const NAME_LENGTH: usize = 253;

impl Rollout<'_> {
    /// Takes the ReplicaSets, oldest first. The oldest with the template of the Deployment is the new one.
    pub(super) fn assign(&mut self, mut sets: Vec<Current<ReplicaSet>>) {
        let template = &self.deployment.spec.template;
        let is_new = |set: &Current<ReplicaSet>| {
            let own = &set.object.spec.template;
            own.equals_but_for_label(template, HASH)
        };
        let position = sets.iter().position(is_new);
        self.new = position.map(|position| sets.remove(position));
        self.old = sets;
    }

    /// Brings the annotations and the revision of the new ReplicaSet up to date; creates it, if so asked and there is none.
    pub(super) async fn sync_new_set(&mut self, create: Create) -> Result<()> {
        let old = self.old.iter().map(|set| &set.object);
        let revision = max_revision(old) + 1;
        let Some(set) = &mut self.new else {
            return match create {
                Create::Yes => self.create_set(revision).await,
                Create::No => Ok(()),
            };
        };
        let changed = annotate(&self.deployment, &mut set.object, revision);
        let wait = self.deployment.spec.min_ready_seconds;
        if changed || set.object.spec.min_ready_seconds != wait {
            set.object.spec.min_ready_seconds = wait;
            return write_set(self.context, set).await;
        }
        let (name, revision) = (set.object.name_any(), set.object.annotation(REVISION));
        let revision = revision.unwrap_or_default().to_owned();
        let mut needs_update = self.set_revision(revision);
        let is_known = Condition::find(&self.deployment.status.conditions, PROGRESSING).is_some();
        if self.deployment.progress_deadline().is_some() && !is_known {
            let message = format!("Found new replica set {name:?}");
            self.set_progressing("True", "FoundNewReplicaSet", message);
            needs_update = true;
        }
        if needs_update {
            self.write_status().await?;
        }
        Ok(())
    }

    async fn create_set(&mut self, revision: i64) -> Result<()> {
        let mut set = self.new_set(revision);
        let name = set.object.name_any();
        let size = set.object.replicas();
        let draft = Draft::<ReplicaSet>::new(set.object.metadata.clone(), set.body.clone());
        let is_created = match self.context.client().create(&draft).await {
            Ok(created) => {
                set.body["metadata"]["resourceVersion"] = json!(created.metadata.resource_version);
                set.object.metadata = created.metadata;
                self.new = Some(set);
                true
            }
            Err(error) if error.is_already_exists() => {
                self.new = Some(self.existing(&name, error).await?);
                false
            }
            Err(error) if error.api_status().is_some_and(is_terminating_cause) => {
                return Err(error.into());
            }
            Err(error) => {
                let cause = message_of(&error);
                let message = format!("Failed to create new replica set {name:?}: {cause}");
                if self.deployment.progress_deadline().is_some() {
                    self.set_progressing("False", "ReplicaSetCreateError", message.clone());
                    // The failure to create it is the one to report.
                    if let Err(error) = self.write_status().await {
                        tracing::debug!(%error, "the status was not written");
                    }
                }
                self.event(EventType::Warning, "ReplicaSetCreateError", message);
                return Err(error.into());
            }
        };
        if is_created && size > 0 {
            let message = format!("Scaled up replica set {name} from 0 to {size}");
            self.event(EventType::Normal, "ScalingReplicaSet", message);
        }
        let mut needs_update = self.set_revision(revision.to_string());
        if is_created && self.deployment.progress_deadline().is_some() {
            let message = format!("Created new replica set {name:?}");
            self.set_progressing("True", "NewReplicaSetCreated", message);
            needs_update = true;
        }
        if needs_update {
            self.write_status().await?;
        }
        Ok(())
    }

    /// Returns the ReplicaSet to create.
    fn new_set(&self, revision: i64) -> Current<ReplicaSet> {
        let deployment = &self.deployment;
        let template = &deployment.spec.template;
        let hash = hash::of_template(&template.0, deployment.status.collision_count);
        let template = template.with_label(HASH, &hash);
        let mut selector = deployment.spec.selector.clone();
        selector["matchLabels"][HASH] = json!(hash);
        let mut object = ReplicaSet::default();
        object.metadata.name = Some(name_of(&deployment.name_any(), &hash));
        object.metadata.namespace = deployment.namespace();
        object.metadata.labels = Some(template.labels());
        object.metadata.owner_references = Some(vec![controller_reference(deployment)]);
        object.spec.replicas = Some(self.new_size(0));
        object.spec.min_ready_seconds = deployment.spec.min_ready_seconds;
        annotate(deployment, &mut object, revision);
        let desired = deployment.replicas();
        set_replica_annotations(&mut object, desired, desired + deployment.max_surge());
        let body = json!({
            "metadata": object.metadata,
            "spec": {
                "replicas": object.spec.replicas,
                "minReadySeconds": object.spec.min_ready_seconds,
                "selector": selector,
                "template": template,
            },
        });
        object.spec.selector = selector;
        object.spec.template = template;
        Current { object, body }
    }

    /// Returns the size of the new ReplicaSet, which has a size now: in a rolling update as much as the surge allows.
    pub(super) fn new_size(&self, now: i32) -> i32 {
        let deployment = &self.deployment;
        let wanted = deployment.replicas();
        if !deployment.is_rolling() {
            return wanted;
        }
        let surge = &deployment.spec.strategy.rolling_update.max_surge;
        let most = wanted + scaled(surge, wanted, Rounding::Up);
        match most - self.desired() {
            room if room <= 0 => now,
            room => now + room.min(wanted - now),
        }
    }

    /// Returns the ReplicaSet of that name if it is the one to create. Otherwise the next attempt gets another hash.
    async fn existing(&mut self, name: &str, error: Error) -> Result<Current<ReplicaSet>> {
        let key = Key::new(self.deployment.metadata.namespace.as_deref(), name);
        let client = self.context.client();
        client.get_key::<ReplicaSet>(&key).await?;
        let cache = client.informer::<ReplicaSet>();
        let Some(stored) = cache.indexer().get(key.as_str()) else {
            return Err(error.into());
        };
        let set = Current::<ReplicaSet>::of(&stored)?;
        let template = &self.deployment.spec.template;
        if is_controlled_by(&set.object, &self.deployment)
            && set
                .object
                .spec
                .template
                .equals_but_for_label(template, HASH)
        {
            return Ok(set);
        }
        let collisions = self.deployment.status.collision_count.unwrap_or(0);
        self.deployment.status.collision_count = Some(collisions + 1);
        self.write_status().await?;
        tracing::info!(
            replica_set = name,
            collisions,
            "the name of a new ReplicaSet is taken"
        );
        Err(error.into())
    }

    /// Sets the revision of the Deployment. Returns whether it changed.
    fn set_revision(&mut self, revision: String) -> bool {
        let annotations = self.deployment.metadata.annotations.get_or_insert_default();
        annotations.insert(REVISION.to_owned(), revision.clone()) != Some(revision)
    }
}

/// Returns the name of a ReplicaSet. That of the Deployment is cut if it is too long.
fn name_of(deployment: &str, hash: &str) -> String {
    let most = NAME_LENGTH - hash.len() - 1;
    format!("{}-{hash}", deployment.get(..most).unwrap_or(deployment))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_cut() {
        assert_eq!(name_of("web", "abc"), "web-abc");
        let name = name_of(&"x".repeat(253), "7887448d46");
        assert_eq!(name.len(), 253);
        assert!(name.ends_with("x-7887448d46"));
    }
}
