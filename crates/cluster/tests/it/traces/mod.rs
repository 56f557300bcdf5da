//! The writes of controllers, scheduler and kubelets, in their order, beside those of Kubernetes' own programs.
//!
//! `conformance/traces` has what kube-controller-manager and kube-scheduler 1.36.4 wrote on our server, with our nodes. Each file
//! has the history of each object, which ours must equal, and the writes one by one, in the order of that one run. With
//! `KUBEWRIGHT_RECORD` and the [programs](crate::real_programs), the files are written.

mod recorder;
mod stories;

use std::{env, fs, path::PathBuf, time::Duration};

use kube::Client;
use kubewright_cluster::{Cluster, Controllers};
use kubewright_ledger::Ledger;
use serde_json::{Value, json};

use crate::real_programs::WithRealManagers;
use recorder::Trace;

const PATIENCE: Duration = Duration::from_secs(120);

/// The line between the histories and the writes of a file.
const WRITES: &str = "\n--- the writes of this run, in order\n";

fn file(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../conformance/traces");
    folder.join(format!("{name}.txt"))
}

/// Returns the current revision.
async fn revision(client: &Client) -> u64 {
    let api: kube::Api<k8s_openapi::api::core::v1::Pod> = kube::Api::all(client.clone());
    let list = api.list(&Default::default()).await.unwrap();
    list.metadata.resource_version.unwrap().parse().unwrap()
}

/// Runs a story with our controllers, and compares.
async fn ours(name: &str) -> Trace {
    let ledger = Ledger::new();
    let cluster = Cluster::builder()
        .controllers(Controllers::all())
        .nodes(2)
        .ledger(ledger.clone())
        .start()
        .await
        .unwrap();
    let client = cluster.client();
    cluster.settled(PATIENCE).await.unwrap();
    let from = revision(&client).await;
    stories::tell(name, client.clone()).await;
    cluster.settled(PATIENCE).await.unwrap();
    let trace = Trace::read(&client, &ledger, from).await;
    let recorded = fs::read_to_string(file(name)).unwrap();
    let (histories, writes) = recorded.split_once(WRITES).unwrap();
    let found = trace.histories();
    assert_eq!(
        found.trim_end(),
        histories.trim_end(),
        "\n{trace}\nbeside\n{writes}"
    );
    trace
}

/// Runs a story with Kubernetes' own programs, if they are there, and compares or records.
async fn theirs(name: &str) {
    let ledger = Ledger::new();
    let builder = Cluster::builder().ledger(ledger.clone());
    let test = format!("the writes of {name}");
    let Some(place) = WithRealManagers::start(&test, builder).await else {
        return;
    };
    let client = place.cluster.client();
    let from = revision(&client).await;
    stories::tell(name, client.clone()).await;
    let trace = Trace::read(&client, &ledger, from).await;
    let text = format!("{}{WRITES}{trace}", trace.histories());
    if env::var_os("KUBEWRIGHT_RECORD").is_some() {
        return fs::write(file(name), text).unwrap();
    }
    let recorded = fs::read_to_string(file(name)).unwrap();
    let (histories, _) = recorded.split_once(WRITES).unwrap();
    assert_eq!(
        trace.histories().trim_end(),
        histories.trim_end(),
        "\n{trace}"
    );
}

/// Defines a test of each story with Kubernetes' own programs.
macro_rules! recorded {
    ($($test:ident: $story:literal;)*) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $test() {
            theirs($story).await;
        })*
    };
}

recorded! {
    kubernetes_own_programs_write_a_deployment_as_recorded: "deployment";
    kubernetes_own_programs_write_a_stateful_set_as_recorded: "stateful_set";
    kubernetes_own_programs_write_a_daemon_set_as_recorded: "daemon_set";
    kubernetes_own_programs_write_a_job_as_recorded: "job";
    kubernetes_own_programs_write_a_drain_as_recorded: "drain";
    kubernetes_own_programs_write_a_replacement_as_recorded: "replacement";
}

fn any(_: &Value) -> bool {
    true
}

fn has(field: &'static str, value: impl Into<Value>) -> impl Fn(&Value) -> bool {
    let value = value.into();
    move |state| state[field] == value
}

/// Returns a check of the conditions and their order.
fn conditions(texts: &'static [&'static str]) -> impl Fn(&Value) -> bool {
    move |state| state["conditions"] == json!(texts)
}

#[track_caller]
fn in_order(steps: &[usize]) {
    assert!(steps.is_sorted(), "{steps:?}");
}

#[tokio::test]
async fn a_deployment_rolls_out_write_by_write() {
    let trace = ours("deployment").await;
    let manager = "kube-controller-manager";
    let (web, set) = ("deployment web", "replicaset web #1");
    in_order(&[
        trace.first(web, "story create", any),
        trace.first(set, &format!("{manager} create"), has("replicas", 2)),
        trace.first(
            web,
            "status",
            conditions(&["Progressing=True NewReplicaSetCreated"]),
        ),
        trace.first(
            "pod web #1",
            &format!("{manager} create"),
            has("isBound", false),
        ),
        trace.first("pod web #2", &format!("{manager} create"), any),
        trace.first(set, "status", has("status.replicas", 2)),
        trace.first(set, "status", has("status.availableReplicas", 2)),
        trace.first(
            web,
            "status",
            conditions(&[
                "Available=True MinimumReplicasAvailable",
                "Progressing=True NewReplicaSetAvailable",
            ]),
        ),
    ]);
    for pod in ["pod web #1", "pod web #2"] {
        in_order(&[
            trace.first(pod, "create", any),
            trace.first(pod, "kube-scheduler create binding", has("isBound", true)),
            trace.first(pod, "kubelet patch status", has("phase", "Pending")),
            trace.first(pod, "kubelet patch status", has("phase", "Running")),
        ]);
    }
    // The last writes of the Deployment follow those of its ReplicaSet.
    assert!(
        trace.0.last().is_some_and(|last| last.object == web),
        "{trace}"
    );
}

#[tokio::test]
async fn a_deleted_pod_is_replaced_while_it_terminates() {
    let trace = ours("replacement").await;
    let deleted = trace
        .0
        .iter()
        .position(|entry| entry.state["isDeleted"] == true);
    let deleted = deleted.expect("a deletion");
    let pod = trace.0[deleted].object.clone();
    in_order(&[
        deleted,
        trace.first("pod web #3", "create", any),
        trace.first(&pod, "delete", Value::is_null),
    ]);
    trace.first(
        "replicaset web #1",
        "status",
        has("status.terminatingReplicas", 1),
    );
}

#[tokio::test]
async fn a_stateful_set_starts_and_stops_its_pods_in_order() {
    let trace = ours("stateful_set").await;
    let running = |pod: &str| trace.first(pod, "kubelet", has("phase", "Running"));
    let created = |pod: &str| trace.first(pod, "create", any);
    let deleted = |pod: &str| trace.first(pod, "delete", has("isDeleted", true));
    let gone = |pod: &str| trace.first(pod, "delete", Value::is_null);
    let [first, second, third] = ["pod db-0", "pod db-1", "pod db-2"];
    in_order(&[
        trace.first("controllerrevision db #1", "create", any),
        created(first),
        running(first),
        created(second),
        running(second),
        created(third),
        running(third),
        deleted(third),
        gone(third),
        deleted(second),
        gone(second),
        deleted(first),
        gone(first),
    ]);
}

#[tokio::test]
async fn a_daemon_set_has_a_pod_on_each_node() {
    let trace = ours("daemon_set").await;
    in_order(&[
        trace.first("controllerrevision agent #1", "create", any),
        trace.first("pod agent #1", "create", has("isBound", false)),
        trace.first(
            "daemonset agent",
            "status",
            has("status.numberAvailable", 2),
        ),
    ]);
}

#[tokio::test]
async fn a_job_counts_each_pod_before_it_releases_it() {
    let trace = ours("job").await;
    let held = |pod: &str| {
        trace.first(
            pod,
            "create",
            has("finalizers", json!(["batch.kubernetes.io/job-tracking"])),
        )
    };
    let succeeded = |pod: &str| trace.first(pod, "kubelet", has("phase", "Succeeded"));
    let released = |pod: &str| {
        trace.first(pod, "patch", |state| {
            state["finalizers"].is_null() && state["phase"] == "Succeeded"
        })
    };
    // The next pod is created before the last one is counted.
    in_order(&[
        held("pod count #1"),
        succeeded("pod count #1"),
        held("pod count #2"),
        released("pod count #1"),
        trace.first("job count", "status", has("status.succeeded", 1)),
        released("pod count #2"),
        trace.first("job count", "status", |state| {
            let last = state["conditions"]
                .as_array()
                .and_then(|all| all.last())
                .cloned();
            last.is_some_and(|last| {
                last.as_str()
                    .unwrap_or_default()
                    .starts_with("Complete=True")
            })
        }),
    ]);
}

#[tokio::test]
async fn a_drain_waits_for_the_budget() {
    let trace = ours("drain").await;
    let deleted = trace
        .0
        .iter()
        .position(|entry| entry.state["isDeleted"] == true);
    let deleted = deleted.expect("an eviction");
    assert!(trace.0[deleted].act.ends_with("create eviction"), "{trace}");
    in_order(&[
        trace.first("deployment web", "story patch", has("replicas", 3)),
        trace.first("pod web #3", "kubelet", has("phase", "Running")),
        deleted,
        trace.first("pod web #4", "create", any),
    ]);
}
