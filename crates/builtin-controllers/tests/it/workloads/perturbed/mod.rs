//! Workload controllers that are killed between any two writes, lag behind, or lose their connection.

mod bounds;
mod nodes;
mod schedules;
mod services;

use k8s_openapi::api::{
    apps::v1::{Deployment, StatefulSet},
    batch::v1::Job,
    core::v1::Pod,
};
use kube::{
    Api, ResourceExt,
    api::{DynamicObject, ListParams, Patch, PatchParams, PostParams},
};
use kubewright_builtin_controllers::Controllers;
use kubewright_client::DynamicClient;
use kubewright_controller::{Manager, ManagerBuilder, ManagerError};
use kubewright_testing::{State, World, perturb};
use serde_json::json;

use super::{deployment, template};

/// Returns a program of some controllers.
fn controllers(
    list: &'static str,
) -> impl Fn(ManagerBuilder) -> Result<Manager, ManagerError> + Send + Sync + 'static {
    move |manager| {
        let manager = manager.build()?;
        Controllers::parse(list).unwrap().add_to(&manager)?;
        Ok(manager)
    }
}

/// Creates an object of any kind.
async fn create(world: &World, object: serde_json::Value) {
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    let objects = DynamicClient::new(world.client());
    let objects = objects.for_object(&object).await.unwrap();
    let created = objects.create(&PostParams::default(), &object).await;
    created.unwrap();
}

/// The controllers of the stories in this file.
const WORKLOADS: &str = "replicaset,deployment,statefulset,job";

/// Checks that every ReplicaSet has exactly the pods that it wants.
fn no_pod_too_many(state: &State) -> Result<(), String> {
    for set in state.of("replicasets.apps") {
        let (name, wanted) = (&set["metadata"]["name"], &set["spec"]["replicas"]);
        let owned = state.of("pods").filter(|pod| {
            pod["metadata"]["labels"]["pod-template-hash"]
                == set["metadata"]["labels"]["pod-template-hash"]
        });
        let count = owned.count();
        if json!(count) != *wanted {
            return Err(format!("{name} has {count} pods and wants {wanted}"));
        }
    }
    Ok(())
}

fn web(world: &World) -> Api<Deployment> {
    Api::default_namespaced(world.client())
}

async fn create_web(world: &World) {
    create(world, deployment(4, json!({}))).await;
}

async fn change(world: &World, change: serde_json::Value) {
    let (patch, params) = (Patch::Merge(change), PatchParams::default());
    web(world).patch("web", &params, &patch).await.unwrap();
}

#[test]
fn scaling_ends_the_same_whatever_happens_to_the_controllers() {
    let story = |world: World| async move {
        create_web(&world).await;
        world.pause().await;
        change(&world, json!({"spec": {"replicas": 6}})).await;
        world.pause().await;
        change(&world, json!({"spec": {"replicas": 2}})).await;
        world.pause().await;
    };
    // How often a ReplicaSet was written depends on what was seen of the Deployment.
    perturb(controllers(WORKLOADS), story)
        .at_most(12)
        .ignore("/status/conditions")
        .ignore("/status/observedGeneration")
        .invariant("every set has its pods", no_pod_too_many)
        .run();
}

#[test]
fn a_rollout_ends_the_same_whatever_happens_to_the_controllers() {
    let story = |world: World| async move {
        create_web(&world).await;
        world.settled().await;
        let template = template("nginx:2", json!({}));
        change(&world, json!({"spec": {"template": template}})).await;
        world.pause().await;
    };
    perturb(controllers(WORKLOADS), story)
        .at_most(12)
        .ignore("/status/conditions")
        .ignore("/status/observedGeneration")
        .invariant("every set has its pods", no_pod_too_many)
        .run();
}

#[test]
fn there_is_one_pod_for_an_ordinal_whatever_happens_to_the_controllers() {
    let story = |world: World| async move {
        let sets: Api<StatefulSet> = Api::default_namespaced(world.client());
        let set = serde_json::from_value(json!({
            "metadata": {"name": "db"},
            "spec": {
                "replicas": 3, "podManagementPolicy": "Parallel",
                "selector": {"matchLabels": {"app": "web"}}, "template": template("nginx", json!({})),
            },
        }));
        sets.create(&PostParams::default(), &set.unwrap())
            .await
            .unwrap();
        world.pause().await;
        let change = Patch::Merge(json!({"spec": {"replicas": 2}}));
        sets.patch("db", &PatchParams::default(), &change)
            .await
            .unwrap();
        world.pause().await;
    };
    let ordinals = |state: &State| {
        let index = |pod: &serde_json::Value| {
            let labels = &pod["metadata"]["labels"];
            labels["apps.kubernetes.io/pod-index"].to_string()
        };
        let mut found: Vec<String> = state.of("pods").map(index).collect();
        found.sort_unstable();
        match found == ["\"0\"", "\"1\""] {
            true => Ok(()),
            false => Err(format!("there are {found:?}")),
        }
    };
    perturb(controllers(WORKLOADS), story)
        .at_most(12)
        .invariant("one pod for an ordinal", ordinals)
        .run();
}

#[test]
fn every_pod_of_a_job_counts_once_whatever_happens_to_the_controllers() {
    let story = |world: World| async move {
        let jobs: Api<Job> = Api::default_namespaced(world.client());
        let job = serde_json::from_value(json!({
            "metadata": {"name": "work"},
            "spec": {"completions": 3, "parallelism": 3, "template": {"spec": {
                "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}],
            }}},
        }));
        let params = PostParams::default();
        jobs.create(&params, &job.unwrap()).await.unwrap();
        world.settled().await;
        let pods: Api<Pod> = Api::default_namespaced(world.client());
        for pod in pods.list(&ListParams::default()).await.unwrap() {
            let done = Patch::Merge(json!({"status": {"phase": "Succeeded"}}));
            let params = PatchParams::default();
            pods.patch_status(&pod.name_any(), &params, &done)
                .await
                .unwrap();
            world.pause().await;
        }
    };
    let counted = |state: &State| {
        let counts: Vec<_> = state
            .of("jobs.batch")
            .map(|job| job["status"]["succeeded"].clone())
            .collect();
        let tracked = state
            .of("pods")
            .filter(|pod| !pod["metadata"]["finalizers"].is_null());
        match counts == [json!(3)] && tracked.count() == 0 {
            true => Ok(()),
            false => Err(format!("{counts:?} succeeded")),
        }
    };
    perturb(controllers(WORKLOADS), story)
        .at_most(12)
        .ignore("/status/conditions")
        .invariant("every pod counts once", counted)
        .run();
}
