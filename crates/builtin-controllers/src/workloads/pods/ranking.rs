//! The order in which the pods of a set are deleted.

use std::cmp::Ordering;

use jiff::Timestamp;
use kube::ResourceExt;

use crate::workloads::objects::Pod;

/// The annotation with the cost of deleting a pod.
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// A pod, and the number of active pods of related sets on its node.
pub(crate) struct Ranked<P> {
    pub(crate) pod: P,
    pub(crate) colocated: usize,
}

/// Compares two pods; the smaller is deleted first. First go pods that are not scheduled, have not started, are not ready, or
/// are cheap; then those with many others on their node, and those that are ready for a short time, restart often, or are
/// new. Ages are compared by their order of magnitude, so that a newer pod is not always the one to go.
///
/// kube-controller-manager compares restarts only if pods are ready since exactly the same time, and UIDs first otherwise. With
/// three pods, that comparison can contradict itself, and a sort has no result. Here, restarts count within an order of magnitude.
pub(crate) fn by_preference<P: AsRef<Pod>>(
    a: &Ranked<P>,
    b: &Ranked<P>,
    now: Timestamp,
) -> Ordering {
    let (first, second) = (a.pod.as_ref(), b.pod.as_ref());
    let is_assigned = |pod: &Pod| !pod.spec.node_name.is_empty();
    let is_ready = |pod: &Pod| pod.ready().is_some();
    is_assigned(first)
        .cmp(&is_assigned(second))
        .then_with(|| phase(first).cmp(&phase(second)))
        .then_with(|| is_ready(first).cmp(&is_ready(second)))
        .then_with(|| cost(first).cmp(&cost(second)))
        .then_with(|| b.colocated.cmp(&a.colocated))
        .then_with(|| match is_ready(first) && is_ready(second) {
            true => age(first.ready_since(), now).cmp(&age(second.ready_since(), now)),
            false => Ordering::Equal,
        })
        .then_with(|| restarts(second).cmp(&restarts(first)))
        .then_with(|| age(created_at(first), now).cmp(&age(created_at(second), now)))
        .then_with(|| first.metadata.uid.cmp(&second.metadata.uid))
}

/// Compares two pods like [`by_preference`], but by neither costs nor neighbours, and by exact ages.
pub(crate) fn by_use(a: &Pod, b: &Pod) -> Ordering {
    let is_assigned = |pod: &Pod| !pod.spec.node_name.is_empty();
    let is_ready = |pod: &Pod| pod.ready().is_some();
    // The later goes first; a missing time is the latest.
    let later = |a: Option<Timestamp>, b: Option<Timestamp>| match (a, b) {
        (Some(a), Some(b)) => b.cmp(&a),
        (a, b) => a.is_some().cmp(&b.is_some()),
    };
    is_assigned(a)
        .cmp(&is_assigned(b))
        .then_with(|| phase(a).cmp(&phase(b)))
        .then_with(|| is_ready(a).cmp(&is_ready(b)))
        .then_with(|| match is_ready(a) && is_ready(b) {
            true => later(a.ready_since(), b.ready_since()),
            false => Ordering::Equal,
        })
        .then_with(|| restarts(b).cmp(&restarts(a)))
        .then_with(|| later(created_at(a), created_at(b)))
}

fn phase(pod: &Pod) -> u8 {
    match pod.status.phase.as_str() {
        "Unknown" => 1,
        "Running" => 2,
        _ => 0,
    }
}

fn cost(pod: &Pod) -> i32 {
    let text = pod.annotations().get(DELETION_COST);
    // As everywhere in the API, a number with a sign or leading zeros is not one.
    text.filter(|text| is_plain_number(text))
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
}

fn is_plain_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !text.starts_with('+') && (digits == "0" || !digits.starts_with('0'))
}

fn created_at(pod: &Pod) -> Option<Timestamp> {
    Some(pod.metadata.creation_timestamp.as_ref()?.0)
}

/// Returns the highest numbers of restarts of containers and of sidecars.
fn restarts(pod: &Pod) -> (i32, i32) {
    let is_sidecar = |name: &str| {
        pod.spec.init_containers.iter().any(|container| {
            container.name == name && container.restart_policy.as_deref() == Some("Always")
        })
    };
    let most = |counts: &mut dyn Iterator<Item = i32>| counts.max().unwrap_or(0);
    let containers = &mut pod.status.container_statuses.iter();
    let sidecars = &mut pod.status.init_container_statuses.iter();
    (
        most(&mut containers.map(|status| status.restart_count)),
        most(
            &mut sidecars
                .filter(|status| is_sidecar(&status.name))
                .map(|status| status.restart_count),
        ),
    )
}

/// Returns the order of magnitude of an age. A missing time is the shortest age.
fn age(since: Option<Timestamp>, now: Timestamp) -> Option<i64> {
    since.map(|since| magnitude(now, since))
}

/// Returns the binary logarithm of an age in nanoseconds; -1 if there is none.
fn magnitude(now: Timestamp, since: Timestamp) -> i64 {
    let age = now.as_nanosecond() - since.as_nanosecond();
    match u128::try_from(age) {
        Ok(age) if age > 0 => i64::from(age.ilog2()),
        _ => -1,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    struct Case(Pod);

    impl AsRef<Pod> for Case {
        fn as_ref(&self) -> &Pod {
            &self.0
        }
    }

    fn pod(uid: &str, json: Value) -> Ranked<Case> {
        let mut pod: Pod = serde_json::from_value(json).unwrap();
        pod.metadata.uid = Some(uid.into());
        Ranked {
            pod: Case(pod),
            colocated: 0,
        }
    }

    /// Returns a pod that is ready since some seconds of the day.
    fn ready(uid: &str, second: u32, extra: Value) -> Ranked<Case> {
        let at = format!("2026-01-01T00:00:{second:02}Z");
        let mut json = json!({
            "metadata": {"creationTimestamp": "2026-01-01T00:00:00Z", "annotations": {}},
            "spec": {"nodeName": "n"},
            "status": {"phase": "Running", "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": at},
            ]},
        });
        for (pointer, value) in extra.as_object().unwrap() {
            *json.pointer_mut(pointer).unwrap() = value.clone();
        }
        pod(uid, json)
    }

    fn order(mut pods: Vec<Ranked<Case>>) -> Vec<String> {
        let now: Timestamp = "2026-01-01T00:01:00Z".parse().unwrap();
        pods.sort_by(|a, b| by_preference(a, b, now));
        let uid = |ranked: Ranked<Case>| ranked.pod.0.metadata.uid.unwrap();
        pods.into_iter().map(uid).collect()
    }

    #[test]
    fn pods_go_in_the_order_of_their_use() {
        let pods = vec![
            ready("h-old", 0, json!({})),
            ready("g-young", 59, json!({})),
            ready(
                "f-cheap",
                0,
                json!({"/metadata/annotations": {DELETION_COST: "-5"}}),
            ),
            pod(
                "e-not-ready",
                json!({"spec": {"nodeName": "n"}, "status": {"phase": "Running"}}),
            ),
            pod(
                "d-unknown",
                json!({"spec": {"nodeName": "n"}, "status": {"phase": "Unknown"}}),
            ),
            pod(
                "c-pending",
                json!({"spec": {"nodeName": "n"}, "status": {"phase": "Pending"}}),
            ),
            pod("b-nowhere", json!({"status": {"phase": "Running"}})),
        ];
        assert_eq!(
            order(pods),
            [
                "b-nowhere",
                "c-pending",
                "d-unknown",
                "e-not-ready",
                "f-cheap",
                "g-young",
                "h-old"
            ]
        );
    }

    #[test]
    fn pods_of_similar_age_go_in_the_order_of_their_uids() {
        let pods = vec![ready("b", 1, json!({})), ready("a", 0, json!({}))];
        assert_eq!(order(pods), ["a", "b"]);
    }

    #[test]
    fn the_order_does_not_contradict_itself() {
        let restarted = |uid: &str, second: u32, count: i32| {
            let mut pod = ready(uid, second, json!({}));
            let statuses = json!([{"name": "c", "restartCount": count}]);
            pod.pod.0.status.container_statuses = serde_json::from_value(statuses).unwrap();
            pod
        };
        // Of the first two, the restarts differ; by UID, the last one is between them.
        let pods = || {
            [
                restarted("a", 0, 0),
                restarted("c", 0, 3),
                restarted("b", 1, 0),
            ]
        };
        let expected = ["c", "a", "b"];
        assert_eq!(order(pods().into()), expected);
        assert_eq!(order(pods().into_iter().rev().collect()), expected);
    }

    #[test]
    fn of_two_on_a_node_one_goes_first_and_so_does_what_restarts() {
        let mut crowded = ready("z", 0, json!({}));
        crowded.colocated = 2;
        assert_eq!(order(vec![ready("a", 59, json!({})), crowded]), ["z", "a"]);
        let restarting = json!({"metadata": {}, "spec": {"nodeName": "n"}, "status": {
            "phase": "Running", "containerStatuses": [{"name": "c", "restartCount": 3}],
        }});
        let calm =
            json!({"metadata": {}, "spec": {"nodeName": "n"}, "status": {"phase": "Running"}});
        assert_eq!(
            order(vec![pod("a", calm), pod("z", restarting)]),
            ["z", "a"]
        );
    }

    #[test]
    fn pods_of_a_job_go_by_exact_ages_and_whatever_they_cost() {
        let old = ready(
            "a",
            0,
            json!({"/metadata/annotations": {DELETION_COST: "-5"}}),
        );
        let young = ready("b", 1, json!({}));
        let pending = pod(
            "c",
            json!({"spec": {"nodeName": "n"}, "status": {"phase": "Pending"}}),
        );
        let mut pods = [&old.pod.0, &young.pod.0, &pending.pod.0];
        pods.sort_by(|a, b| by_use(a, b));
        assert_eq!(pods.map(Pod::uid), ["c", "b", "a"]);
    }

    #[test]
    fn a_cost_that_is_no_number_counts_as_none() {
        for text in ["+5", "05", "x", "2147483648", ""] {
            let annotated = json!({"/metadata/annotations": {DELETION_COST: text}});
            assert_eq!(cost(&ready("a", 0, annotated).pod.0), 0, "{text}");
        }
    }
}
