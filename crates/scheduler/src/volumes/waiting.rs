//! [`Waiting`]: pods that have a node, and wait for their volumes to be bound.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use kubewright_informer::{Event, Key, compare_resource_versions};

use super::{VolumeChoice, Written};
use crate::{
    pod::PodInfo,
    state::{Decision, State},
};

/// The longest time that a pod waits for its volumes.
const PATIENCE: SignedDuration = SignedDuration::from_mins(10);

/// The message about a pod that has waited for too long.
const TIMED_OUT: &str =
    "running PreBind plugin \"VolumeBinding\": binding volumes: context deadline exceeded";

/// The pods that wait for their volumes.
#[derive(Default)]
pub(crate) struct Waiting {
    pods: BTreeMap<Key, WaitingPod>,
    /// The pods whose volumes are bound, or will not be.
    decided: VecDeque<(Key, bool)>,
}

struct WaitingPod {
    info: Arc<PodInfo>,
    choice: VolumeChoice,
    /// The versions of the claims that were written.
    versions: BTreeMap<Key, String>,
    until: Timestamp,
}

impl Waiting {
    pub(crate) fn remove(&mut self, key: &Key) {
        self.pods.remove(key);
    }

    /// Returns the time at which the next pod has waited for too long.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        self.pods.values().map(|pod| pod.until).min()
    }
}

impl State {
    /// Handles a change of a claim. Returns whether a pod is ready to be scheduled or bound.
    pub(crate) fn claim(&mut self, event: &Event<()>) -> bool {
        self.snapshot.volumes.claim(event);
        let (namespace, name) = (
            event.key().namespace().unwrap_or_default(),
            event.key().name(),
        );
        let pods = self.waiting.pods.iter();
        let concerned = pods.filter(|(_, pod)| pod.choice.unbound.contains(event.key()));
        let concerned: Vec<Key> = concerned.map(|(key, _)| key.clone()).collect();
        for key in concerned {
            self.review(&key);
        }
        let woken = self.queue.wake(|template| {
            template.namespace == namespace && template.claims.iter().any(|c| c.name == name)
        });
        woken || !self.waiting.decided.is_empty()
    }

    /// Handles a change of a volume. Returns whether a pod is ready to be scheduled.
    pub(crate) fn volume(&mut self, event: &Event<()>) -> bool {
        self.snapshot.volumes.volume(event);
        self.queue.wake(|template| !template.claims.is_empty())
    }

    /// Handles a change of a storage class. Returns whether a pod is ready to be scheduled.
    pub(crate) fn class(&mut self, event: &Event<()>) -> bool {
        self.snapshot.volumes.class(event);
        self.queue.wake(|template| !template.claims.is_empty())
    }

    /// Notes that the choice for a pod has been written: it is bound once its claims are.
    pub(crate) fn wait_for_volumes(
        &mut self,
        info: &Arc<PodInfo>,
        choice: VolumeChoice,
        written: Written,
        now: Timestamp,
    ) {
        self.snapshot.volumes.confirm(&choice, &written);
        if !self.assumes(info) {
            return;
        }
        let pod = WaitingPod {
            info: info.clone(),
            choice,
            versions: written.claims,
            until: now.saturating_add(PATIENCE).unwrap_or(Timestamp::MAX),
        };
        self.waiting.pods.insert(info.key.clone(), pod);
        self.review(&info.key);
    }

    /// Returns the decision about the next pod whose volumes are bound, or that has waited for too long.
    pub(crate) fn next_waiting(&mut self, now: Timestamp) -> Option<Decision> {
        while let Some((key, is_bound)) = self.waiting.decided.pop_front() {
            let Some(pod) = self.waiting.pods.remove(&key) else {
                continue;
            };
            if is_bound {
                return Some(Decision::Bind(pod.info, pod.choice.node));
            }
            self.unbound(&pod.info, now);
        }
        let mut pods = self.waiting.pods.values();
        let late = pods.find(|pod| pod.until <= now)?.info.clone();
        self.waiting.remove(&late.key);
        self.unbound(&late, now);
        Some(Decision::Fail(late, TIMED_OUT.to_owned()))
    }

    /// Decides whether a pod still waits for its volumes.
    fn review(&mut self, key: &Key) {
        let Some(pod) = self.waiting.pods.get(key) else {
            return;
        };
        let volumes = &self.snapshot.volumes;
        let mut is_bound = true;
        for claim in &pod.choice.unbound {
            let Some(known) = volumes
                .claims
                .get(claim)
                .filter(|c| !c.metadata.is_deleted())
            else {
                self.waiting.decided.push_back((key.clone(), false));
                return;
            };
            if known.bound_to().is_some() {
                continue;
            }
            is_bound = false;
            // A provisioner that cannot serve a node takes the selection back.
            let is_newer = pod.versions.get(claim).is_some_and(|written| {
                let order = compare_resource_versions(&known.metadata.resource_version, written);
                order.is_some_and(|order| order.is_ge())
            });
            if is_newer && known.selected_node() != Some(&pod.choice.node) {
                self.waiting.decided.push_back((key.clone(), false));
                return;
            }
        }
        if is_bound {
            let template = &pod.info.template;
            let node = self.snapshot.slot(&pod.choice.node);
            let node = node.and_then(|slot| self.snapshot.node(slot));
            let is_reachable = volumes
                .of(template)
                .is_ok_and(|volumes| node.is_none_or(|node| volumes.check(node).is_ok()));
            self.waiting.decided.push_back((key.clone(), is_reachable));
        }
    }
}
