//! [`Rollout`]: a Deployment and its ReplicaSets in one pass. Writes update both the server and this copy.

use kube::ResourceExt;
use kubewright_controller::{Context, Result, events::EventType, events::Recorder};
use serde_json::{Value, json};

use super::revisions::{DESIRED_REPLICAS, MAX_REPLICAS, number, set_replica_annotations};
use crate::workloads::objects::{Condition, Current, Deployment, Draft, ReplicaSet, whole_seconds};

/// A Deployment in one pass.
pub(super) struct Rollout<'a> {
    pub(super) context: &'a Context<(), Recorder>,
    pub(super) deployment: Deployment,
    pub(super) body: Value,
    pub(super) old: Vec<Current<ReplicaSet>>,
    pub(super) new: Option<Current<ReplicaSet>>,
}

/// Whether a write changed the size of a ReplicaSet.
pub(super) type Scaled = bool;

impl Rollout<'_> {
    /// Iterates over all ReplicaSets, the new one last.
    pub(super) fn sets(&self) -> impl Iterator<Item = &ReplicaSet> {
        let sets = self.old.iter().chain(&self.new);
        sets.map(|current| &current.object)
    }

    /// Returns the sum of the desired sizes of all ReplicaSets.
    pub(super) fn desired(&self) -> i32 {
        self.sets().map(ReplicaSet::replicas).sum()
    }

    /// Returns the number of available pods of all ReplicaSets.
    pub(super) fn available(&self) -> i32 {
        let available = self.sets().map(|set| set.status.available_replicas);
        available.sum()
    }

    pub(super) fn event(&self, type_: EventType, reason: &str, message: String) {
        let recorder = self.context.state();
        recorder.event(&self.deployment, type_, reason, message);
    }

    /// Returns a condition of the Deployment that changes now.
    pub(super) fn condition(
        &self,
        type_: &str,
        status: &str,
        reason: &str,
        message: String,
    ) -> Condition {
        let now = whole_seconds(self.context.now());
        Condition {
            last_update_time: Some(now.clone()),
            ..Condition::new(type_, status, reason, message, now)
        }
    }

    /// Writes the status of the Deployment, and its annotations.
    pub(super) async fn write_status(&mut self) -> Result<()> {
        self.body["status"] = json!(self.deployment.status);
        self.body["metadata"]["annotations"] = json!(self.deployment.metadata.annotations);
        let draft = self.draft();
        let written = self.context.client().replace_status(&draft).await?;
        self.written(&written);
        Ok(())
    }

    /// Writes the Deployment.
    pub(super) async fn write(&mut self) -> Result<()> {
        self.body["metadata"]["annotations"] = json!(self.deployment.metadata.annotations);
        self.body["spec"]["template"] = self.deployment.spec.template.0.clone();
        let draft = self.draft();
        let written = self.context.client().update(&draft).await?;
        self.written(&written);
        Ok(())
    }

    fn draft(&self) -> Draft<Deployment> {
        Draft::new(self.deployment.metadata.clone(), self.body.clone())
    }

    fn written(&mut self, written: &Draft<Deployment>) {
        let version = written.metadata.resource_version.clone();
        self.body["metadata"]["resourceVersion"] = json!(version);
        self.deployment.metadata.resource_version = version;
    }
}

/// Whether a ReplicaSet is written although its size stays.
#[derive(Clone, Copy)]
pub(super) enum Force {
    Yes,
    No,
}

/// Sets the size of a ReplicaSet, and the annotations that say for which size of the Deployment it is.
pub(super) async fn scale_set(
    context: &Context<(), Recorder>,
    deployment: &Deployment,
    set: &mut Current<ReplicaSet>,
    size: i32,
    force: Force,
) -> Result<Scaled> {
    let before = set.object.replicas();
    if matches!(force, Force::No) && before == size {
        return Ok(false);
    }
    let desired = deployment.replicas();
    let most = desired + deployment.max_surge();
    let is_annotated = number(&set.object, DESIRED_REPLICAS) == Some(desired)
        && number(&set.object, MAX_REPLICAS) == Some(most);
    if before == size && is_annotated {
        return Ok(false);
    }
    set_replica_annotations(&mut set.object, desired, most);
    set.object.spec.replicas = Some(size);
    write_set(context, set).await?;
    if before == size {
        return Ok(false);
    }
    let direction = if before < size { "up" } else { "down" };
    let name = set.object.name_any();
    let message = format!("Scaled {direction} replica set {name} from {before} to {size}");
    let recorder = context.state();
    recorder.event(deployment, EventType::Normal, "ScalingReplicaSet", message);
    Ok(true)
}

/// Writes the size, the annotations and the minimum time of readiness of a ReplicaSet.
pub(super) async fn write_set(
    context: &Context<(), Recorder>,
    set: &mut Current<ReplicaSet>,
) -> Result<()> {
    let object = &set.object;
    set.body["metadata"]["annotations"] = json!(object.metadata.annotations);
    set.body["spec"]["replicas"] = json!(object.replicas());
    set.body["spec"]["minReadySeconds"] = json!(object.spec.min_ready_seconds);
    let draft = Draft::<ReplicaSet>::new(object.metadata.clone(), set.body.clone());
    let written = context.client().update(&draft).await?;
    set.body["metadata"]["resourceVersion"] = json!(written.metadata.resource_version);
    set.object.metadata = written.metadata;
    Ok(())
}

/// Returns the order of ReplicaSets by age, then by name.
pub(super) fn by_creation(a: &ReplicaSet, b: &ReplicaSet) -> std::cmp::Ordering {
    let key = |set: &ReplicaSet| {
        let created = set.metadata.creation_timestamp.as_ref().map(|at| at.0);
        (created, set.metadata.name.clone())
    };
    key(a).cmp(&key(b))
}
