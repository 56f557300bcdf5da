//! [`State`]: all that the scheduler knows, changed by the events of its watches, and the decision about the next pod.

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
};

type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

pub(crate) struct State {
    names: BTreeSet<String>,
    seed: u64,
    placing: Option<Arc<Placing>>,
    pods: SharedInformer<Pod>,
    pub(crate) snapshot: Snapshot,
    pub(crate) queue: Queue,
    /// The pods that have a node, or are about to get one.
    assigned: Map<Key, Assigned>,
    /// The pods for which victims make room, by node.
    nominated: Map<String, Vec<Arc<PodInfo>>>,
    templates: HashSet<Arc<Template>, foldhash::fast::RandomState>,
    /// The diagnoses of templates, while nothing has changed that may help them.
    failures: Map<Arc<Template>, (u64, Diagnosis)>,
}

struct Assigned {
    info: Arc<PodInfo>,
    node: String,
    /// Whether the server does not show it yet.
    is_assumed: bool,
}

/// The action to take for a pod.
pub(crate) enum Decision {
    /// Binds it to a node.
    Bind(Arc<PodInfo>, String),
    /// Reports that no node can run it.
    Reject(Arc<PodInfo>, String),
    /// Deletes other pods to make room.
    Preempt(Arc<PodInfo>, String, preemption::Candidate),
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
        }
    }

    /// Takes note of a change of a node. Returns whether there is a pod to try.
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

    /// Takes note of a change of a namespace. Returns whether there is a pod to try.
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

    /// Takes note of a change of a pod. Returns whether there is a pod to try.
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
                // From before the binding.
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
                    // It counts in another way from now on.
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

    /// Takes out a pod that is gone, or has ended. Returns whether there is a pod to try.
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
        true
    }

    /// Counts a pod on a node. Returns whether there is a pod to try: one that wants to be near others.
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
        let pod = self.queue.pop(now)?;
        let diagnosis = match self.place(&pod) {
            Ok(node) => {
                self.queue.placed(&pod);
                self.assign(pod.clone(), node.clone(), true);
                return Some(Decision::Bind(pod, node));
            }
            Err(diagnosis) => diagnosis,
        };
        let (diagnosis, candidate) = diagnosis;
        let message = diagnosis.message();
        self.queue.fail(&pod, &message, now);
        Some(match candidate {
            Some(candidate) => {
                self.nominate(&pod, &candidate.node);
                Decision::Preempt(pod, message, candidate)
            }
            None => Decision::Reject(pod, message),
        })
    }

    /// Puts back a pod whose binding failed.
    pub(crate) fn unbound(&mut self, pod: &Arc<PodInfo>, now: Timestamp) {
        let assumed = self.assigned.get(&pod.key);
        if assumed.is_none_or(|known| !known.is_assumed || known.info.uid != pod.uid) {
            return;
        }
        self.unassign(&pod.key);
        self.queue.put((**pod).clone());
        // It is taken from the front, to be put behind.
        if self.queue.take(&pod.key) {
            self.queue.delay(pod, now);
        }
    }

    fn place(
        &mut self,
        pod: &Arc<PodInfo>,
    ) -> Result<String, (Diagnosis, Option<preemption::Candidate>)> {
        if let Some(placing) = self.placing.clone() {
            return self.place_by(&placing, pod).map_err(|d| (d, None));
        }
        let template = pod.template.clone();
        let growth = self.snapshot.growth();
        if let Some((at, diagnosis)) = self.failures.get(&template)
            && *at == growth
        {
            return Err((diagnosis.clone(), None));
        }
        let prepared = Prepared::new(&mut self.snapshot, &template);
        let mut diagnosis = Diagnosis::new(self.snapshot.node_count());
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
        // The node that victims were removed from is taken if it fits.
        let nominated = pod.nominated.as_deref().and_then(|n| self.snapshot.slot(n));
        let chosen = match nominated {
            Some(slot) if candidates.contains(&slot) => Some(slot),
            _ => score::best(&mut self.snapshot, &template, &candidates, self.seed),
        };
        if let Some(node) = chosen.and_then(|slot| self.snapshot.node(slot)) {
            return Ok(node.name.clone());
        }
        let candidate = match rejected.is_empty() {
            true => None,
            false => match preemption::find(&mut self.snapshot, pod, &rejected) {
                Ok(candidate) => Some(candidate),
                Err(outcome) => {
                    diagnosis.preemption = outcome;
                    None
                }
            },
        };
        if candidate.is_none() && !template.cares_for_others() && pod.nominated.is_none() {
            self.remember(template, diagnosis.clone());
        }
        Err((diagnosis, candidate))
    }

    /// Asks the filters about a node, on which pods that victims make room for count as well.
    fn check(&self, prepared: &Prepared, pod: &PodInfo, node: &NodeInfo) -> Result<(), Rejection> {
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

    fn place_by(&self, placing: &Arc<Placing>, pod: &PodInfo) -> Result<String, Diagnosis> {
        let nodes: Vec<NodeInfo> = self.snapshot.nodes().map(|(_, n)| n.clone()).collect();
        let mut diagnosis = Diagnosis::new(nodes.len());
        let object = self.pods.lister().get_key(&pod.key);
        let Ok(Some(object)) = object else {
            diagnosis.before = Some(format!("pod {} is not in the cache", pod.key));
            return Err(diagnosis);
        };
        match placing(&object, &nodes) {
            Placement::Node(name) if self.snapshot.slot(&name).is_some() => Ok(name),
            Placement::Node(name) => {
                diagnosis.before = Some(format!("node {name:?} not found"));
                Err(diagnosis)
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

    /// Takes over the nomination that a pod has on the server.
    fn renominate(&mut self, info: &PodInfo) {
        if let Some(node) = info.nominated.clone() {
            self.nominate(&Arc::new(info.clone()), &node);
        }
    }

    fn share(&mut self, template: Template) -> Arc<Template> {
        if let Some(known) = self.templates.get(&template) {
            return known.clone();
        }
        // Forgets templates without pods now and then.
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
    /// Reports whether the pods of other templates matter for where these can run.
    fn cares_for_others(&self) -> bool {
        self.affinity.pod_affinity.is_some()
            || self.affinity.pod_anti_affinity.is_some()
            || !self.spread.is_empty()
    }
}
