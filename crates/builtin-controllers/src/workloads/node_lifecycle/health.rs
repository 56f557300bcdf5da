//! [`Health`]: the last sign of life of a node.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::workloads::objects::{Lease, Node};

/// The time that a new node has until its first status.
const STARTUP_GRACE: SignedDuration = SignedDuration::from_secs(60);

/// The last sign of life of a node, by the clock of the controller: a new heartbeat in its status, or a renewed lease.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Health {
    pub(super) since: Timestamp,
    /// The heartbeat of the condition `Ready`, if there is that condition.
    heartbeat: Option<Option<Time>>,
    renewed: Option<Timestamp>,
    is_elided: bool,
}

impl Health {
    /// Returns the health of a node that was checked now.
    pub(super) fn observe(
        before: Option<&Self>,
        node: &Node,
        lease: Option<&Lease>,
        now: Timestamp,
    ) -> Self {
        let heartbeat = node
            .readiness()
            .map(|ready| ready.last_heartbeat_time.clone());
        let renewed = lease.and_then(|lease| Some(lease.spec.renew_time.as_ref()?.0));
        let created = node.metadata.creation_timestamp.as_ref().map(|at| at.0);
        let mut since = match before {
            None if heartbeat.is_none() => created.unwrap_or(now),
            Some(before) if before.heartbeat == heartbeat => before.since,
            _ => now,
        };
        let known = before.and_then(|before| before.renewed);
        if renewed > known {
            since = now;
        }
        let is_elided = lease.is_some_and(Lease::is_elided);
        if before.is_some_and(|before| before.is_elided) && !is_elided {
            // It was alive until now.
            since = now;
        }
        Self {
            since,
            heartbeat,
            renewed: renewed.max(known),
            is_elided,
        }
    }

    /// Returns the time from which the node counts as silent, which may be silent for `grace`; `None` for one whose heartbeats
    /// are elided.
    pub(super) fn end(&self, grace: SignedDuration) -> Option<Timestamp> {
        let grace = match self.heartbeat {
            Some(_) => grace,
            None => STARTUP_GRACE,
        };
        match self.is_elided {
            true => None,
            false => self.since.saturating_add(grace).ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const GRACE: SignedDuration = SignedDuration::from_secs(50);

    const CREATED: &str = "2026-01-01T00:00:00Z";

    fn at(seconds: i64) -> Timestamp {
        let created: Timestamp = CREATED.parse().unwrap();
        created + SignedDuration::from_secs(seconds)
    }

    fn node(conditions: Value) -> Node {
        serde_json::from_value(json!({
            "metadata": {"name": "n", "creationTimestamp": CREATED},
            "status": {"conditions": conditions},
        }))
        .unwrap()
    }

    fn beat(second: i64) -> Node {
        node(json!([{"type": "Ready", "status": "True", "lastHeartbeatTime": at(second)}]))
    }

    fn lease(second: i64, heartbeats: &str) -> Lease {
        serde_json::from_value(json!({
            "metadata": {"annotations": {"kubewright.dev/heartbeats": heartbeats}},
            "spec": {"renewTime": at(second).strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()},
        }))
        .unwrap()
    }

    #[test]
    fn a_node_without_a_status_has_a_minute_from_its_creation() {
        let new = Health::observe(None, &node(json!([])), None, at(5));
        assert_eq!(new.end(GRACE), Some(at(60)));
        let later = Health::observe(Some(&new), &node(json!([])), None, at(30));
        assert_eq!(later, new);
        let posted = Health::observe(Some(&new), &beat(31), None, at(31));
        assert_eq!(posted.end(GRACE), Some(at(81)));
    }

    #[test]
    fn a_heartbeat_or_a_renewed_lease_is_a_sign_of_life() {
        let first = Health::observe(None, &beat(0), Some(&lease(0, "")), at(1));
        assert_eq!(first.end(GRACE), Some(at(51)));
        let same = Health::observe(Some(&first), &beat(0), Some(&lease(0, "")), at(20));
        assert_eq!(same.end(GRACE), Some(at(51)));
        let renewed = Health::observe(Some(&same), &beat(0), Some(&lease(10, "")), at(21));
        assert_eq!(renewed.end(GRACE), Some(at(71)));
        let posted = Health::observe(Some(&renewed), &beat(9), Some(&lease(10, "")), at(22));
        assert_eq!(posted.end(GRACE), Some(at(72)));
        // A lease that goes back in time is none.
        let old = Health::observe(Some(&posted), &beat(9), Some(&lease(3, "")), at(30));
        assert_eq!(old.end(GRACE), Some(at(72)));
    }

    #[test]
    fn elided_heartbeats_count_until_they_end() {
        let alive = Health::observe(None, &beat(0), Some(&lease(0, "elided")), at(1));
        assert_eq!(alive.end(GRACE), None);
        let silent = Health::observe(Some(&alive), &beat(0), Some(&lease(0, "")), at(500));
        assert_eq!(silent.end(GRACE), Some(at(550)));
    }
}
