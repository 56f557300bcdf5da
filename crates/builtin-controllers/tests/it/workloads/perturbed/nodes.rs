//! Controllers of nodes and of the pods on them.

use std::{collections::BTreeSet, time::Duration};

use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::{Node, Pod},
};
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams},
};
use kubewright_testing::{Moment, State, World, perturb};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{controllers, create};
use crate::workloads::template;

/// Creates a node that is ready, and whose heartbeats are elided.
async fn node(world: &World, name: &str) {
    create(
        world,
        json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {
                "name": name, "namespace": "kube-node-lease",
                "annotations": {"kubewright.dev/heartbeats": "elided"},
            },
            "spec": {"renewTime": "2026-01-01T00:00:00.000000Z"},
        }),
    )
    .await;
    create(
        world,
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "status": {"conditions": [{
                "type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z",
            }]},
        }),
    )
    .await;
    // New nodes are tainted until they are ready.
    let ready = Patch::Merge(json!({"spec": {"taints": null}}));
    let params = PatchParams::default();
    nodes(world).patch(name, &params, &ready).await.unwrap();
}

fn nodes(world: &World) -> Api<Node> {
    Api::all(world.client())
}

fn pods(world: &World) -> Api<Pod> {
    Api::default_namespaced(world.client())
}

fn pod(name: &str, spec: Value) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    for (field, value) in spec.as_object().unwrap() {
        pod["spec"][field] = value.clone();
    }
    pod
}

/// Returns the node that a pod of a DaemonSet is for.
fn wanted_node(pod: &Value) -> &Value {
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let terms = &pod["spec"]["affinity"]["nodeAffinity"][required]["nodeSelectorTerms"];
    &terms[0]["matchFields"][0]["values"][0]
}

#[test]
fn there_is_never_more_than_one_daemon_on_a_node() {
    let story = |world: World| async move {
        for name in ["n1", "n2"] {
            node(&world, name).await;
        }
        let set = json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet",
            "metadata": {"name": "agent", "namespace": "default"},
            "spec": {
                "selector": {"matchLabels": {"app": "web"}}, "template": template("nginx", json!({})),
            },
        });
        create(&world, set).await;
        world.pause().await;
        node(&world, "n3").await;
        nodes(&world)
            .delete("n1", &DeleteParams::default())
            .await
            .unwrap();
        world.pause().await;
    };
    let one_each = |moment: &Moment| {
        let all: Vec<String> = moment
            .of("pods")
            .map(|p| wanted_node(p).to_string())
            .collect();
        let distinct: BTreeSet<&String> = all.iter().collect();
        match distinct.len() == all.len() {
            true => Ok(()),
            false => Err(format!("pods are for {all:?}")),
        }
    };
    let on_all = |state: &State| {
        let on: BTreeSet<String> = state
            .of("pods")
            .map(|p| wanted_node(p).to_string())
            .collect();
        match on == BTreeSet::from(["\"n2\"".to_owned(), "\"n3\"".to_owned()]) {
            true => Ok(()),
            false => Err(format!("pods are for {on:?}")),
        }
    };
    perturb(controllers("daemonset"), story)
        .at_most(6)
        .always("one pod for a node", ["pods"], one_each)
        .invariant("a pod for each node", on_all)
        .run();
}

#[test]
fn no_range_of_addresses_is_ever_given_twice() {
    let story = |world: World| async move {
        for name in ["n1", "n2"] {
            node(&world, name).await;
        }
        world.pause().await;
        nodes(&world)
            .delete("n1", &DeleteParams::default())
            .await
            .unwrap();
        node(&world, "n3").await;
        world.pause().await;
        node(&world, "n4").await;
        world.pause().await;
        world.settled().await;
        let all = nodes(&world).list(&Default::default()).await.unwrap();
        assert_eq!(all.items.len(), 3);
        for node in all {
            assert!(node.spec.unwrap().pod_cidr.is_some());
        }
    };
    let distinct = |moment: &Moment| {
        let ranges = moment.of("nodes").map(|node| &node["spec"]["podCIDR"]);
        let ranges: Vec<String> = ranges
            .filter(|range| !range.is_null())
            .map(Value::to_string)
            .collect();
        let distinct: BTreeSet<&String> = ranges.iter().collect();
        match distinct.len() == ranges.len() {
            true => Ok(()),
            false => Err(format!("the ranges are {ranges:?}")),
        }
    };
    // The order in which nodes are seen determines their ranges.
    perturb(controllers("nodeipam"), story)
        .at_most(6)
        .ignore("/spec/podCIDR")
        .ignore("/spec/podCIDRs")
        .always("ranges are distinct", ["nodes"], distinct)
        .run();
}

#[test]
fn pods_without_a_node_are_deleted_whatever_happens_to_the_controller() {
    let story = |world: World| async move {
        node(&world, "n1").await;
        create(&world, pod("lost", json!({"nodeName": "n1"}))).await;
        create(&world, pod("stays", json!({}))).await;
        world.pause().await;
        nodes(&world)
            .delete("n1", &DeleteParams::default())
            .await
            .unwrap();
        world.pause().await;
        sleep(Duration::from_secs(60)).await;
        world.settled().await;
    };
    let only_one = |state: &State| {
        let lost = state.get("pods", "default/lost").is_none();
        match lost && state.get("pods", "default/stays").is_some() {
            true => Ok(()),
            false => Err(format!("{} pods are left", state.of("pods").count())),
        }
    };
    let stays = |moment: &Moment| {
        let pod = moment.get("pods", "default/stays");
        match pod.is_none_or(|pod| pod["metadata"]["deletionTimestamp"].is_null()) {
            true => Ok(()),
            false => Err("the wrong pod is deleted".to_owned()),
        }
    };
    perturb(controllers("podgc"), story)
        .at_most(6)
        .always("the other pod stays", ["pods"], stays)
        .invariant("the lost pod is gone", only_one)
        .run();
}

#[test]
fn only_pods_of_a_silent_node_are_evicted_whatever_happens_to_the_controllers() {
    let story = |world: World| async move {
        for name in ["n1", "n2"] {
            node(&world, name).await;
            let toleration = json!({
                "key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute",
                "tolerationSeconds": 30,
            });
            let spec = json!({"nodeName": name, "tolerations": [toleration]});
            create(&world, pod(&format!("on-{name}"), spec)).await;
        }
        world.pause().await;
        let leases: Api<Lease> = Api::namespaced(world.client(), "kube-node-lease");
        let silent = json!({"metadata": {"annotations": {"kubewright.dev/heartbeats": null}}});
        let (patch, params) = (Patch::Merge(silent), PatchParams::default());
        leases.patch("n1", &params, &patch).await.unwrap();
        world.pause().await;
        sleep(Duration::from_secs(120)).await;
        world.settled().await;
        sleep(Duration::from_secs(120)).await;
        world.settled().await;
        assert!(pods(&world).get_opt("on-n2").await.unwrap().is_some());
    };
    let is_deleted =
        |pod: Option<&Value>| pod.is_none_or(|pod| !pod["metadata"]["deletionTimestamp"].is_null());
    let evicted = move |state: &State| match is_deleted(state.get("pods", "default/on-n1")) {
        true => Ok(()),
        false => Err("the pod of the silent node stays".to_owned()),
    };
    let stays = move |moment: &Moment| {
        let pod = moment.get("pods", "default/on-n2");
        match pod.is_some() && is_deleted(pod) {
            true => Err("the pod of the other node is evicted".to_owned()),
            false => Ok(()),
        }
    };
    perturb(
        controllers("nodelifecycle,taint-eviction-controller"),
        story,
    )
    .at_most(4)
    .always("the other pod stays", ["pods"], stays)
    .invariant("the pod is evicted", evicted)
    .run();
}
