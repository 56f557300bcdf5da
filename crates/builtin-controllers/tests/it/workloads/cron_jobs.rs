//! CronJobs: times, concurrency, history.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::fixture::Fixture;

async fn start() -> Fixture {
    let f = Fixture::start("cronjob").await;
    // The tests begin in the middle of a minute.
    let second = u64::try_from(f.cluster.time().now().as_second().rem_euclid(60)).unwrap();
    advance(&f, 90 - second).await;
    f
}

async fn advance(f: &Fixture, seconds: u64) {
    f.cluster.time().advance(Duration::from_secs(seconds)).await;
    f.settled().await;
}

fn crons(f: &Fixture) -> Api<CronJob> {
    Api::default_namespaced(f.client())
}

fn jobs(f: &Fixture) -> Api<Job> {
    Api::default_namespaced(f.client())
}

async fn job_list(f: &Fixture) -> Vec<Job> {
    jobs(f).list(&ListParams::default()).await.unwrap().items
}

/// Returns a CronJob named `tick` with more in its spec.
fn cron(more: Value) -> Value {
    let mut cron = json!({
        "apiVersion": "batch/v1", "kind": "CronJob",
        "metadata": {"name": "tick", "namespace": "default"},
        "spec": {"schedule": "* * * * *", "jobTemplate": {
            "metadata": {"labels": {"app": "tick"}, "annotations": {"note": "x"}},
            "spec": {"template": {"spec": {
                "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}],
            }}},
        }},
    });
    for (field, value) in more.as_object().unwrap() {
        cron["spec"][field] = value.clone();
    }
    cron
}

async fn create(f: &Fixture, more: Value) {
    f.create(cron(more)).await;
    f.settled().await;
}

async fn status(f: &Fixture) -> Value {
    json!(crons(f).get("tick").await.unwrap().status)
}

/// Returns the reasons of events with their counts.
async fn told(f: &Fixture, reason: &str) -> Vec<(String, i32)> {
    let events = f.events("tick").await.into_iter();
    let about = events.filter(|((known, _), _)| known == reason);
    about
        .map(|((_, message), count)| (message, count))
        .collect()
}

async fn finish(f: &Fixture, job: &str, condition: &str) {
    let now = f
        .cluster
        .time()
        .now()
        .strftime("%Y-%m-%dT%H:%M:%SZ")
        .to_string();
    let begun = json!(jobs(f).get(job).await.unwrap().metadata.creation_timestamp);
    let announced = match condition {
        "Complete" => "SuccessCriteriaMet",
        _ => "FailureTarget",
    };
    let mut status = json!({"startTime": begun, "conditions": [
        {"type": announced, "status": "True", "lastTransitionTime": now},
        {"type": condition, "status": "True", "lastTransitionTime": now},
    ]});
    if condition == "Complete" {
        status["completionTime"] = json!(now);
        status["succeeded"] = json!(1);
    }
    let patch = Patch::Merge(json!({"status": status}));
    let params = PatchParams::default();
    jobs(f).patch_status(job, &params, &patch).await.unwrap();
    f.settled().await;
}

async fn finish_all(f: &Fixture, condition: &str) {
    for job in job_list(f).await {
        if job
            .status
            .as_ref()
            .is_none_or(|status| status.conditions.is_none())
        {
            finish(f, &job.name_any(), condition).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_starts_at_each_time_of_the_schedule() {
    let f = start().await;
    create(&f, json!({})).await;
    assert!(job_list(&f).await.is_empty());
    advance(&f, 31).await;
    let job = job_list(&f).await.remove(0);
    let minutes = f.cluster.time().now().as_second() / 60;
    assert_eq!(job.name_any(), format!("tick-{minutes}"));
    let due = Timestamp::from_second(minutes * 60).unwrap().to_string();
    assert_eq!(
        json!(job.annotations()),
        json!({"note": "x", "batch.kubernetes.io/cronjob-scheduled-timestamp": due})
    );
    assert_eq!(job.labels()["app"], "tick");
    let owner = &job.owner_references()[0];
    assert_eq!(
        (owner.kind.as_str(), owner.controller),
        ("CronJob", Some(true))
    );
    let status = status(&f).await;
    assert_eq!(status["lastScheduleTime"], json!(due));
    assert_eq!(status["active"][0]["name"], json!(job.name_any()));
    assert_eq!(status["active"][0]["uid"], json!(job.uid()));
    advance(&f, 120).await;
    assert_eq!(job_list(&f).await.len(), 3);
    assert_eq!(told(&f, "SuccessfulCreate").await.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn finished_jobs_are_noted_and_old_ones_deleted() {
    let f = start().await;
    create(
        &f,
        json!({"successfulJobsHistoryLimit": 2, "failedJobsHistoryLimit": 1}),
    )
    .await;
    for _ in 0..3 {
        advance(&f, 60).await;
        finish_all(&f, "Complete").await;
    }
    assert_eq!(job_list(&f).await.len(), 2);
    for _ in 0..2 {
        advance(&f, 60).await;
        finish_all(&f, "Failed").await;
    }
    assert_eq!(job_list(&f).await.len(), 3);
    let status = status(&f).await;
    assert_eq!(status["active"], Value::Null);
    assert!(status["lastSuccessfulTime"].is_string());
    let seen = told(&f, "SawCompletedJob").await;
    let failed = seen
        .iter()
        .filter(|(text, _)| text.ends_with(", condition: Failed"));
    assert_eq!((seen.len(), failed.count()), (5, 2));
    assert_eq!(told(&f, "SuccessfulDelete").await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_job_waits_for_the_last_one_or_replaces_it_as_the_policy_says() {
    let f = start().await;
    create(&f, json!({"concurrencyPolicy": "Forbid"})).await;
    advance(&f, 31).await;
    let first = job_list(&f).await.remove(0).name_any();
    advance(&f, 60).await;
    assert_eq!(job_list(&f).await.len(), 1);
    let message =
        "Not starting job because prior execution is running and concurrency policy is Forbid";
    assert_eq!(
        told(&f, "JobAlreadyActive").await,
        [(message.to_owned(), 1)]
    );
    let policy = Patch::Merge(json!({"spec": {"concurrencyPolicy": "Replace"}}));
    let params = PatchParams::default();
    crons(&f).patch("tick", &params, &policy).await.unwrap();
    f.settled().await;
    // What was skipped is due as long as no later time is.
    let jobs = job_list(&f).await;
    assert_eq!(jobs.len(), 1);
    assert_ne!(jobs[0].name_any(), first);
    assert_eq!(
        told(&f, "SuccessfulDelete").await,
        [(format!("Deleted job {first}"), 1)]
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_starts_while_suspended_and_then_only_the_last_time() {
    let f = start().await;
    create(&f, json!({"suspend": true})).await;
    advance(&f, 600).await;
    assert!(job_list(&f).await.is_empty());
    let resume = Patch::Merge(json!({"spec": {"suspend": false}}));
    let params = PatchParams::default();
    crons(&f).patch("tick", &params, &resume).await.unwrap();
    f.settled().await;
    assert_eq!(job_list(&f).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_too_late_does_not_start() {
    let f = start().await;
    create(
        &f,
        json!({"suspend": true, "schedule": "0 * * * *", "startingDeadlineSeconds": 20}),
    )
    .await;
    let now = f.cluster.time().now().as_second();
    let past_the_hour = 3600 - now.rem_euclid(3600) + 40;
    advance(&f, u64::try_from(past_the_hour).unwrap()).await;
    let resume = Patch::Merge(json!({"spec": {"suspend": false}}));
    let params = PatchParams::default();
    crons(&f).patch("tick", &params, &resume).await.unwrap();
    f.settled().await;
    assert!(job_list(&f).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn of_ten_thousand_missed_times_one_starts() {
    let f = start().await;
    create(&f, json!({"suspend": true})).await;
    f.cluster.time().jump(Duration::from_secs(600_000)).await;
    let resume = Patch::Merge(json!({"spec": {"suspend": false}}));
    let params = PatchParams::default();
    crons(&f).patch("tick", &params, &resume).await.unwrap();
    f.settled().await;
    assert_eq!(job_list(&f).await.len(), 1);
    let message = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew";
    assert_eq!(
        told(&f, "TooManyMissedTimes").await,
        [(message.to_owned(), 1)]
    );
}

#[tokio::test(start_paused = true)]
async fn a_schedule_without_times_is_told_of_and_never_starts() {
    let f = start().await;
    create(&f, json!({"schedule": "59 23 31 2 *"})).await;
    let message = "invalid schedule: 59 23 31 2 * : time difference between two schedules is less than 1 second";
    assert_eq!(told(&f, "InvalidSchedule").await, [(message.to_owned(), 1)]);
    advance(&f, 86_400).await;
    assert!(job_list(&f).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_changed_schedule_starts_nothing_in_the_past() {
    let f = start().await;
    create(&f, json!({"schedule": "0 0 1 1 *"})).await;
    advance(&f, 300).await;
    let change = Patch::Merge(json!({"spec": {"schedule": "* * * * *"}}));
    let params = PatchParams::default();
    crons(&f).patch("tick", &params, &change).await.unwrap();
    f.settled().await;
    assert!(job_list(&f).await.is_empty());
    advance(&f, 60).await;
    assert_eq!(job_list(&f).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_active_job_that_is_deleted_is_missed() {
    let f = start().await;
    create(&f, json!({})).await;
    advance(&f, 31).await;
    let job = job_list(&f).await.remove(0).name_any();
    jobs(&f)
        .delete(&job, &DeleteParams::background())
        .await
        .unwrap();
    f.settled().await;
    assert_eq!(status(&f).await["active"], Value::Null);
    assert_eq!(
        told(&f, "MissingJob").await,
        [(format!("Active job went missing: {job}"), 1)]
    );
    assert!(job_list(&f).await.is_empty());
}
