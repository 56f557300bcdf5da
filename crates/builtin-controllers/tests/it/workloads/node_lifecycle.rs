//! Nodes that fall silent, their taints, and the eviction of their pods.

use std::time::Duration;

use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::{Node, Pod},
};
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::{Value, json};

use super::conditions;
use crate::fixture::Fixture;

const CONTROLLERS: &str = "nodelifecycle,taint-eviction-controller";

fn nodes(f: &Fixture) -> Api<Node> {
    Api::all(f.client())
}

fn leases(f: &Fixture) -> Api<Lease> {
    Api::namespaced(f.client(), "kube-node-lease")
}

/// Creates a node that is ready and whose heartbeats are elided.
async fn node(f: &Fixture, name: &str) {
    lease(f, name, "elided").await;
    f.create(json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"conditions": [{
            "type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z",
        }]},
    }))
    .await;
    f.settled().await;
}

async fn lease(f: &Fixture, name: &str, heartbeats: &str) {
    f.create(json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {
            "name": name, "namespace": "kube-node-lease",
            "annotations": {"kubewright.dev/heartbeats": heartbeats},
        },
        "spec": {"renewTime": "2026-01-01T00:00:00.000000Z"},
    }))
    .await;
}

/// Ends the heartbeats of a node, or lets them begin again.
async fn heartbeats(f: &Fixture, name: &str, heartbeats: Value) {
    let patch = json!({"metadata": {"annotations": {"kubewright.dev/heartbeats": heartbeats}}});
    let (patch, params) = (Patch::Merge(patch), PatchParams::default());
    leases(f).patch(name, &params, &patch).await.unwrap();
    f.settled().await;
}

async fn fall_silent(f: &Fixture, name: &str) {
    heartbeats(f, name, Value::Null).await;
}

/// Posts the status of a node, as its kubelet does.
async fn post(f: &Fixture, name: &str, condition: &str, status: &str) {
    let condition = json!({
        "type": condition, "status": status, "reason": "KubeletReady",
        "lastHeartbeatTime": "2026-01-02T00:00:00Z",
    });
    let patch = Patch::Strategic(json!({"status": {"conditions": [condition]}}));
    let params = PatchParams::default();
    nodes(f).patch_status(name, &params, &patch).await.unwrap();
    f.settled().await;
}

async fn change(f: &Fixture, name: &str, change: Value) {
    let (patch, params) = (Patch::Merge(change), PatchParams::default());
    nodes(f).patch(name, &params, &patch).await.unwrap();
    f.settled().await;
}

async fn pod(f: &Fixture, name: &str, node: &str, tolerations: Value) {
    f.create(json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "nodeName": node, "containers": [{"name": "c", "image": "i"}],
            "tolerations": tolerations,
        },
    }))
    .await;
    f.make_ready(name).await;
    f.settled().await;
}

async fn advance(f: &Fixture, seconds: u64) {
    f.cluster.time().advance(Duration::from_secs(seconds)).await;
    f.settled().await;
}

async fn get(f: &Fixture, name: &str) -> Value {
    json!(nodes(f).get(name).await.unwrap())
}

/// Returns the taints of a node as keys, without their prefix, and effects.
async fn taints(f: &Fixture, name: &str) -> Vec<String> {
    let node = get(f, name).await;
    let taints = node["spec"]["taints"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let text = |taint: &Value, field: &str| taint[field].as_str().unwrap().to_owned();
    let short = |taint: &Value| {
        let key = text(taint, "key").replace("node.kubernetes.io/", "");
        format!("{key}:{}", text(taint, "effect"))
    };
    let mut found: Vec<String> = taints.iter().map(short).collect();
    found.sort();
    found
}

async fn find(f: &Fixture, name: &str) -> Option<Pod> {
    f.pods().get_opt(name).await.unwrap()
}

fn event(reason: &str, message: &str) -> (String, String) {
    (reason.to_owned(), message.to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_node_that_falls_silent_is_unknown_and_its_pods_are_not_ready() {
    let f = Fixture::start(CONTROLLERS).await;
    node(&f, "n1").await;
    node(&f, "n2").await;
    pod(&f, "p1", "n1", json!([])).await;
    advance(&f, 600).await;
    assert_eq!(taints(&f, "n1").await, [""; 0]);
    fall_silent(&f, "n1").await;
    advance(&f, 49).await;
    assert_eq!(conditions(&get(&f, "n1").await)[0][1], "True");
    advance(&f, 2).await;
    let silent = get(&f, "n1").await;
    let unknown = |kind: &str, reason: &str| [kind, "Unknown", reason].map(str::to_owned);
    assert_eq!(
        conditions(&silent),
        [
            unknown("Ready", "NodeStatusUnknown"),
            unknown("MemoryPressure", "NodeStatusNeverUpdated"),
            unknown("DiskPressure", "NodeStatusNeverUpdated"),
            unknown("PIDPressure", "NodeStatusNeverUpdated"),
        ]
    );
    let ready = &silent["status"]["conditions"][0];
    assert_eq!(ready["message"], "Kubelet stopped posting node status.");
    assert_eq!(ready["lastHeartbeatTime"], "2026-01-01T00:00:00Z");
    assert_eq!(
        taints(&f, "n1").await,
        ["unreachable:NoExecute", "unreachable:NoSchedule"]
    );
    for taint in silent["spec"]["taints"].as_array().unwrap() {
        assert!(taint["timeAdded"].is_string());
    }
    let managers = silent["metadata"]["managedFields"].as_array().unwrap();
    let is_ours = |entry: &&Value| entry["manager"] == "kube-controller-manager";
    assert_eq!(managers.iter().filter(is_ours).count(), 2);
    let ready = &json!(find(&f, "p1").await.unwrap())["status"]["conditions"][0];
    assert_eq!(ready["status"], "False");
    assert_eq!(
        f.events("p1").await,
        [(event("NodeNotReady", "Node is not ready"), 1)].into()
    );
    let told = f.events("n1").await;
    assert_eq!(
        told,
        [
            (
                event("NodeNotReady", "Node n1 status is now: NodeNotReady"),
                1
            ),
            (
                event(
                    "RegisteredNode",
                    "Node n1 event: Registered Node n1 in Controller"
                ),
                1
            ),
        ]
        .into()
    );
    // A pod that says that it is ready on such a node is not.
    pod(&f, "p2", "n1", json!([])).await;
    // The other node is alive.
    assert_eq!(taints(&f, "n2").await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_comes_back_loses_its_taints() {
    let f = Fixture::start(CONTROLLERS).await;
    node(&f, "n1").await;
    node(&f, "n2").await;
    pod(&f, "p1", "n1", json!([])).await;
    fall_silent(&f, "n1").await;
    advance(&f, 60).await;
    assert_eq!(taints(&f, "n1").await.len(), 2);
    heartbeats(&f, "n1", json!("elided")).await;
    post(&f, "n1", "Ready", "True").await;
    assert_eq!(taints(&f, "n1").await, [""; 0]);
    advance(&f, 1000).await;
    assert!(
        find(&f, "p1")
            .await
            .unwrap()
            .metadata
            .deletion_timestamp
            .is_none()
    );
    let told = f.events("p1").await;
    assert_eq!(
        told[&event(
            "TaintManagerEviction",
            "Cancelling deletion of Pod default/p1"
        )],
        1
    );
    assert!(!told.contains_key(&event(
        "TaintManagerEviction",
        "Marking for deletion Pod default/p1"
    )));
}

#[tokio::test(start_paused = true)]
async fn a_node_without_a_status_has_a_minute() {
    let f = Fixture::start(CONTROLLERS).await;
    node(&f, "n2").await;
    f.create(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}))
        .await;
    f.settled().await;
    advance(&f, 58).await;
    assert_eq!(conditions(&get(&f, "n1").await).len(), 0);
    advance(&f, 4).await;
    let silent = get(&f, "n1").await;
    let ready = &silent["status"]["conditions"][0];
    assert_eq!(ready["reason"], "NodeStatusNeverUpdated");
    assert_eq!(ready["message"], "Kubelet never posted node status.");
    assert_eq!(
        ready["lastHeartbeatTime"],
        silent["metadata"]["creationTimestamp"]
    );
}

#[tokio::test(start_paused = true)]
async fn renewed_leases_keep_a_node_alive() {
    let f = Fixture::start(CONTROLLERS).await;
    node(&f, "n1").await;
    fall_silent(&f, "n1").await;
    for minute in 0..5 {
        advance(&f, 40).await;
        let renewed = format!("2026-01-01T00:{minute:02}:30.000000Z");
        let patch = Patch::Merge(json!({"spec": {"renewTime": renewed}}));
        let params = PatchParams::default();
        leases(&f).patch("n1", &params, &patch).await.unwrap();
        f.settled().await;
    }
    assert_eq!(conditions(&get(&f, "n1").await)[0][1], "True");
    advance(&f, 51).await;
    assert_eq!(conditions(&get(&f, "n1").await)[0][1], "Unknown");
}

#[tokio::test(start_paused = true)]
async fn pods_leave_a_silent_node_when_their_toleration_ends() {
    let f = Fixture::start(CONTROLLERS).await;
    node(&f, "n1").await;
    node(&f, "n2").await;
    pod(&f, "usual", "n1", json!([])).await;
    pod(&f, "short", "n1", json!([
        {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30},
    ]))
    .await;
    pod(&f, "stays", "n1", json!([{"operator": "Exists"}])).await;
    fall_silent(&f, "n1").await;
    advance(&f, 51).await;
    let is_deleted = async |name: &str| {
        let pod = find(&f, name).await.unwrap();
        pod.metadata.deletion_timestamp.is_some()
    };
    assert!(!is_deleted("short").await);
    advance(&f, 31).await;
    assert!(is_deleted("short").await && !is_deleted("usual").await);
    advance(&f, 260).await;
    assert!(!is_deleted("usual").await);
    advance(&f, 12).await;
    assert!(is_deleted("usual").await);
    advance(&f, 1000).await;
    assert!(!is_deleted("stays").await);
    let left = json!(find(&f, "usual").await.unwrap());
    assert_eq!(left["metadata"]["deletionGracePeriodSeconds"], 30);
    let target = conditions(&left)
        .into_iter()
        .find(|c| c[0] == "DisruptionTarget");
    assert_eq!(
        target.unwrap(),
        ["DisruptionTarget", "True", "DeletionByTaintManager"]
    );
    assert_eq!(
        f.events("usual").await[&event(
            "TaintManagerEviction",
            "Marking for deletion Pod default/usual"
        )],
        1
    );
}

#[tokio::test(start_paused = true)]
async fn a_taint_that_a_pod_does_not_tolerate_evicts_it_at_once() {
    let f = Fixture::start(CONTROLLERS).await;
    node(&f, "n1").await;
    pod(&f, "p1", "n1", json!([])).await;
    pod(
        &f,
        "p2",
        "n1",
        json!([{"key": "own", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}]),
    )
    .await;
    let taint = |effect: &str| json!({"spec": {"taints": [{"key": "own", "effect": effect}]}});
    change(&f, "n1", taint("NoSchedule")).await;
    assert!(
        find(&f, "p1")
            .await
            .unwrap()
            .metadata
            .deletion_timestamp
            .is_none()
    );
    change(&f, "n1", taint("NoExecute")).await;
    assert!(
        find(&f, "p1")
            .await
            .unwrap()
            .metadata
            .deletion_timestamp
            .is_some()
    );
    advance(&f, 30).await;
    change(&f, "n1", json!({"spec": {"taints": null}})).await;
    advance(&f, 60).await;
    assert!(
        find(&f, "p2")
            .await
            .unwrap()
            .metadata
            .deletion_timestamp
            .is_none()
    );
    // A pod that is bound there later is looked at too.
    change(&f, "n1", taint("NoExecute")).await;
    pod(&f, "p3", "n1", json!([])).await;
    assert!(
        find(&f, "p3")
            .await
            .unwrap()
            .metadata
            .deletion_timestamp
            .is_some()
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_is_evicted_while_all_nodes_are_silent() {
    let f = Fixture::start(CONTROLLERS).await;
    node(&f, "n1").await;
    node(&f, "n2").await;
    pod(&f, "p1", "n1", json!([])).await;
    fall_silent(&f, "n1").await;
    advance(&f, 51).await;
    assert_eq!(taints(&f, "n1").await.len(), 2);
    fall_silent(&f, "n2").await;
    advance(&f, 51).await;
    for name in ["n1", "n2"] {
        assert_eq!(taints(&f, name).await, ["unreachable:NoSchedule"], "{name}");
    }
    advance(&f, 10_000).await;
    assert!(
        find(&f, "p1")
            .await
            .unwrap()
            .metadata
            .deletion_timestamp
            .is_none()
    );
    // One of them comes back: the other one is evicted from again.
    heartbeats(&f, "n2", json!("elided")).await;
    post(&f, "n2", "Ready", "True").await;
    advance(&f, 20).await;
    assert_eq!(taints(&f, "n1").await.len(), 2);
    assert_eq!(taints(&f, "n2").await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn silent_nodes_are_evicted_from_one_after_the_other() {
    let f = Fixture::start(CONTROLLERS).await;
    for i in 1..=6 {
        node(&f, &format!("n{i}")).await;
    }
    for name in ["n1", "n2", "n3"] {
        fall_silent(&f, name).await;
    }
    let evicted = async || {
        let mut count = 0;
        for i in 1..=6 {
            let taints = taints(&f, &format!("n{i}")).await;
            count += usize::from(taints.contains(&"unreachable:NoExecute".to_owned()));
        }
        count
    };
    advance(&f, 51).await;
    assert_eq!(evicted().await, 1);
    advance(&f, 10).await;
    assert_eq!(evicted().await, 2);
    advance(&f, 10).await;
    assert_eq!(evicted().await, 3);
}

#[tokio::test(start_paused = true)]
async fn conditions_and_cordons_taint_nodes() {
    let f = Fixture::start(CONTROLLERS).await;
    node(&f, "n1").await;
    node(&f, "n2").await;
    change(&f, "n1", json!({"spec": {"unschedulable": true, "taints": [{"key": "own", "effect": "NoSchedule"}]}}))
        .await;
    post(&f, "n1", "DiskPressure", "True").await;
    assert_eq!(
        taints(&f, "n1").await,
        [
            "disk-pressure:NoSchedule",
            "own:NoSchedule",
            "unschedulable:NoSchedule"
        ]
    );
    change(&f, "n1", json!({"spec": {"unschedulable": false}})).await;
    post(&f, "n1", "DiskPressure", "False").await;
    assert_eq!(taints(&f, "n1").await, ["own:NoSchedule"]);
    // A node that says itself that it is not ready marks its pods itself.
    pod(&f, "p1", "n1", json!([])).await;
    post(&f, "n1", "Ready", "False").await;
    assert_eq!(
        taints(&f, "n1").await,
        [
            "not-ready:NoExecute",
            "not-ready:NoSchedule",
            "own:NoSchedule"
        ]
    );
    assert!(super::is_ready(&find(&f, "p1").await.unwrap()));
}

#[tokio::test]
async fn labels_have_their_former_names_too() {
    let f = Fixture::start(CONTROLLERS).await;
    node(&f, "n1").await;
    let labels = json!({"kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64", "beta.kubernetes.io/arch": "x"});
    change(&f, "n1", json!({"metadata": {"labels": labels}})).await;
    let labels = get(&f, "n1").await["metadata"]["labels"].clone();
    assert_eq!(labels["beta.kubernetes.io/os"], "linux");
    assert_eq!(labels["beta.kubernetes.io/arch"], "arm64");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_deleted_is_told_of_and_a_new_one_begins_anew() {
    let f = Fixture::start(CONTROLLERS).await;
    node(&f, "n2").await;
    f.create(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}))
        .await;
    advance(&f, 50).await;
    nodes(&f)
        .delete("n1", &DeleteParams::default())
        .await
        .unwrap();
    f.settled().await;
    assert!(f.events("n1").await.contains_key(&event(
        "RemovingNode",
        "Node n1 event: Removing Node n1 from Controller"
    )));
    f.create(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}))
        .await;
    advance(&f, 50).await;
    assert_eq!(conditions(&get(&f, "n1").await).len(), 0);
}

#[tokio::test(start_paused = true)]
async fn nodes_that_are_alive_wait_for_nothing() {
    let f = Fixture::start("nodelifecycle,taint-eviction-controller,nodeipam").await;
    node(&f, "n1").await;
    pod(&f, "p1", "n1", json!([])).await;
    advance(&f, 1).await;
    let manager = f._controllers.as_ref().unwrap().manager();
    assert_eq!(manager.next_due(), None);
}

#[tokio::test]
async fn every_node_gets_a_range_of_addresses() {
    let f = Fixture::start("nodeipam").await;
    f.create(json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n0"},
        "spec": {"podCIDR": "10.244.1.0/24", "podCIDRs": ["10.244.1.0/24"]},
    }))
    .await;
    f.settled().await;
    for name in ["n1", "n2"] {
        f.create(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}))
            .await;
        f.settled().await;
    }
    let range = async |name: &str| get(&f, name).await["spec"]["podCIDR"].clone();
    assert_eq!(range("n0").await, "10.244.1.0/24");
    assert_eq!(range("n1").await, "10.244.0.0/24");
    assert_eq!(range("n2").await, "10.244.2.0/24");
    assert_eq!(
        get(&f, "n2").await["spec"]["podCIDRs"],
        json!(["10.244.2.0/24"])
    );
}
