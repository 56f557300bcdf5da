//! [`Zones`]: the rate at which nodes of a zone may be tainted for eviction.
//!
//! A node every ten seconds in a healthy zone; one every hundred in a large zone of which more than half is not ready, and
//! none in a small one. While no node of the cluster is ready, the network of the control plane is more likely to blame
//! than the nodes: nothing is evicted.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};

use crate::workloads::objects::Node;

/// The time between two nodes of a large zone that is disrupted.
const LARGE_INTERVAL: SignedDuration = SignedDuration::from_secs(100);

/// The number of nodes beyond which a zone is large.
const LARGE: usize = 50;

/// The share of nodes that are not ready from which a zone is disrupted, in percent.
const UNHEALTHY: usize = 55;

/// The label of nodes that do not count.
const EXCLUDED: &str = "node.kubernetes.io/exclude-disruption";

/// The standing of a node in its zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    zone: String,
    is_ready: bool,
    counts: bool,
}

/// The zones of a cluster.
pub(super) struct Zones {
    /// The time between two nodes of a healthy zone.
    interval: SignedDuration,
    nodes: BTreeMap<String, Standing>,
    zones: BTreeMap<String, Zone>,
}

struct Zone {
    /// The time between two nodes while the zone is healthy.
    normal: SignedDuration,
    state: State,
    /// The number of nodes, those that do not count included.
    members: usize,
    ready: usize,
    not_ready: usize,
    limiter: Limiter,
    /// The nodes that are to be tainted, in order.
    waiting: VecDeque<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Initial,
    Normal,
    Partial,
    Full,
}

/// The consequence of a change of a node's standing.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Nothing,
    /// No node of the cluster is ready any more: all evictions end.
    AllDead,
    /// Some node is ready again: all nodes start over.
    SomeAlive,
    /// The limit of a zone is another one: these nodes wait for it.
    Limit(Vec<String>),
}

/// The result for a node that should be tainted.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Now,
    Later(Duration),
    /// At an unknown time.
    Waits,
}

impl Standing {
    pub(super) fn of(node: &Node, is_ready: bool) -> Self {
        let either = |stable: &str, beta: &str| {
            let label = node.label(stable).filter(|value| !value.is_empty());
            label
                .or_else(|| node.label(beta))
                .unwrap_or_default()
                .to_owned()
        };
        let region = either(
            "topology.kubernetes.io/region",
            "failure-domain.beta.kubernetes.io/region",
        );
        let zone = either(
            "topology.kubernetes.io/zone",
            "failure-domain.beta.kubernetes.io/zone",
        );
        Self {
            zone: format!("{region}:\0:{zone}"),
            is_ready,
            counts: node.label(EXCLUDED).is_none(),
        }
    }
}

impl Zones {
    /// Creates zones of which one node is tainted in each interval while they are healthy.
    pub(super) fn new(interval: SignedDuration) -> Self {
        Self {
            interval,
            nodes: BTreeMap::new(),
            zones: BTreeMap::new(),
        }
    }

    /// Takes down the standing of a node; `None` if it is gone.
    pub(super) fn place(&mut self, node: &str, standing: Option<Standing>) -> Effect {
        let before = match &standing {
            Some(new) => self.nodes.insert(node.to_owned(), new.clone()),
            None => self.nodes.remove(node),
        };
        if before == standing {
            return Effect::Nothing;
        }
        let left = before.as_ref().map(|before| &before.zone);
        if left != standing.as_ref().map(|new| &new.zone) || standing.is_none() {
            self.forget(node, left.cloned().as_deref());
        }
        if let Some(before) = before
            && let Some(zone) = self.zones.get_mut(&before.zone)
        {
            zone.members = zone.members.saturating_sub(1);
            if before.counts {
                let count = zone.count(before.is_ready);
                *count = count.saturating_sub(1);
            }
        }
        if let Some(new) = standing {
            let interval = self.interval;
            let zone = self.zones.entry(new.zone);
            let zone = zone.or_insert_with(|| Zone::new(interval));
            zone.members += 1;
            if new.counts {
                *zone.count(new.is_ready) += 1;
            }
        }
        self.evaluate()
    }

    /// Asks for permission to taint a node for eviction.
    pub(super) fn turn(&mut self, node: &str, now: Timestamp) -> Turn {
        let zone = self.nodes.get(node).map(|standing| &standing.zone);
        let Some(zone) = zone.and_then(|zone| self.zones.get_mut(zone)) else {
            return Turn::Waits;
        };
        let place = match zone.waiting.iter().position(|other| other == node) {
            Some(place) => place,
            None => {
                zone.waiting.push_back(node.to_owned());
                zone.waiting.len() - 1
            }
        };
        let turn = zone.limiter.turn(place, now);
        if turn == Turn::Now {
            zone.waiting.pop_front();
        }
        turn
    }

    /// Cancels the tainting of a node.
    pub(super) fn cancel(&mut self, node: &str) {
        let zone = self.nodes.get(node).map(|standing| standing.zone.clone());
        self.forget(node, zone.as_deref());
    }

    fn forget(&mut self, node: &str, zone: Option<&str>) {
        if let Some(zone) = zone.and_then(|zone| self.zones.get_mut(zone)) {
            zone.waiting.retain(|other| other != node);
        }
    }

    /// Finds the new states of the zones, and sets their limits.
    fn evaluate(&mut self) -> Effect {
        self.zones.retain(|_, zone| zone.members > 0);
        let counted = || {
            self.zones
                .values()
                .filter(|zone| zone.ready + zone.not_ready > 0)
        };
        let was_dead = counted().all(|zone| zone.state == State::Full);
        let is_dead = counted().all(|zone| zone.found() == State::Full);
        match (was_dead, is_dead) {
            (true, true) => return Effect::Nothing,
            (false, true) => {
                for zone in self.zones.values_mut() {
                    zone.state = State::Full;
                    zone.limiter.set(None);
                }
                return Effect::AllDead;
            }
            _ => {}
        }
        let mut waiting = Vec::new();
        for zone in self.zones.values_mut() {
            let found = zone.found();
            if found != zone.state || was_dead {
                zone.state = found;
                zone.limiter.set(zone.interval());
                waiting.extend(zone.waiting.iter().cloned());
            }
        }
        match (was_dead, waiting.is_empty()) {
            (true, _) => Effect::SomeAlive,
            (false, true) => Effect::Nothing,
            (false, false) => Effect::Limit(waiting),
        }
    }
}

impl Zone {
    fn new(normal: SignedDuration) -> Self {
        Self {
            normal,
            state: State::default(),
            members: 0,
            ready: 0,
            not_ready: 0,
            limiter: Limiter {
                interval: Some(normal),
                next: Timestamp::MIN,
            },
            waiting: VecDeque::new(),
        }
    }

    fn count(&mut self, is_ready: bool) -> &mut usize {
        match is_ready {
            true => &mut self.ready,
            false => &mut self.not_ready,
        }
    }

    fn found(&self) -> State {
        let all = self.ready + self.not_ready;
        match self.ready {
            0 if self.not_ready > 0 => State::Full,
            _ if self.not_ready > 2 && self.not_ready * 100 >= all * UNHEALTHY => State::Partial,
            _ => State::Normal,
        }
    }

    fn interval(&self) -> Option<SignedDuration> {
        match self.state {
            State::Partial if self.ready + self.not_ready > LARGE => Some(LARGE_INTERVAL),
            State::Partial => None,
            _ => Some(self.normal),
        }
    }
}

/// A limit with room for one at once.
struct Limiter {
    interval: Option<SignedDuration>,
    /// The time at which the next one may go.
    next: Timestamp,
}

impl Limiter {
    fn set(&mut self, interval: Option<SignedDuration>) {
        self.interval = interval;
    }

    /// Answers the node with that many before it.
    fn turn(&mut self, place: usize, now: Timestamp) -> Turn {
        let Some(interval) = self.interval else {
            return Turn::Waits;
        };
        let before = i32::try_from(place).unwrap_or(i32::MAX);
        let wait = interval.saturating_mul(before);
        let first = self.next.max(now);
        if place == 0 && first == now {
            self.next = now.saturating_add(interval).unwrap_or(now);
            return Turn::Now;
        }
        let wait = first.duration_since(now).saturating_add(wait);
        Turn::Later(Duration::try_from(wait).unwrap_or(Duration::ZERO))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: SignedDuration = SignedDuration::from_secs(10);

    fn standing(is_ready: bool) -> Option<Standing> {
        Some(Standing {
            zone: "a".to_owned(),
            is_ready,
            counts: true,
        })
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    /// Returns a zone of that many nodes, the first of which are ready.
    fn zone(count: usize, ready: usize) -> Zones {
        let mut zones = Zones::new(INTERVAL);
        for i in 0..count {
            zones.place(&format!("n{i}"), standing(true));
        }
        for i in ready..count {
            zones.place(&format!("n{i}"), standing(false));
        }
        zones
    }

    #[test]
    fn nodes_are_tainted_one_after_the_other() {
        let mut zones = zone(10, 7);
        assert_eq!(zones.turn("n8", at(0)), Turn::Now);
        assert_eq!(zones.turn("n9", at(4)), Turn::Later(Duration::from_secs(6)));
        assert_eq!(
            zones.turn("n7", at(4)),
            Turn::Later(Duration::from_secs(16))
        );
        assert_eq!(
            zones.turn("n7", at(10)),
            Turn::Later(Duration::from_secs(10))
        );
        zones.cancel("n9");
        assert_eq!(zones.turn("n7", at(10)), Turn::Now);
    }

    #[test]
    fn a_small_zone_that_is_disrupted_loses_no_pods_and_a_large_one_slowly() {
        let mut small = zone(10, 4);
        assert_eq!(small.turn("n9", at(0)), Turn::Waits);
        // Its nodes wait until it has recovered.
        assert_eq!(
            small.place("n4", standing(true)),
            Effect::Limit(vec!["n9".to_owned()])
        );
        assert_eq!(small.turn("n9", at(0)), Turn::Now);
        let mut large = zone(60, 10);
        assert_eq!(large.turn("n50", at(0)), Turn::Now);
        assert_eq!(
            large.turn("n51", at(0)),
            Turn::Later(Duration::from_secs(100))
        );
    }

    #[test]
    fn two_nodes_of_a_zone_may_always_fail() {
        let mut zones = zone(3, 1);
        assert_eq!(zones.turn("n1", at(0)), Turn::Now);
    }

    #[test]
    fn nothing_is_evicted_while_no_node_is_ready() {
        let mut zones = zone(2, 1);
        assert_eq!(zones.place("n0", standing(false)), Effect::AllDead);
        assert_eq!(zones.turn("n0", at(0)), Turn::Waits);
        assert_eq!(zones.place("n2", standing(false)), Effect::Nothing);
        assert_eq!(zones.place("n0", standing(true)), Effect::SomeAlive);
        assert_eq!(
            zones.turn("n1", at(0)),
            Turn::Later(Duration::from_secs(10))
        );
    }

    #[test]
    fn zones_follow_from_labels_and_some_nodes_do_not_count() {
        let node = |labels: serde_json::Value| -> Node {
            serde_json::from_value(serde_json::json!({"metadata": {"labels": labels}})).unwrap()
        };
        let east = node(serde_json::json!({"topology.kubernetes.io/zone": "east"}));
        let old = node(serde_json::json!({"failure-domain.beta.kubernetes.io/zone": "east"}));
        assert_eq!(Standing::of(&east, true), Standing::of(&old, true));
        let excluded = node(serde_json::json!({"node.kubernetes.io/exclude-disruption": ""}));
        assert!(!Standing::of(&excluded, true).counts);
    }
}
