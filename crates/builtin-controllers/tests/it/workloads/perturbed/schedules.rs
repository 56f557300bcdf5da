//! Controllers that wait for a time.

use std::{collections::BTreeSet, time::Duration};

use k8s_openapi::api::batch::v1::{CronJob, Job};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams},
};
use kubewright_testing::{Moment, State, World, perturb};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{controllers, create};

fn work() -> Value {
    json!({"template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}],
    }}})
}

fn jobs(world: &World) -> Api<Job> {
    Api::default_namespaced(world.client())
}

#[test]
fn a_schedule_never_starts_two_jobs_at_once() {
    let story = |world: World| async move {
        let cron = json!({
            "apiVersion": "batch/v1", "kind": "CronJob",
            "metadata": {"name": "tick", "namespace": "default"},
            "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": work()}},
        });
        create(&world, cron).await;
        world.pause().await;
        sleep(Duration::from_secs(90)).await;
        world.pause().await;
        sleep(Duration::from_secs(60)).await;
        world.settled().await;
        let list = jobs(&world).list(&ListParams::default()).await.unwrap();
        assert!(!list.items.is_empty(), "a job was started");
        // How many there are depends on the time; so they go.
        let crons: Api<CronJob> = Api::default_namespaced(world.client());
        crons.delete("tick", &Default::default()).await.unwrap();
        world.settled().await;
        for job in jobs(&world).list(&ListParams::default()).await.unwrap() {
            let name = job.name_any();
            jobs(&world)
                .delete(&name, &DeleteParams::background())
                .await
                .unwrap();
        }
        world.settled().await;
    };
    let once = |moment: &Moment| {
        let at = |job: &Value| {
            let annotations = &job["metadata"]["annotations"];
            annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"].to_string()
        };
        let all: Vec<String> = moment.of("jobs.batch").map(at).collect();
        let distinct: BTreeSet<&String> = all.iter().collect();
        match distinct.len() == all.len() {
            true => Ok(()),
            false => Err(format!("jobs were started at {all:?}")),
        }
    };
    perturb(controllers("cronjob"), story)
        .at_most(4)
        .always("one job at a time of the schedule", ["jobs.batch"], once)
        .run();
}

#[test]
fn only_jobs_that_have_finished_are_deleted_whatever_happens_to_the_controller() {
    let story = |world: World| async move {
        for name in ["ends", "goes-on"] {
            let mut spec = work();
            spec["ttlSecondsAfterFinished"] = json!(10);
            let job = json!({
                "apiVersion": "batch/v1", "kind": "Job",
                "metadata": {"name": name, "namespace": "default"}, "spec": spec,
            });
            create(&world, job).await;
        }
        world.pause().await;
        let since = world.cluster().time().now();
        let since = since.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let condition = |kind: &str| {
            json!({
                "type": kind, "status": "True", "reason": "CompletionsReached",
                "lastProbeTime": since, "lastTransitionTime": since,
            })
        };
        let done = Patch::Merge(json!({"status": {
            "startTime": since, "completionTime": since, "succeeded": 1,
            "conditions": [condition("SuccessCriteriaMet"), condition("Complete")],
        }}));
        let params = PatchParams::default();
        jobs(&world)
            .patch_status("ends", &params, &done)
            .await
            .unwrap();
        world.pause().await;
        sleep(Duration::from_secs(30)).await;
        world.settled().await;
    };
    let gone = |state: &State| {
        // Its pods go first, which no controller sees to here.
        let job = state.get("jobs.batch", "default/ends");
        match job.is_none_or(|job| !job["metadata"]["deletionTimestamp"].is_null()) {
            true => Ok(()),
            false => Err("the job that has finished stays".to_owned()),
        }
    };
    let stays = |moment: &Moment| {
        let job = moment.get("jobs.batch", "default/goes-on");
        match job.is_none_or(|job| job["metadata"]["deletionTimestamp"].is_null()) {
            true => Ok(()),
            false => Err("a job that goes on is deleted".to_owned()),
        }
    };
    perturb(controllers("ttl-after-finished"), story)
        .at_most(6)
        .always("the other job stays", ["jobs.batch"], stays)
        .invariant("the job is gone", gone)
        .run();
}
