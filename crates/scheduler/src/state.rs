//! [`State`]: the state of the scheduler, updated by watch events, and the decision about the next pod.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kubewright_informer::{Cached, Event, Key, SharedInformer, StoredObject};

use crate::{
    diagnosis::Diagnosis,
    filter::{Prepared, Rejection},
    node::{NodeInfo, RawNode},
    placement::{Placement, Placing},
    pod::{Glance, PodInfo, RawPod, Template},
    preemption,
    queue::Queue,
    score,
    snapshot::Snapshot,
    volumes::{PodVolumes, VolumeChoice, Waiting},
};

type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

pub(crate) struct State {
    names: BTreeSet<String>,
    seed: u64,
    placing: Option<Arc<Placing>>,
    pods: SharedInformer<Pod>,
    pub(crate) snapshot: Snapshot,
    pub(crate) queue: Queue,
    /// The pods that are assigned to a node, or are about to be.
    assigned: Map<Key, Assigned>,
    /// The pods that are nominated to a node after preemption, by node.
    nominated: Map<String, Vec<Arc<PodInfo>>>,
    templates: HashSet<Arc<Template>, foldhash::fast::RandomState>,
    /// The diagnoses of templates, valid until a change that may help.
    failures: Map<Arc<Template>, (u64, Diagnosis)>,
    /// The pods that wait for their volumes.
    pub(crate) waiting: Waiting,
}

struct Assigned {
    info: Arc<PodInfo>,
    node: String,
    /// Whether the binding is not visible on the server yet.
    is_assumed: bool,
}

/// The decision about a pod.
pub(crate) enum Decision {
    /// Binds it to a node.
    Bind(Arc<PodInfo>, String),
    /// Binds its volumes, or has them provisioned, before it is bound to its node.
    BindVolumes(Arc<PodInfo>, VolumeChoice),
    /// Looks whether a claim exists that the cache does not have, before it is rejected.
    Recheck(Arc<PodInfo>, String, Key),
    /// Reports that it could not be bound.
    Fail(Arc<PodInfo>, String),
    /// Reports that no node can run it.
    Reject(Arc<PodInfo>, String),
    /// Deletes other pods to make room.
    Preempt(Arc<PodInfo>, String, preemption::Candidate),
}

/// The reasons for which a pod has no node.
struct Unplaced {
    diagnosis: Diagnosis,
    /// The pods to delete in its favour.
    candidate: Option<preemption::Candidate>,
    /// The claim that the cache does not have.
    missing: Option<Key>,
}

impl From<Diagnosis> for Unplaced {
    fn from(diagnosis: Diagnosis) -> Self {
        Self {
            diagnosis,
            candidate: None,
            missing: None,
        }
    }
}

impl State {
    pub(crate) fn new(
        names: BTreeSet<String>,
        seed: u64,
        placing: Option<Arc<Placing>>,
        pods: SharedInformer<Pod>,
    ) -> Self {
        Self {
            names,
            seed,
            placing,
            pods,
            snapshot: Snapshot::default(),
            queue: Queue::default(),
            assigned: Map::default(),
            nominated: Map::default(),
            templates: HashSet::default(),
            failures: Map::default(),
            waiting: Waiting::default(),
        }
    }

    /// Handles a change of a node. Returns whether a pod is ready to be scheduled.
    pub(crate) fn node(&mut self, event: &Event<()>) -> bool {
        let name = event.key().name();
        match event {
            Event::Deleted { .. } => self.snapshot.remove_node(name),
            Event::Added { object, .. } | Event::Updated { object, .. } => {
                let raw = serde_json::from_slice::<RawNode>(&object.json());
                if !raw.is_ok_and(|raw| self.snapshot.set_node(name, raw)) {
                    return false;
                }
            }
        }
        self.queue.wake(|_| true)
    }

    /// Handles a change of a namespace. Returns whether a pod is ready to be scheduled.
    pub(crate) fn namespace(&mut self, event: &Event<()>) -> bool {
        let labels = |object: &StoredObject| {
            let labels = object.labels().into_iter();
            labels
                .map(|(k, v)| (k.into_owned(), v.into_owned()))
                .collect()
        };
        let labels = match event {
            Event::Deleted { .. } => None,
            Event::Added { object, .. } | Event::Updated { object, .. } => Some(labels(object)),
        };
        self.snapshot.set_namespace(event.key().name(), labels);
        self.queue
            .wake(|template| template.affinity.pod_affinity.is_some())
    }

    /// Handles a change of a disruption budget, which makes no pod ready to be scheduled.
    pub(crate) fn budget(&mut self, event: &Event<()>) -> bool {
        self.snapshot.budgets.change(event);
        false
    }

    /// Handles a change of a pod. Returns whether a pod is ready to be scheduled.
    pub(crate) fn pod(&mut self, event: &Event<()>) -> bool {
        match event {
            Event::Deleted { object, .. } => self.forget(object.key(), Some(object.uid())),
            Event::Added { object, .. } | Event::Updated { object, .. } => self.changed(object),
        }
    }

    fn changed(&mut self, object: &Cached<()>) -> bool {
        let (key, json) = (object.key(), object.json());
        if let Some(known) = self.assigned.get_mut(key)
            && *known.info.uid == *object.uid()
        {
            let glance: Glance = serde_json::from_slice(&json).unwrap_or_default();
            let deleted = object.deletion_timestamp().is_some();
            let at_home = glance.node() == Some(known.node.as_str());
            if known.is_assumed && glance.node().is_none() && !deleted {
                // The event is older than the binding.
                return false;
            }
            if at_home && !glance.has_ended() && known.is_unchanged(object, deleted) {
                known.is_assumed = false;
                return false;
            }
        }
        let raw = match serde_json::from_slice::<RawPod>(&json) {
            Ok(raw) => raw,
            Err(error) => {
                tracing::warn!(pod = %key, %error, "pod cannot be scheduled");
                return self.forget(key, None);
            }
        };
        let (node, ended) = (raw.node().map(str::to_owned), raw.has_ended());
        let info = raw.into_info(key.clone(), object.uid(), |template| self.share(template));
        let is_same = self
            .assigned
            .get(key)
            .is_some_and(|known| known.info.uid == info.uid);
        match node {
            _ if ended => self.forget(key, None),
            Some(node) => {
                let freed = match is_same {
                    // The counts of the pod have changed.
                    true => self.unassign(key),
                    false => self.forget(key, None),
                };
                self.queue.remove(key);
                let concerned = self.assign(Arc::new(info), node, false);
                freed || concerned
            }
            None => {
                let freed = self.unassign(key) && self.queue.wake(|_| true);
                let ours = self.names.contains(&info.template.scheduler);
                if info.is_deleted || !ours {
                    self.queue.remove(key);
                    return freed;
                }
                self.renominate(&info);
                self.queue.put(info);
                freed || self.queue.has_active()
            }
        }
    }

    /// Removes a pod that was deleted or has terminated. Returns whether a pod is ready to be scheduled.
    fn forget(&mut self, key: &Key, uid: Option<&str>) -> bool {
        let of_another = |info: &PodInfo| uid.is_some_and(|uid| *info.uid != *uid);
        if self.queue.get(key).is_some_and(|info| !of_another(info))
            && let Some(info) = self.queue.remove(key)
        {
            self.denominate(&info);
        }
        let known = self.assigned.get(key);
        if known.is_some_and(|known| of_another(&known.info)) {
            return false;
        }
        self.unassign(key) && self.queue.wake(|_| true)
    }

    fn unassign(&mut self, key: &Key) -> bool {
        let Some(known) = self.assigned.remove(key) else {
            return false;
        };
        self.snapshot.unassign(&known.info, &known.node);
        self.waiting.remove(key);
        true
    }

    /// Assigns a pod to a node. Returns whether a pod that has an affinity to other pods is ready to be scheduled.
    fn assign(&mut self, info: Arc<PodInfo>, node: String, is_assumed: bool) -> bool {
        self.denominate(&info);
        self.snapshot.assign(&info, &node);
        let known = Assigned {
            info,
            node,
            is_assumed,
        };
        self.assigned.insert(known.info.key.clone(), known);
        self.queue.wake(|template| {
            template.affinity.pod_affinity.is_some() || !template.spread.is_empty()
        })
    }

    /// Decides about the next pod.
    pub(crate) fn next(&mut self, now: Timestamp) -> Option<Decision> {
        if let Some(decision) = self.next_waiting(now) {
            return Some(decision);
        }
        let pod = self.queue.pop(now)?;
        let unplaced = match self.place(&pod) {
            Ok(choice) => {
                self.queue.placed(&pod);
                self.assign(pod.clone(), choice.node.clone(), true);
                if choice.is_bound() {
                    return Some(Decision::Bind(pod, choice.node));
                }
                self.snapshot.volumes.assume(&choice);
                return Some(Decision::BindVolumes(pod, choice));
            }
            Err(unplaced) => unplaced,
        };
        let message = unplaced.diagnosis.message();
        self.queue.fail(&pod, &message, now);
        Some(match (unplaced.candidate, unplaced.missing) {
            (Some(candidate), _) => {
                self.nominate(&pod, &candidate.node);
                Decision::Preempt(pod, message, candidate)
            }
            (None, Some(claim)) => Decision::Recheck(pod, message, claim),
            (None, None) => Decision::Reject(pod, message),
        })
    }

    /// Reports whether a pod is assumed on a node.
    pub(crate) fn assumes(&self, pod: &PodInfo) -> bool {
        let known = self.assigned.get(&pod.key);
        known.is_some_and(|known| known.is_assumed && known.info.uid == pod.uid)
    }

    /// Returns a pod whose binding failed to the queue.
    pub(crate) fn unbound(&mut self, pod: &Arc<PodInfo>, now: Timestamp) {
        if !self.assumes(pod) {
            return;
        }
        self.unassign(&pod.key);
        self.queue.put((**pod).clone());
        // Removed from the front, and returned to the end.
        if self.queue.take(&pod.key) {
            self.queue.delay(pod, now);
        }
    }

    fn place(&mut self, pod: &Arc<PodInfo>) -> Result<VolumeChoice, Unplaced> {
        let template = pod.template.clone();
        let mut diagnosis = Diagnosis::new(self.snapshot.node_count());
        let volumes = match self.snapshot.volumes.of(&template) {
            Ok(volumes) => volumes,
            Err(unready) => {
                diagnosis.exclude_all(unready.message);
                return Err(Unplaced {
                    diagnosis,
                    candidate: None,
                    missing: unready.missing,
                });
            }
        };
        if let Some(placing) = self.placing.clone() {
            return Ok(self.place_by(&placing, pod, &volumes)?);
        }
        let growth = self.snapshot.growth();
        if let Some((at, diagnosis)) = self.failures.get(&template)
            && *at == growth
        {
            return Err(diagnosis.clone().into());
        }
        let prepared = Prepared::new(&mut self.snapshot, &template, &volumes);
        let mut candidates = Vec::new();
        let mut rejected = Vec::new();
        for (slot, node) in self.snapshot.nodes() {
            match self.check(&prepared, pod, node) {
                Ok(()) => candidates.push(slot),
                Err(rejection) => {
                    diagnosis.add(&rejection);
                    rejected.push((slot, rejection.is_resolvable));
                }
            }
        }
        // The nominated node is used if it fits.
        let nominated = pod.nominated.as_deref().and_then(|n| self.snapshot.slot(n));
        let chosen = match nominated {
            Some(slot) if candidates.contains(&slot) => Some(slot),
            _ => score::best(&mut self.snapshot, &template, &candidates, self.seed),
        };
        if let Some(node) = chosen.and_then(|slot| self.snapshot.node(slot))
            && let Some(choice) = volumes.choose(node)
        {
            return Ok(choice);
        }
        let candidate = match rejected.is_empty() {
            true => None,
            false => match preemption::find(&mut self.snapshot, (pod, &volumes), &rejected) {
                Ok(candidate) => Some(candidate),
                Err(outcome) => {
                    diagnosis.preemption = outcome;
                    None
                }
            },
        };
        let is_general = !template.cares_for_others() && template.claims.is_empty();
        if candidate.is_none() && is_general && pod.nominated.is_none() {
            self.remember(template, diagnosis.clone());
        }
        Err(Unplaced {
            diagnosis,
            candidate,
            missing: None,
        })
    }

    /// Runs the filters for a node, where pods that are nominated to the node count too.
    fn check(
        &self,
        prepared: &Prepared<'_>,
        pod: &PodInfo,
        node: &NodeInfo,
    ) -> Result<(), Rejection> {
        let nominated = self.nominated.get(&node.name).into_iter().flatten();
        let ahead = nominated.filter(|n| n.uid != pod.uid && n.priority() >= pod.priority());
        let mut ahead = ahead.peekable();
        if ahead.peek().is_none() {
            return prepared.check(&pod.template, node);
        }
        let mut full = node.clone();
        ahead.for_each(|nominated| full.add(nominated));
        prepared.check(&pod.template, &full)?;
        prepared.check(&pod.template, node)
    }

    fn place_by(
        &self,
        placing: &Arc<Placing>,
        pod: &PodInfo,
        volumes: &PodVolumes,
    ) -> Result<VolumeChoice, Diagnosis> {
        let nodes: Vec<NodeInfo> = self.snapshot.nodes().map(|(_, n)| n.clone()).collect();
        let mut diagnosis = Diagnosis::new(nodes.len());
        let object = self.pods.lister().get_key(&pod.key);
        let Ok(Some(object)) = object else {
            diagnosis.before = Some(format!("pod {} is not in the cache", pod.key));
            return Err(diagnosis);
        };
        match placing(&object, &nodes) {
            Placement::Node(name) => {
                let node = self.snapshot.slot(&name);
                let Some(node) = node.and_then(|slot| self.snapshot.node(slot)) else {
                    diagnosis.before = Some(format!("node {name:?} not found"));
                    return Err(diagnosis);
                };
                let checked = volumes.check(node);
                volumes.choose(node).ok_or_else(|| {
                    if let Err(rejection) = checked {
                        diagnosis.add(&rejection);
                    }
                    diagnosis
                })
            }
            Placement::Unschedulable(reason) => {
                diagnosis.before = Some(reason);
                Err(diagnosis)
            }
        }
    }

    fn remember(&mut self, template: Arc<Template>, diagnosis: Diagnosis) {
        const MOST: usize = 1024;
        if self.failures.len() >= MOST {
            self.failures.clear();
        }
        let growth = self.snapshot.growth();
        self.failures.insert(template, (growth, diagnosis));
    }

    fn nominate(&mut self, pod: &Arc<PodInfo>, node: &str) {
        self.denominate(pod);
        let pods = self.nominated.entry(node.to_owned()).or_default();
        pods.push(pod.clone());
    }

    fn denominate(&mut self, pod: &PodInfo) {
        self.nominated.retain(|_, pods| {
            pods.retain(|other| other.uid != pod.uid);
            !pods.is_empty()
        });
    }

    /// Restores the nomination of a pod on the server.
    fn renominate(&mut self, info: &PodInfo) {
        if let Some(node) = info.nominated.clone() {
            self.nominate(&Arc::new(info.clone()), &node);
        }
    }

    fn share(&mut self, template: Template) -> Arc<Template> {
        if let Some(known) = self.templates.get(&template) {
            return known.clone();
        }
        // Removes templates without pods from time to time.
        if self.templates.len() > 64 && self.templates.len().is_power_of_two() {
            self.templates.retain(|known| Arc::strong_count(known) > 1);
        }
        let template = Arc::new(template);
        self.templates.insert(template.clone());
        template
    }
}

impl Assigned {
    fn is_unchanged(&self, object: &StoredObject, is_deleted: bool) -> bool {
        let labels = &self.info.template.labels;
        let now = object.labels();
        self.info.is_deleted == is_deleted
            && self.info.generation == object.generation().unwrap_or_default()
            && labels.len() == now.len()
            && now
                .iter()
                .all(|(key, value)| labels.get(&**key).is_some_and(|v| *v == **value))
    }
}

impl Template {
    /// Reports whether the placement of this template depends on other pods.
    fn cares_for_others(&self) -> bool {
        self.affinity.pod_affinity.is_some()
            || self.affinity.pod_anti_affinity.is_some()
            || !self.spread.is_empty()
    }
}
