//! [`Control`]: writes of the pods and claims of a StatefulSet, with events about the set.

use std::{fmt::Display, sync::Arc};

use kube::{
    ResourceExt,
    api::{DeleteParams, PostParams},
};
use kubewright_client::ErrorExt;
use kubewright_controller::{
    Context, Error, Result,
    events::{EventType, Recorder},
};
use serde_json::{Value, json};

use super::{
    identity::{claim_name, identity_matches, set_identity, set_storage, storage_matches},
    replica::Replica,
    retention::{Owners, has_stale},
};
use crate::workloads::{
    objects::{Current, Draft, PersistentVolumeClaim, Pod, Retention, StatefulSet},
    pods::message_of,
};

/// Writes pods and claims of one set.
pub(super) struct Control<'a> {
    pub(super) context: &'a Context<(), Recorder>,
    pub(super) set: &'a StatefulSet,
}

impl Control<'_> {
    /// Creates a pod after its claims.
    pub(super) async fn create(&self, replica: &Replica) -> Result<()> {
        let name = replica.pod.name_any();
        if let Err(error) = self.create_claims(replica).await {
            self.pod_event("Create", &name, Some(&error));
            return Err(error);
        }
        let created = self.context.client().create(&replica.draft(self.set)).await;
        let created = match created {
            Err(error) if error.is_already_exists() => return Err(error.into()),
            Err(error) => {
                let message = message_of(&error);
                self.pod_event("Create", &name, Some(&message));
                return Err(error.into());
            }
            Ok(created) => created,
        };
        let mut pod = (*replica.pod).clone();
        pod.metadata.uid = created.metadata.uid;
        if let Err(error) = self.set_owners(replica.ordinal, &pod).await {
            self.pod_event("Update", &name, Some(&error));
            return Err(error);
        }
        self.pod_event::<String>("Create", &name, None);
        Ok(())
    }

    /// Deletes a pod. A missing pod is not an error.
    pub(super) async fn delete(&self, pod: &Pod) -> Result<()> {
        let pods = self.context.client().api::<Pod>(&self.namespace());
        let name = pod.name_any();
        match pods.delete(&name, &DeleteParams::default()).await {
            Err(error) if !error.is_not_found() => {
                let message = text_of(&error);
                self.pod_event("Delete", &name, Some(&message));
                Err(error.into())
            }
            _ => {
                self.pod_event::<String>("Delete", &name, None);
                Ok(())
            }
        }
    }

    /// Corrects the labels, the volumes and the owners of the claims of a pod.
    pub(super) async fn correct(&self, replica: &Replica) -> Result<()> {
        let pod = &replica.pod;
        let identity = identity_matches(self.set, pod);
        let storage = storage_matches(self.set, pod);
        let owners = self.owners_are_right(replica.ordinal, pod).await?;
        if identity && storage && owners {
            return Ok(());
        }
        let corrected = self.write_corrected(replica, storage).await;
        let message = corrected.as_ref().err().map(ToString::to_string);
        self.pod_event("Update", &pod.name_any(), message.as_ref());
        corrected
    }

    async fn write_corrected(&self, replica: &Replica, storage: bool) -> Result<()> {
        if !storage {
            self.create_claims(replica).await?;
        }
        self.set_owners(replica.ordinal, &replica.pod).await?;
        let Some(stored) = &replica.stored else {
            return Ok(());
        };
        let Current { object, mut body } = Current::<Pod>::of(stored)?;
        set_identity(self.set, replica.ordinal, &mut body);
        set_storage(self.set, replica.ordinal, &mut body);
        let draft = Draft::<Pod>::new(object.metadata, body);
        self.context.client().update(&draft).await?;
        Ok(())
    }

    /// Creates the claims of a pod that do not exist.
    pub(super) async fn create_claims(&self, replica: &Replica) -> Result<()> {
        let (namespace, pod) = (self.namespace(), replica.pod.name_any());
        let mut failures = Vec::new();
        for template in &self.set.spec.volume_claim_templates {
            let name = claim_name(self.set, template, replica.ordinal);
            match self.claim(&name).await? {
                Some(claim) if claim.metadata.deletion_timestamp.is_some() => {
                    failures.push(format!("pvc {name} is being deleted"));
                }
                Some(_) => {}
                None => {
                    let claims = self.context.client().api(&namespace);
                    let claim = self.new_claim(template, &name);
                    let created = claims.create(&PostParams::default(), &claim).await;
                    let error = created.err();
                    let exists = error.as_ref().is_some_and(ErrorExt::is_already_exists);
                    let message = error.map(|error| text_of(&error));
                    if !exists {
                        self.claim_event(&name, &pod, message.as_ref());
                    }
                    if let Some(message) = message {
                        failures.push(format!("failed to create PVC {name}: {message}"));
                    }
                }
            }
        }
        match failures.as_slice() {
            [] => Ok(()),
            failures => {
                let text = kubewright_machinery::go::aggregate(failures);
                Err(Error::message(text).into())
            }
        }
    }

    fn new_claim(&self, template: &Value, name: &str) -> Draft<PersistentVolumeClaim> {
        let mut claim = template.clone();
        claim["metadata"]["name"] = json!(name);
        claim["metadata"]["namespace"] = json!(self.namespace());
        let labels = self.set.spec.selector["matchLabels"].as_object();
        for (key, value) in labels.into_iter().flatten() {
            claim["metadata"]["labels"][key] = value.clone();
        }
        Draft::new(Default::default(), claim)
    }

    /// Reports whether a claim belongs to a former pod of that name and is about to be deleted.
    pub(super) async fn has_stale_claim(&self, replica: &Replica) -> Result<bool> {
        let policy = &self.set.spec.persistent_volume_claim_retention_policy;
        if policy.when_scaled == Retention::Retain {
            return Ok(false);
        }
        for claim in self.claims(replica.ordinal).await? {
            if has_stale(&claim.object, &*replica.pod) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reports whether the claims of a pod have the owners that the policy asks for.
    pub(super) async fn owners_are_right(&self, ordinal: i32, pod: &Pod) -> Result<bool> {
        let owners = Owners { set: self.set, pod };
        let claims = self.claims(ordinal).await?;
        Ok(claims.iter().all(|claim| owners.are_right(&claim.object)))
    }

    /// Corrects the owners of the claims of a pod if they are wrong.
    pub(super) async fn fix_owners(&self, replica: &Replica) -> Result<()> {
        match self.owners_are_right(replica.ordinal, &replica.pod).await? {
            true => Ok(()),
            false => self.set_owners(replica.ordinal, &replica.pod).await,
        }
    }

    /// Gives the claims of a pod the owners that the policy asks for.
    pub(super) async fn set_owners(&self, ordinal: i32, pod: &Pod) -> Result<()> {
        let owners = Owners { set: self.set, pod };
        for Current { object, mut body } in self.claims(ordinal).await? {
            if owners.has_other_controller(&object) {
                let message = format!(
                    "PersistentVolumeClaim {} has a conflicting OwnerReference that acts as a manging controller, \
                     the retention policy is ignored for this claim",
                    object.name_any()
                );
                let recorder = self.context.state();
                recorder.event(
                    self.set,
                    EventType::Warning,
                    "ConflictingController",
                    message,
                );
            }
            if !owners.are_right(&object) {
                body["metadata"]["ownerReferences"] = json!(owners.corrected(&object));
                let draft = Draft::<PersistentVolumeClaim>::new(object.metadata, body);
                self.context.client().update(&draft).await?;
            }
        }
        Ok(())
    }

    /// Returns the claims of an ordinal that exist.
    async fn claims(&self, ordinal: i32) -> Result<Vec<Current<PersistentVolumeClaim>>> {
        let templates = &self.set.spec.volume_claim_templates;
        let mut claims = Vec::with_capacity(templates.len());
        if templates.is_empty() {
            return Ok(claims);
        }
        let cache = self.context.client();
        let cache = cache.current_informer::<PersistentVolumeClaim>().await?;
        for template in templates {
            let name = claim_name(self.set, template, ordinal);
            let key = format!("{}/{name}", self.namespace());
            if let Some(stored) = cache.indexer().get(&key) {
                claims.push(Current::of(&stored)?);
            }
        }
        Ok(claims)
    }

    async fn claim(&self, name: &str) -> Result<Option<Arc<PersistentVolumeClaim>>> {
        let client = self.context.client();
        Ok(client.get(&self.namespace(), name).await?)
    }

    fn namespace(&self) -> String {
        self.set.namespace().unwrap_or_default()
    }

    fn pod_event<E: Display>(&self, verb: &str, pod: &str, error: Option<&E>) {
        let set = self.set.name_any();
        let (type_, outcome, text) = match error {
            None => (EventType::Normal, "Successful", "successful".to_owned()),
            Some(error) => (
                EventType::Warning,
                "Failed",
                format!("failed error: {error}"),
            ),
        };
        let message = format!("{verb} Pod {pod} in StatefulSet {set} {text}");
        let reason = format!("{outcome}{verb}");
        self.context
            .state()
            .event(self.set, type_, &reason, message);
    }

    fn claim_event(&self, claim: &str, pod: &str, error: Option<&String>) {
        let set = self.set.name_any();
        let (type_, reason, message) = match error {
            None => (
                EventType::Normal,
                "SuccessfulCreate",
                format!("Create Claim {claim} Pod {pod} in StatefulSet {set} success"),
            ),
            Some(error) => (
                EventType::Warning,
                "FailedCreate",
                format!(
                    "Create Claim {claim} for Pod {pod} in StatefulSet {set} failed error: {error}"
                ),
            ),
        };
        self.context.state().event(self.set, type_, reason, message);
    }
}

/// Returns the message of the server's answer.
fn text_of(error: &kube::Error) -> String {
    match error.api_status() {
        Some(status) => status.message.clone(),
        None => error.to_string(),
    }
}
