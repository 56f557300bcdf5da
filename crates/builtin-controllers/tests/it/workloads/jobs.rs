//! Jobs: counts, limits, policies, indexes, and their deletion.

use std::time::Duration;

use k8s_openapi::api::{batch::v1::Job, core::v1::Pod};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PropagationPolicy},
};
use serde_json::{Value, json};

use super::conditions;
use crate::fixture::Fixture;

const TRACKING: &str = "batch.kubernetes.io/job-tracking";

async fn start() -> Fixture {
    Fixture::start("job,ttl-after-finished").await
}

fn jobs(f: &Fixture) -> Api<Job> {
    Api::default_namespaced(f.client())
}

/// Returns a Job named `work` with more in its spec.
fn job(more: Value) -> Value {
    let mut job = json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "work", "namespace": "default"},
        "spec": {"template": {"spec": {
            "restartPolicy": "Never", "nodeName": "n1", "containers": [{"name": "c", "image": "i"}],
        }}},
    });
    for (field, value) in more.as_object().unwrap() {
        job["spec"][field] = value.clone();
    }
    job
}

async fn get(f: &Fixture) -> Value {
    json!(jobs(f).get("work").await.unwrap())
}

/// Returns the status without times and conditions.
async fn status(f: &Fixture) -> Value {
    let mut status = get(f).await["status"].clone();
    let fields = status.as_object_mut().unwrap();
    for field in ["conditions", "startTime", "completionTime"] {
        fields.remove(field);
    }
    status
}

async fn patch(f: &Fixture, spec: Value) {
    let patch = Patch::Merge(json!({"spec": spec}));
    let params = PatchParams::default();
    jobs(f).patch("work", &params, &patch).await.unwrap();
    f.settled().await;
}

/// Returns the names of pods that have not ended.
async fn active(f: &Fixture) -> Vec<String> {
    let is_active = |pod: &&Pod| {
        let phase = pod
            .status
            .as_ref()
            .and_then(|status| status.phase.as_deref());
        pod.metadata.deletion_timestamp.is_none() && !matches!(phase, Some("Succeeded" | "Failed"))
    };
    let pods = f.pod_list().await;
    pods.iter()
        .filter(is_active)
        .map(ResourceExt::name_any)
        .collect()
}

/// Ends a pod with an exit code.
async fn end(f: &Fixture, pod: &str, code: i32) {
    let now = kubewright_apiserver::Clock::now(f.cluster.clock());
    let at = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let phase = if code == 0 { "Succeeded" } else { "Failed" };
    f.set_pod_status(
        pod,
        json!({"phase": phase, "containerStatuses": [{
            "name": "c", "image": "i", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"terminated": {"exitCode": code, "finishedAt": at}},
        }]}),
    )
    .await;
    f.settled().await;
}

/// Ends the first active pod.
async fn end_one(f: &Fixture, code: i32) {
    let pod = active(f).await.remove(0);
    end(f, &pod, code).await;
}

/// Lets pods that are being deleted vanish, as a kubelet does.
async fn stop_deleted(f: &Fixture) {
    for pod in f.pod_list().await {
        if pod.metadata.deletion_timestamp.is_some() {
            let force = DeleteParams::default().grace_period(0);
            f.pods().delete(&pod.name_any(), &force).await.unwrap();
        }
    }
    f.settled().await;
}

async fn advance(f: &Fixture, seconds: u64) {
    f.cluster.time().advance(Duration::from_secs(seconds)).await;
    f.settled().await;
}

fn index(pod: &Pod) -> &str {
    &pod.annotations()["batch.kubernetes.io/job-completion-index"]
}

/// Returns the indexes of active pods.
async fn active_indexes(f: &Fixture) -> Vec<String> {
    let names = active(f).await;
    let pods = f.pod_list().await;
    let pods = pods.iter().filter(|pod| names.contains(&pod.name_any()));
    let mut indexes: Vec<String> = pods.map(|pod| index(pod).to_owned()).collect();
    indexes.sort_unstable();
    indexes
}

/// Ends the active pod of an index.
async fn end_index(f: &Fixture, wanted: &str, code: i32) {
    let names = active(f).await;
    let pods = f.pod_list().await;
    let mut pods = pods.iter().filter(|pod| names.contains(&pod.name_any()));
    let pod = pods.find(|pod| index(pod) == wanted).unwrap();
    end(f, &pod.name_any(), code).await;
}

#[tokio::test]
async fn pods_run_until_enough_have_succeeded() {
    let f = start().await;
    f.create(job(json!({"completions": 3, "parallelism": 2})))
        .await;
    f.settled().await;
    let pods = f.pod_list().await;
    assert_eq!(pods.len(), 2);
    let pod = json!(pods[0]);
    assert_eq!(pod["metadata"]["generateName"], "work-");
    assert_eq!(pod["metadata"]["finalizers"], json!([TRACKING]));
    assert_eq!(
        pod["metadata"]["labels"]["batch.kubernetes.io/job-name"],
        "work"
    );
    assert_eq!(pod["metadata"]["ownerReferences"][0]["kind"], "Job");
    assert_eq!(
        status(&f).await,
        json!({"active": 2, "ready": 0, "terminating": 0, "uncountedTerminatedPods": {}})
    );
    end_one(&f, 0).await;
    assert_eq!(active(&f).await.len(), 2);
    end_one(&f, 0).await;
    assert_eq!(active(&f).await.len(), 1);
    end_one(&f, 0).await;
    assert_eq!(
        status(&f).await,
        json!({"succeeded": 3, "ready": 0, "terminating": 0, "uncountedTerminatedPods": {}})
    );
    let done = get(&f).await;
    assert_eq!(
        conditions(&done),
        [
            ["SuccessCriteriaMet", "True", "CompletionsReached"],
            ["Complete", "True", "CompletionsReached"],
        ]
    );
    let condition = &done["status"]["conditions"][1];
    assert_eq!(
        condition["message"],
        "Reached expected number of succeeded pods"
    );
    assert_eq!(condition["lastProbeTime"], condition["lastTransitionTime"]);
    assert_eq!(
        done["status"]["completionTime"],
        condition["lastTransitionTime"]
    );
    for pod in f.pod_list().await {
        assert!(pod.finalizers().is_empty());
    }
    let events = f.events("work").await;
    assert_eq!(events[&("Completed".into(), "Job completed".into())], 1);
    assert_eq!(events.len(), 4);
}

#[tokio::test]
async fn without_completions_one_success_suffices_and_the_others_may_go_on() {
    let f = start().await;
    f.create(job(json!({"parallelism": 3}))).await;
    f.settled().await;
    end_one(&f, 0).await;
    assert_eq!(active(&f).await.len(), 2);
    assert_eq!(conditions(&get(&f).await).len(), 0);
    end_one(&f, 0).await;
    end_one(&f, 1).await;
    assert_eq!(conditions(&get(&f).await)[1][0], "Complete");
    assert_eq!(status(&f).await["succeeded"], 2);
    assert_eq!(status(&f).await["failed"], 1);
}

#[tokio::test(start_paused = true)]
async fn failed_pods_are_replaced_after_a_growing_delay_up_to_the_limit() {
    let f = start().await;
    f.create(job(json!({"backoffLimit": 2}))).await;
    f.settled().await;
    end_one(&f, 1).await;
    assert_eq!(active(&f).await.len(), 0);
    advance(&f, 9).await;
    assert_eq!(active(&f).await.len(), 0);
    advance(&f, 2).await;
    end_one(&f, 1).await;
    advance(&f, 18).await;
    assert_eq!(active(&f).await.len(), 0);
    advance(&f, 3).await;
    end_one(&f, 1).await;
    let done = get(&f).await;
    assert_eq!(
        conditions(&done),
        [
            ["FailureTarget", "True", "BackoffLimitExceeded"],
            ["Failed", "True", "BackoffLimitExceeded"],
        ]
    );
    assert_eq!(done["status"]["failed"], 3);
    assert_eq!(done["status"]["completionTime"], Value::Null);
    let told = "Job has reached the specified backoff limit";
    assert_eq!(
        f.events("work").await[&("BackoffLimitExceeded".into(), told.into())],
        1
    );
}

#[tokio::test]
async fn a_failed_job_ends_once_its_other_pods_are_gone() {
    let f = start().await;
    f.create(job(
        json!({"backoffLimit": 0, "parallelism": 2, "completions": 2}),
    ))
    .await;
    f.settled().await;
    end_one(&f, 1).await;
    let now = get(&f).await;
    assert_eq!(
        conditions(&now),
        [["FailureTarget", "True", "BackoffLimitExceeded"]]
    );
    assert_eq!(now["status"]["terminating"], 1);
    assert_eq!(now["status"]["active"], Value::Null);
    stop_deleted(&f).await;
    let now = get(&f).await;
    assert_eq!(conditions(&now)[1][0], "Failed");
    assert_eq!(now["status"]["failed"], 2);
    assert_eq!(now["status"]["terminating"], 0);
}

#[tokio::test]
async fn containers_that_are_restarted_too_often_fail_the_job() {
    let f = start().await;
    let mut template = job(json!({}))["spec"]["template"].clone();
    template["spec"]["restartPolicy"] = json!("OnFailure");
    f.create(job(json!({"backoffLimit": 2, "template": template})))
        .await;
    f.settled().await;
    for restarts in [1, 2] {
        assert_eq!(conditions(&get(&f).await).len(), 0);
        let pod = active(&f).await.remove(0);
        let container = json!({
            "name": "c", "image": "i", "imageID": "", "ready": true, "restartCount": restarts,
        });
        let status = json!({"phase": "Running", "containerStatuses": [container]});
        f.set_pod_status(&pod, status).await;
        f.settled().await;
    }
    assert_eq!(conditions(&get(&f).await)[0][2], "BackoffLimitExceeded");
}

#[tokio::test(start_paused = true)]
async fn a_job_that_runs_too_long_fails() {
    let f = start().await;
    f.create(job(json!({"activeDeadlineSeconds": 30}))).await;
    f.settled().await;
    advance(&f, 28).await;
    assert_eq!(active(&f).await.len(), 1);
    advance(&f, 3).await;
    stop_deleted(&f).await;
    let now = get(&f).await;
    assert_eq!(conditions(&now)[1], ["Failed", "True", "DeadlineExceeded"]);
    assert_eq!(
        now["status"]["conditions"][1]["message"],
        "Job was active longer than specified deadline"
    );
}

#[tokio::test(start_paused = true)]
async fn a_suspended_job_has_no_pods_and_its_time_begins_anew() {
    let f = start().await;
    f.create(job(json!({"parallelism": 2, "activeDeadlineSeconds": 100})))
        .await;
    f.settled().await;
    assert_eq!(conditions(&get(&f).await).len(), 0);
    patch(&f, json!({"suspend": true})).await;
    stop_deleted(&f).await;
    assert!(f.pod_list().await.is_empty());
    let now = get(&f).await;
    assert_eq!(conditions(&now), [["Suspended", "True", "JobSuspended"]]);
    assert_eq!(now["status"]["startTime"], Value::Null);
    assert_eq!(now["status"]["failed"], Value::Null);
    advance(&f, 200).await;
    patch(&f, json!({"suspend": false})).await;
    let now = get(&f).await;
    assert_eq!(conditions(&now), [["Suspended", "False", "JobResumed"]]);
    assert_eq!(active(&f).await.len(), 2);
    assert_ne!(now["status"]["startTime"], Value::Null);
    let events = f.events("work").await;
    assert_eq!(events[&("Suspended".into(), "Job suspended".into())], 1);
    assert_eq!(events[&("Resumed".into(), "Job resumed".into())], 1);
}

#[tokio::test]
async fn every_index_has_a_pod_and_succeeds_once() {
    let f = start().await;
    f.create(job(
        json!({"completionMode": "Indexed", "completions": 4, "parallelism": 2}),
    ))
    .await;
    f.settled().await;
    assert_eq!(active_indexes(&f).await, ["0", "1"]);
    let pods = f.pod_list().await;
    let pod = json!(pods.iter().find(|pod| index(pod) == "1").unwrap());
    assert_eq!(pod["metadata"]["generateName"], "work-1-");
    assert_eq!(pod["spec"]["hostname"], "work-1");
    assert_eq!(
        pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"],
        "1"
    );
    assert_eq!(
        pod["spec"]["containers"][0]["env"],
        json!([{"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": {
            "apiVersion": "v1",
            "fieldPath": "metadata.labels['batch.kubernetes.io/job-completion-index']",
        }}}])
    );
    end_index(&f, "1", 0).await;
    assert_eq!(active_indexes(&f).await, ["0", "2"]);
    assert_eq!(get(&f).await["status"]["completedIndexes"], "1");
    end_index(&f, "2", 0).await;
    end_index(&f, "3", 0).await;
    assert_eq!(get(&f).await["status"]["completedIndexes"], "1-3");
    end_index(&f, "0", 0).await;
    let now = get(&f).await;
    assert_eq!(now["status"]["completedIndexes"], "0-3");
    assert_eq!(now["status"]["succeeded"], 4);
    assert_eq!(conditions(&now)[1][0], "Complete");
}

#[tokio::test(start_paused = true)]
async fn an_index_fails_alone_and_the_job_ends_when_all_have() {
    let f = start().await;
    let spec = json!({
        "completionMode": "Indexed", "completions": 2, "parallelism": 2, "backoffLimitPerIndex": 1,
    });
    f.create(job(spec)).await;
    f.settled().await;
    end_index(&f, "0", 1).await;
    // The failed pod stays until its successor has inherited the number of its failures.
    let failed = f
        .pod_list()
        .await
        .into_iter()
        .find(|pod| index(pod) == "0")
        .unwrap();
    assert_eq!(failed.finalizers(), [TRACKING]);
    advance(&f, 11).await;
    let failed = f.pods().get(&failed.name_any()).await.unwrap();
    assert!(failed.finalizers().is_empty());
    let names = active(&f).await;
    let pods = f.pod_list().await;
    let successor = pods
        .iter()
        .find(|pod| index(pod) == "0" && names.contains(&pod.name_any()));
    let count = "batch.kubernetes.io/job-index-failure-count";
    assert_eq!(successor.unwrap().annotations()[count], "1");
    end_index(&f, "0", 1).await;
    assert_eq!(get(&f).await["status"]["failedIndexes"], "0");
    assert_eq!(active_indexes(&f).await, ["1"]);
    end_index(&f, "1", 0).await;
    let now = get(&f).await;
    assert_eq!(conditions(&now)[1], ["Failed", "True", "FailedIndexes"]);
    assert_eq!(now["status"]["completedIndexes"], "1");
    assert_eq!(now["status"]["failed"], 2);
}

#[tokio::test]
async fn too_many_failed_indexes_fail_the_job() {
    let f = start().await;
    let spec = json!({
        "completionMode": "Indexed", "completions": 4, "parallelism": 4, "backoffLimitPerIndex": 0,
        "maxFailedIndexes": 1,
    });
    f.create(job(spec)).await;
    f.settled().await;
    end_index(&f, "0", 1).await;
    assert_eq!(conditions(&get(&f).await).len(), 0);
    end_index(&f, "2", 1).await;
    stop_deleted(&f).await;
    let now = get(&f).await;
    assert_eq!(
        conditions(&now)[1],
        ["Failed", "True", "MaxFailedIndexesExceeded"]
    );
    assert_eq!(now["status"]["failedIndexes"], "0,2");
}

#[tokio::test(start_paused = true)]
async fn a_failure_policy_ignores_failures_or_ends_the_job() {
    let f = start().await;
    let rules = json!([
        {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [3]}},
        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}},
    ]);
    f.create(job(
        json!({"backoffLimit": 0, "podFailurePolicy": {"rules": rules}}),
    ))
    .await;
    f.settled().await;
    let first = active(&f).await.remove(0);
    end(&f, &first, 3).await;
    advance(&f, 11).await;
    assert_eq!(get(&f).await["status"]["failed"], Value::Null);
    let second = active(&f).await.remove(0);
    end(&f, &second, 42).await;
    let now = get(&f).await;
    assert_eq!(conditions(&now)[1], ["Failed", "True", "PodFailurePolicy"]);
    let message = format!(
        "Container c for pod default/{second} failed with exit code 42 matching FailJob rule at index 1"
    );
    assert_eq!(now["status"]["conditions"][1]["message"], message);
}

#[tokio::test]
async fn a_success_policy_ends_the_job_early() {
    let f = start().await;
    f.create(job(json!({
        "completionMode": "Indexed", "completions": 3, "parallelism": 3,
        "successPolicy": {"rules": [{"succeededIndexes": "0"}]},
    })))
    .await;
    f.settled().await;
    end_index(&f, "0", 0).await;
    assert_eq!(
        conditions(&get(&f).await),
        [["SuccessCriteriaMet", "True", "SuccessPolicy"]]
    );
    stop_deleted(&f).await;
    let now = get(&f).await;
    assert_eq!(conditions(&now)[1], ["Complete", "True", "SuccessPolicy"]);
    assert_eq!(
        now["status"]["conditions"][1]["message"],
        "Matched rules at index 0"
    );
    assert_eq!(now["status"]["failed"], Value::Null);
}

#[tokio::test]
async fn a_deleted_pod_is_replaced_at_once_unless_only_failed_ones_are() {
    for (policy, replaced) in [("TerminatingOrFailed", 1), ("Failed", 0)] {
        let f = start().await;
        f.create(job(json!({"podReplacementPolicy": policy}))).await;
        f.settled().await;
        let pod = active(&f).await.remove(0);
        f.pods()
            .delete(&pod, &DeleteParams::default())
            .await
            .unwrap();
        f.settled().await;
        let now = get(&f).await;
        assert_eq!(now["status"]["terminating"], 1, "{policy}");
        assert_eq!(
            now["status"]["failed"].as_i64().unwrap_or(0),
            replaced,
            "{policy}"
        );
    }
}

#[tokio::test]
async fn fewer_pods_run_when_parallelism_falls_and_none_counts_as_failed() {
    let f = start().await;
    f.create(job(json!({"completions": 9, "parallelism": 5})))
        .await;
    f.settled().await;
    patch(&f, json!({"parallelism": 2})).await;
    stop_deleted(&f).await;
    assert_eq!(
        status(&f).await,
        json!({"active": 2, "ready": 0, "terminating": 0, "uncountedTerminatedPods": {}})
    );
}

#[tokio::test]
async fn pods_of_a_deleted_job_lose_their_finalizers() {
    let f = start().await;
    f.create(job(json!({"parallelism": 2}))).await;
    f.settled().await;
    let orphan = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Background),
        ..DeleteParams::default()
    };
    jobs(&f).delete("work", &orphan).await.unwrap();
    f.settled().await;
    let pods = f.pod_list().await;
    assert_eq!(pods.len(), 2);
    assert!(pods.iter().all(|pod| pod.finalizers().is_empty()));
}

#[tokio::test]
async fn a_job_of_another_manager_is_left_alone() {
    let f = start().await;
    f.create(job(json!({"managedBy": "example.com/other"})))
        .await;
    f.settled().await;
    assert!(f.pod_list().await.is_empty());
    assert_eq!(get(&f).await["status"], json!({}));
}

#[tokio::test(start_paused = true)]
async fn a_finished_job_is_deleted_after_its_time_to_live() {
    let f = start().await;
    f.create(job(json!({"ttlSecondsAfterFinished": 60}))).await;
    f.settled().await;
    end_one(&f, 0).await;
    advance(&f, 58).await;
    assert!(get(&f).await["metadata"]["deletionTimestamp"].is_null());
    advance(&f, 4).await;
    let job = get(&f).await;
    assert!(job["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(job["metadata"]["finalizers"], json!(["foregroundDeletion"]));
}
