//! DaemonSets: nodes, updates, revisions.

use std::time::Duration;

use k8s_openapi::api::{
    apps::v1::{ControllerRevision, DaemonSet},
    core::v1::{Node, Pod},
};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};

use super::template;
use crate::fixture::Fixture;

async fn start(nodes: &[&str]) -> Fixture {
    let f = Fixture::start("daemonset").await;
    for node in nodes {
        create_node(&f, node).await;
    }
    f
}

async fn create_node(f: &Fixture, name: &str) {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}});
    f.create(node).await;
    // New nodes are tainted until they are ready.
    patch_node(f, name, json!({"spec": {"taints": null}})).await;
}

async fn patch_node(f: &Fixture, name: &str, change: Value) {
    let nodes: Api<Node> = Api::all(f.client());
    let (patch, params) = (Patch::Merge(change), PatchParams::default());
    nodes.patch(name, &params, &patch).await.unwrap();
    f.settled().await;
}

fn sets(f: &Fixture) -> Api<DaemonSet> {
    Api::default_namespaced(f.client())
}

/// Creates a DaemonSet named `agent` with more in its spec.
async fn create(f: &Fixture, more: Value) {
    let mut set = json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "default", "annotations": {"note": "first"}},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template("nginx", json!({}))},
    });
    for (field, value) in more.as_object().unwrap() {
        set["spec"][field] = value.clone();
    }
    f.create(set).await;
    f.settled().await;
}

async fn patch(f: &Fixture, spec: Value) {
    let patch = Patch::Merge(json!({"spec": spec}));
    let params = PatchParams::default();
    sets(f).patch("agent", &params, &patch).await.unwrap();
    f.settled().await;
}

async fn status(f: &Fixture) -> Value {
    json!(sets(f).get("agent").await.unwrap().status)
}

fn node_of(pod: &Pod) -> String {
    let pod = json!(pod);
    let path = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchFields/0/values/0";
    pod.pointer(path).unwrap().as_str().unwrap().to_owned()
}

/// Returns the nodes and images of pods, by node.
async fn pods(f: &Fixture) -> Vec<(String, String)> {
    let text = |pod: &Pod| {
        let image = pod.spec.as_ref().unwrap().containers[0].image.clone();
        (node_of(pod), image.unwrap())
    };
    let mut pods: Vec<_> = f.pod_list().await.iter().map(text).collect();
    pods.sort_unstable();
    pods
}

async fn nodes(f: &Fixture) -> Vec<String> {
    pods(f).await.into_iter().map(|(node, _)| node).collect()
}

async fn pod_on(f: &Fixture, node: &str) -> String {
    let pods = f.pod_list().await;
    let pod = pods.iter().find(|pod| node_of(pod) == node);
    pod.unwrap().name_any()
}

async fn revisions(f: &Fixture) -> Vec<ControllerRevision> {
    let revisions: Api<ControllerRevision> = Api::default_namespaced(f.client());
    let mut revisions = revisions.list(&ListParams::default()).await.unwrap().items;
    revisions.sort_by_key(|revision| revision.revision);
    revisions
}

#[tokio::test]
async fn every_node_gets_a_pod_that_only_fits_there() {
    let f = start(&["n1", "n2"]).await;
    create(&f, json!({})).await;
    assert_eq!(nodes(&f).await, ["n1", "n2"]);
    let pod = json!(f.pod_list().await[0]);
    let revision = json!(revisions(&f).await[0]);
    let hash = &revision["metadata"]["labels"]["controller-revision-hash"];
    assert_eq!(
        pod["metadata"]["labels"],
        json!({"app": "web", "controller-revision-hash": hash, "pod-template-generation": "1"})
    );
    assert_eq!(
        revision["metadata"]["name"],
        format!("agent-{}", hash.as_str().unwrap())
    );
    assert_eq!(revision["metadata"]["annotations"]["note"], "first");
    // The hash of this template in Kubernetes.
    assert_eq!(hash, "7887448d46");
    let keys: Vec<&Value> = pod["spec"]["tolerations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|toleration| &toleration["key"])
        .collect();
    let wanted = [
        "not-ready",
        "unreachable",
        "disk-pressure",
        "memory-pressure",
        "pid-pressure",
        "unschedulable",
    ];
    assert_eq!(
        keys,
        wanted
            .map(|key| format!("node.kubernetes.io/{key}"))
            .iter()
            .collect::<Vec<_>>()
    );
    assert_eq!(
        status(&f).await,
        json!({
            "currentNumberScheduled": 2, "desiredNumberScheduled": 2, "numberMisscheduled": 0,
            "numberReady": 0, "numberUnavailable": 2, "observedGeneration": 1, "updatedNumberScheduled": 2,
        })
    );
    f.make_all_ready().await;
    f.settled().await;
    let now = status(&f).await;
    assert_eq!(
        (&now["numberReady"], &now["numberAvailable"]),
        (&json!(2), &json!(2))
    );
}

#[tokio::test]
async fn pods_follow_nodes_their_labels_and_taints() {
    let f = start(&["n1"]).await;
    create(
        &f,
        json!({"template": template("nginx", json!({"nodeSelector": {"disk": "ssd"}}))}),
    )
    .await;
    assert!(nodes(&f).await.is_empty());
    patch_node(&f, "n1", json!({"metadata": {"labels": {"disk": "ssd"}}})).await;
    assert_eq!(nodes(&f).await, ["n1"]);
    create_node(&f, "n2").await;
    assert_eq!(nodes(&f).await, ["n1"]);
    let taint = json!({"spec": {"taints": [{"key": "own", "effect": "NoSchedule"}]}});
    patch_node(&f, "n1", taint).await;
    // What runs may stay.
    assert_eq!(nodes(&f).await, ["n1"]);
    assert_eq!(status(&f).await["numberMisscheduled"], 1);
    let taint = json!({"spec": {"taints": [{"key": "own", "effect": "NoExecute"}]}});
    patch_node(&f, "n1", taint).await;
    assert!(nodes(&f).await.is_empty());
}

#[tokio::test]
async fn a_rolling_update_deletes_one_pod_after_the_other() {
    let f = start(&["n1", "n2", "n3"]).await;
    create(&f, json!({})).await;
    f.make_all_ready().await;
    f.settled().await;
    patch(&f, json!({"template": template("nginx:2", json!({}))})).await;
    let image = |pods: Vec<(String, String)>| -> Vec<String> {
        pods.into_iter().map(|(_, image)| image).collect()
    };
    assert_eq!(image(pods(&f).await), ["nginx:2", "nginx", "nginx"]);
    assert_eq!(status(&f).await["updatedNumberScheduled"], 1);
    f.run_to_the_end().await;
    assert_eq!(image(pods(&f).await), ["nginx:2"; 3]);
    assert_eq!(revisions(&f).await.len(), 2);
    assert_eq!(status(&f).await["updatedNumberScheduled"], 3);
}

#[tokio::test]
async fn with_a_surge_a_new_pod_comes_before_the_old_one_goes() {
    let f = start(&["n1", "n2"]).await;
    let limits = json!({"maxSurge": 1, "maxUnavailable": 0});
    create(
        &f,
        json!({"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": limits}}),
    )
    .await;
    f.make_all_ready().await;
    f.settled().await;
    patch(&f, json!({"template": template("nginx:2", json!({}))})).await;
    let of = |node: &str, image: &str| (node.to_owned(), image.to_owned());
    assert_eq!(
        pods(&f).await,
        [of("n1", "nginx"), of("n1", "nginx:2"), of("n2", "nginx")]
    );
    f.run_to_the_end().await;
    assert_eq!(pods(&f).await, [of("n1", "nginx:2"), of("n2", "nginx:2")]);
}

#[tokio::test]
async fn on_delete_pods_of_daemon_sets_are_replaced_when_they_are_deleted() {
    let f = start(&["n1"]).await;
    create(&f, json!({"updateStrategy": {"type": "OnDelete"}})).await;
    patch(&f, json!({"template": template("nginx:2", json!({}))})).await;
    assert_eq!(pods(&f).await[0].1, "nginx");
    let pod = pod_on(&f, "n1").await;
    f.pods()
        .delete(&pod, &DeleteParams::default())
        .await
        .unwrap();
    f.settled().await;
    assert_eq!(pods(&f).await[0].1, "nginx:2");
}

#[tokio::test(start_paused = true)]
async fn a_failed_pod_of_a_daemon_set_is_replaced_after_a_growing_delay() {
    let f = start(&["n1"]).await;
    create(&f, json!({})).await;
    let first = pod_on(&f, "n1").await;
    f.set_pod_status(&first, json!({"phase": "Failed"})).await;
    f.settled().await;
    let second = pod_on(&f, "n1").await;
    assert_ne!(first, second);
    f.set_pod_status(&second, json!({"phase": "Failed"})).await;
    f.settled().await;
    assert_eq!(pod_on(&f, "n1").await, second);
    f.cluster.time().advance(Duration::from_secs(2)).await;
    f.settled().await;
    assert_ne!(pod_on(&f, "n1").await, second);
    let message =
        format!("Found failed daemon pod default/{first} on node n1, will try to kill it");
    assert_eq!(
        f.events("agent").await[&("FailedDaemonPod".to_owned(), message)],
        1
    );
}

#[tokio::test]
async fn a_template_that_returns_is_the_newest_revision_again_and_old_ones_go() {
    let f = start(&["n1"]).await;
    create(&f, json!({"revisionHistoryLimit": 1})).await;
    for image in ["nginx:2", "nginx", "nginx:3"] {
        patch(&f, json!({"template": template(image, json!({}))})).await;
        f.run_to_the_end().await;
    }
    let numbers: Vec<i64> = revisions(&f)
        .await
        .iter()
        .filter_map(|r| r.revision)
        .collect();
    assert_eq!(numbers, [3, 4]);
}
