//! Workload controllers that are killed between any two writes, lag behind, or lose their connection.

use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams},
};
use kubewright_builtin_controllers::Controllers;
use kubewright_controller::{Manager, ManagerBuilder, ManagerError};
use kubewright_testing::{State, World, perturb};
use serde_json::json;

use super::{deployment, template};

fn program(manager: ManagerBuilder) -> Result<Manager, ManagerError> {
    let manager = manager.build()?;
    let controllers = Controllers::parse("replicaset,deployment,statefulset").unwrap();
    controllers.add_to(&manager)?;
    Ok(manager)
}

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

async fn create(world: &World) {
    let created = serde_json::from_value(deployment(4, json!({}))).unwrap();
    let params = PostParams::default();
    web(world).create(&params, &created).await.unwrap();
}

async fn change(world: &World, change: serde_json::Value) {
    let (patch, params) = (Patch::Merge(change), PatchParams::default());
    web(world).patch("web", &params, &patch).await.unwrap();
}

#[test]
fn scaling_ends_the_same_whatever_happens_to_the_controllers() {
    let story = |world: World| async move {
        create(&world).await;
        world.pause().await;
        change(&world, json!({"spec": {"replicas": 6}})).await;
        world.pause().await;
        change(&world, json!({"spec": {"replicas": 2}})).await;
        world.pause().await;
    };
    // How often a ReplicaSet was written depends on what was seen of the Deployment.
    perturb(program, story)
        .at_most(12)
        .ignore("/status/conditions")
        .ignore("/status/observedGeneration")
        .invariant("every set has its pods", no_pod_too_many)
        .run();
}

#[test]
fn a_rollout_ends_the_same_whatever_happens_to_the_controllers() {
    let story = |world: World| async move {
        create(&world).await;
        world.settled().await;
        let template = template("nginx:2", json!({}));
        change(&world, json!({"spec": {"template": template}})).await;
        world.pause().await;
    };
    perturb(program, story)
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
    perturb(program, story)
        .at_most(12)
        .invariant("one pod for an ordinal", ordinals)
        .run();
}
