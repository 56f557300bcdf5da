//! One pass over a DaemonSet.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::future::join_all;
use jiff::{SignedDuration, Timestamp};
use kube::{Resource, ResourceExt};
use kubewright_client::Error;
use kubewright_controller::{Action, Context, Filter, Request, Result, events::EventType};
use kubewright_informer::StoredObject;
use kubewright_machinery::labels::LabelSelector;
use serde_json::json;

use super::{
    Daemons,
    nodes::{self, GENERATION, Plan, REVISION, by_age},
    placement::{Fit, fit, node_of, set_node, tolerations},
    revisions::{revisions_of, truncate},
    rolling,
};
use crate::workloads::{
    history,
    objects::{Current, DaemonSet, DaemonSetStatus, Draft, Node, Pod, controller_reference},
    pods::{Claims, PodControl, owned_and_orphans, pod_of, slow_start},
};

/// The maximum number of pods that are created, and that are deleted, in one step.
const BURST: usize = 250;

/// A DaemonSet during one pass.
pub(super) struct Pass<'a> {
    context: &'a Context<(), Daemons>,
    pub(super) set: &'a DaemonSet,
    pub(super) hash: &'a str,
    now: Timestamp,
    pub(super) nodes: Vec<Arc<Node>>,
    /// The pods by node.
    pub(super) pods: BTreeMap<String, Vec<Arc<Pod>>>,
}

pub(super) async fn sync(context: &Context<(), Daemons>, request: &Request) -> Result<Action> {
    let client = context.client();
    if context.get::<DaemonSet>(request).await?.is_none() {
        return Ok(Action::done());
    }
    let cache = client.informer::<DaemonSet>();
    let Some(stored) = cache.indexer().get(request.key().as_str()) else {
        return Ok(Action::done());
    };
    let current = Current::<DaemonSet>::of(&stored)?;
    let set = &current.object;
    let Ok(selector) = LabelSelector::from_label_selector(&set.spec.selector) else {
        tracing::error!(%request, "the selector is invalid");
        return Ok(Action::done());
    };
    if selector.is_empty() {
        let message = "This daemon set is selecting all pods. A non-empty selector is required.";
        let recorder = &context.state().recorder;
        recorder.event(set, EventType::Warning, "SelectingAll", message);
        return Ok(Action::done());
    }
    if set.metadata.deletion_timestamp.is_some() {
        return Ok(Action::done());
    }
    let known = history::list(client, set, &selector).await?;
    let revisions = revisions_of(client, &current, known).await?;
    let mut nodes = client.list::<Node>(&Filter::new()).await?;
    nodes.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    let mut pass = Pass {
        context,
        set,
        hash: &revisions.hash,
        now: context.now(),
        nodes,
        pods: BTreeMap::new(),
    };
    pass.read_pods(&selector).await?;
    let plan = nodes::plan(&pass);
    let wait = plan.wait;
    let has_changes = !plan.create.is_empty() || !plan.delete.is_empty();
    let mut outcome = pass.carry_out(plan).await;
    if outcome.is_none() {
        // Changes are observed before the rollout continues. It uses the pods that were read before, since a node whose last
        // pod has ended in the meantime would not count as unavailable.
        if !has_changes && set.spec.update_strategy.r#type == "RollingUpdate" {
            outcome = pass.carry_out(rolling::plan(&pass)).await;
        }
        pass.read_pods(&selector).await?;
    }
    if outcome.is_none() {
        let pods = pass.pods.values().flatten();
        let used = pods.filter_map(|pod| pod.label(REVISION).map(str::to_owned));
        truncate(client, set, &revisions.old, &used.collect::<Vec<_>>()).await?;
    }
    let status = pass.status();
    write_status(context, &current, &status).await?;
    if let Some(error) = outcome {
        return Err(error.into());
    }
    let ready = set.spec.min_ready_seconds > 0 && status.number_ready != status.number_available;
    let ready = ready.then(|| SignedDuration::from_secs(i64::from(set.spec.min_ready_seconds)));
    let next = wait.into_iter().chain(ready).min();
    let next = next.and_then(|next| Duration::try_from(next).ok());
    Ok(next.map_or_else(Action::done, Action::requeue_after))
}

impl Pass<'_> {
    /// Claims the pods, and sorts them by node. Those that have ended and are being deleted are left out.
    async fn read_pods(&mut self, selector: &LabelSelector) -> Result<()> {
        let client = self.context.client();
        let stored = owned_and_orphans::<DaemonSet, Pod>(client, self.set).await?;
        let pods: std::result::Result<Vec<Arc<Pod>>, _> =
            stored.iter().map(StoredObject::decode).collect();
        let matches = |pod: &Pod| selector.matches(|name| pod.label(name));
        let claimed = Claims::new(client, self.set).claim(pods?, matches).await?;
        self.pods.clear();
        for pod in claimed {
            if pod.is_terminal() && pod.metadata.deletion_timestamp.is_some() {
                continue;
            }
            if let Some(node) = node_of(&pod) {
                self.pods.entry(node).or_default().push(pod);
            }
        }
        Ok(())
    }

    pub(super) fn is_available(&self, pod: &Pod) -> bool {
        pod.is_available(self.set.spec.min_ready_seconds, self.now)
    }

    /// Reports whether a pod has the current template.
    pub(super) fn is_updated(&self, pod: &Pod) -> bool {
        let generation = self
            .set
            .template_generation()
            .map(|number| number.to_string());
        pod.label(REVISION) == Some(self.hash)
            || generation.is_some() && pod.label(GENERATION) == generation.as_deref()
    }

    /// Returns the number of nodes that should have a pod.
    pub(super) fn desired(&self) -> usize {
        let nodes = self.nodes.iter();
        nodes.filter(|node| fit(self.set, node) == Fit::Run).count()
    }

    pub(super) fn allows_surge(&self) -> bool {
        self.set.spec.update_strategy.r#type == "RollingUpdate" && rolling::limits(self).0 > 0
    }

    /// Returns the time until a failed pod of a node may be deleted; `None` if that is now.
    pub(super) fn backoff(&self, node: &str) -> Option<SignedDuration> {
        let uid = self.set.metadata.uid.as_deref().unwrap_or_default();
        let generation = self.set.status.observed_generation;
        let key = format!("{uid}/{generation}/{node}");
        self.context.state().backoffs.pass(&key, self.now)
    }

    pub(super) fn tell(&self, type_: EventType, reason: &str, message: String) {
        let recorder = &self.context.state().recorder;
        recorder.event(self.set, type_, reason, message);
    }

    /// Creates and deletes pods. Returns the first failure.
    async fn carry_out(&self, plan: Plan) -> Option<Error> {
        let control = PodControl {
            client: self.context.client(),
            recorder: &self.context.state().recorder,
            owner: self.set.object_ref(&()),
        };
        let count = plan.create.len().min(BURST);
        let pods: Vec<Draft<Pod>> = plan
            .create
            .iter()
            .take(count)
            .map(|node| self.pod(node))
            .collect();
        let (_, failure) = slow_start(count, BURST, |i| control.create(&pods[i])).await;
        let doomed = plan.delete.iter().take(BURST);
        let outcomes = join_all(doomed.map(|pod| control.delete(pod))).await;
        let deletion = outcomes.into_iter().find_map(std::result::Result::err);
        failure.or(deletion)
    }

    fn pod(&self, node: &str) -> Draft<Pod> {
        let namespace = self.set.namespace().unwrap_or_default();
        let owner = controller_reference(self.set);
        let pod = pod_of(&self.set.spec.template, &namespace, &owner);
        let (metadata, mut body) = pod.into_parts();
        body["spec"]["tolerations"] = json!(tolerations(&self.set.spec.template.0["spec"]));
        if let Some(generation) = self.set.template_generation() {
            body["metadata"]["labels"][GENERATION] = json!(generation.to_string());
        }
        body["metadata"]["labels"][REVISION] = json!(self.hash);
        set_node(&mut body, node);
        Draft::new(metadata, body)
    }

    fn status(&self) -> DaemonSetStatus {
        let mut status = DaemonSetStatus {
            observed_generation: self.set.metadata.generation.unwrap_or(0),
            collision_count: self.set.status.collision_count,
            ..DaemonSetStatus::default()
        };
        for node in &self.nodes {
            let mut pods = self.pods.get(&node.name_any()).cloned().unwrap_or_default();
            pods.sort_by(by_age);
            let is_wanted = fit(self.set, node) == Fit::Run;
            status.desired_number_scheduled += i32::from(is_wanted);
            let Some(pod) = pods.first() else {
                continue;
            };
            if !is_wanted {
                status.number_misscheduled += 1;
                continue;
            }
            status.current_number_scheduled += 1;
            status.number_ready += i32::from(pod.ready().is_some());
            status.number_available += i32::from(self.is_available(pod));
            status.updated_number_scheduled += i32::from(self.is_updated(pod));
        }
        status.number_unavailable = status.desired_number_scheduled - status.number_available;
        status
    }
}

async fn write_status(
    context: &Context<(), Daemons>,
    current: &Current<DaemonSet>,
    status: &DaemonSetStatus,
) -> Result<()> {
    if current.object.status == *status {
        return Ok(());
    }
    let mut body = current.body.clone();
    body["status"] = json!(status);
    let draft = Draft::<DaemonSet>::new(current.object.metadata.clone(), body);
    context.client().update_status(&draft).await?;
    Ok(())
}
