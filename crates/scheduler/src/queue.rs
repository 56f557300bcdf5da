//! [`Queue`]: the pods that are not scheduled yet.
//!
//! Pods are tried by priority, then in order of arrival. Unschedulable pods are grouped by template. After a change that may
//! help, the first pod of each template is tried; if it fails for the same reason as before, the others would fail as well.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use kubewright_informer::Key;

use crate::pod::{PodInfo, Template};

/// The shortest backoff after an error.
const BACKOFF: SignedDuration = SignedDuration::from_secs(1);

/// The longest backoff after an error.
const MAX_BACKOFF: SignedDuration = SignedDuration::from_secs(10);

/// The time after which pods are retried regardless of changes.
const FLUSH: SignedDuration = SignedDuration::from_mins(5);

/// The position of a pod in the order of arrival.
type Arrival = u64;

#[derive(Default)]
pub(crate) struct Queue {
    active: BinaryHeap<(i32, Reverse<Arrival>, Key)>,
    waiting: HashMap<Arc<Template>, Group, foldhash::fast::RandomState>,
    delayed: BTreeSet<(Timestamp, Key)>,
    pods: HashMap<Key, Queued, foldhash::fast::RandomState>,
    arrivals: Arrival,
}

/// A pod without a node.
struct Queued {
    info: Arc<PodInfo>,
    arrival: Arrival,
    failures: u32,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Active,
    InFlight,
    Waiting,
    Delayed(Timestamp),
    Gated,
}

/// The unschedulable pods of a template.
#[derive(Default)]
struct Group {
    pods: BTreeMap<Arrival, Key>,
    message: String,
    tried: Timestamp,
}

impl Queue {
    /// Returns a queued pod.
    pub(crate) fn get(&self, key: &Key) -> Option<&Arc<PodInfo>> {
        self.pods.get(key).map(|queued| &queued.info)
    }

    /// Adds or updates a pod. A pod whose template and priority are unchanged keeps its position.
    pub(crate) fn put(&mut self, info: PodInfo) {
        let key = info.key.clone();
        let known = self.pods.get_mut(&key);
        if let Some(queued) = known
            && queued.info.uid == info.uid
            && queued.info.template == info.template
        {
            queued.info = Arc::new(info);
            return;
        }
        self.remove(&key);
        self.arrivals += 1;
        let place = match info.template.is_gated {
            true => Place::Gated,
            false => Place::Active,
        };
        if place == Place::Active {
            let order = Reverse(self.arrivals);
            self.active.push((info.priority(), order, key.clone()));
        }
        let queued = Queued {
            info: Arc::new(info),
            arrival: self.arrivals,
            failures: 0,
            place,
        };
        self.pods.insert(key, queued);
    }

    pub(crate) fn remove(&mut self, key: &Key) -> Option<Arc<PodInfo>> {
        let queued = self.pods.remove(key)?;
        match queued.place {
            Place::Waiting => self.leave_group(&queued.info.template, queued.arrival),
            Place::Delayed(until) => {
                self.delayed.remove(&(until, key.clone()));
            }
            // Discovered as stale when it is popped.
            Place::Active | Place::InFlight | Place::Gated => {}
        }
        Some(queued.info)
    }

    /// Takes the next pod to try.
    pub(crate) fn pop(&mut self, now: Timestamp) -> Option<Arc<PodInfo>> {
        while let Some((until, key)) = self.delayed.first().cloned()
            && until <= now
        {
            self.delayed.pop_first();
            self.activate(&key);
        }
        while let Some((_, Reverse(arrival), key)) = self.active.pop() {
            if let Some(queued) = self.pods.get_mut(&key)
                && queued.place == Place::Active
                && queued.arrival == arrival
            {
                queued.place = Place::InFlight;
                return Some(queued.info.clone());
            }
        }
        None
    }

    /// Returns an unschedulable pod to the queue. If its message has changed, all pods of its template are retried.
    pub(crate) fn fail(&mut self, info: &PodInfo, message: &str, now: Timestamp) {
        let Some(queued) = self.pods.get_mut(&info.key) else {
            return;
        };
        if queued.place != Place::InFlight || queued.info.uid != info.uid {
            return;
        }
        queued.place = Place::Waiting;
        let (template, arrival) = (queued.info.template.clone(), queued.arrival);
        let group = self.waiting.entry(template).or_default();
        group.tried = now;
        let others = match group.message == message {
            true => Vec::new(),
            false => {
                group.message = message.to_owned();
                group.pods.values().cloned().collect()
            }
        };
        group.pods.insert(arrival, info.key.clone());
        // The message of the others is outdated.
        for key in others {
            self.activate(&key);
        }
    }

    /// Removes a pod out of order. Returns whether it was ready.
    pub(crate) fn take(&mut self, key: &Key) -> bool {
        let queued = self.pods.get_mut(key);
        let ready = queued.filter(|queued| queued.place == Place::Active);
        ready.map(|queued| queued.place = Place::InFlight).is_some()
    }

    /// Returns a pod that could not be bound because of an error, with a backoff.
    pub(crate) fn delay(&mut self, info: &PodInfo, now: Timestamp) {
        let Some(queued) = self.pods.get_mut(&info.key) else {
            return;
        };
        if queued.place != Place::InFlight || queued.info.uid != info.uid {
            return;
        }
        let wait = BACKOFF.saturating_mul(1 << queued.failures.min(4));
        queued.failures += 1;
        let until = now.saturating_add(wait.min(MAX_BACKOFF)).unwrap_or(now);
        queued.place = Place::Delayed(until);
        self.delayed.insert((until, info.key.clone()));
    }

    /// Removes a pod that was assigned to a node; the next one of its template is tried.
    pub(crate) fn placed(&mut self, info: &PodInfo) {
        self.remove(&info.key);
        let next = self.waiting.get(&info.template);
        let next = next.and_then(|group| group.pods.values().next().cloned());
        if let Some(next) = next {
            self.activate(&next);
        }
    }

    /// Retries waiting pods: the first of each template for which `concerns` returns true.
    pub(crate) fn wake(&mut self, concerns: impl Fn(&Template) -> bool) -> bool {
        let groups = self
            .waiting
            .iter()
            .filter(|(template, _)| concerns(template));
        let first = groups.filter_map(|(_, group)| group.pods.values().next().cloned());
        let first: Vec<Key> = first.collect();
        for key in &first {
            self.activate(key);
        }
        !first.is_empty()
    }

    /// Retries pods that have waited for too long. Returns the time of the next call.
    pub(crate) fn flush(&mut self, now: Timestamp) -> Option<Timestamp> {
        let due = |group: &Group| group.tried.saturating_add(FLUSH).unwrap_or(now);
        let old: Vec<Arc<Template>> = self
            .waiting
            .iter()
            .filter(|(_, group)| due(group) <= now)
            .map(|(template, _)| template.clone())
            .collect();
        for template in old {
            self.wake(|other| *other == *template);
        }
        let flushes = self.waiting.values().map(due);
        let delays = self.delayed.first().map(|(until, _)| *until);
        flushes.chain(delays).min()
    }

    /// Returns whether a pod is ready to be tried.
    pub(crate) fn has_active(&self) -> bool {
        !self.active.is_empty()
    }

    /// Makes pods ready whose attempt was cancelled.
    pub(crate) fn recover(&mut self) {
        let lost = self.pods.iter().filter(|(_, q)| q.place == Place::InFlight);
        let lost: Vec<Key> = lost.map(|(key, _)| key.clone()).collect();
        for key in lost {
            self.activate(&key);
        }
    }

    fn activate(&mut self, key: &Key) {
        let Some(queued) = self.pods.get_mut(key) else {
            return;
        };
        let before = std::mem::replace(&mut queued.place, Place::Active);
        let (template, arrival) = (queued.info.template.clone(), queued.arrival);
        if before == Place::Active {
            return;
        }
        self.active
            .push((template.priority, Reverse(arrival), key.clone()));
        match before {
            Place::Waiting => self.leave_group(&template, arrival),
            Place::Delayed(until) => {
                self.delayed.remove(&(until, key.clone()));
            }
            Place::Active | Place::InFlight | Place::Gated => {}
        }
    }

    fn leave_group(&mut self, template: &Arc<Template>, arrival: Arrival) {
        if let Some(group) = self.waiting.get_mut(template) {
            group.pods.remove(&arrival);
            if group.pods.is_empty() {
                self.waiting.remove(template);
            }
        }
    }
}
