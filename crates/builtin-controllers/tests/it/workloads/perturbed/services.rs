//! Endpoints of services, and disruption budgets.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams},
};
use kubewright_testing::{Moment, State, World, perturb};
use serde_json::{Value, json};

use super::{controllers, create};

fn node() -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
}

/// Creates a pod of the application `web`.
async fn pod(world: &World, name: &str) {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}},
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]},
    });
    create(world, pod).await;
}

/// Sets the address of a pod and whether it is ready.
async fn set(world: &World, name: &str, ip: &str, is_ready: bool) {
    let ready = if is_ready { "True" } else { "False" };
    let status = json!({"status": {
        "phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}],
        "conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": "2020-01-01T00:00:00Z"}],
    }});
    let pods: Api<Pod> = Api::default_namespaced(world.client());
    let (patch, params) = (Patch::Merge(status), PatchParams::default());
    pods.patch_status(name, &params, &patch).await.unwrap();
}

/// Returns the addresses of slices that are ready.
fn addresses<'a>(slices: impl Iterator<Item = &'a Value>) -> Vec<String> {
    let endpoints = slices.flat_map(|slice| slice["endpoints"].as_array().into_iter().flatten());
    let ready = endpoints.filter(|endpoint| endpoint["conditions"]["ready"] == true);
    let addresses = ready.map(|endpoint| endpoint["addresses"][0].as_str());
    addresses.flatten().map(str::to_owned).collect()
}

#[test]
fn no_endpoint_is_ever_listed_twice() {
    let story = |world: World| async move {
        let service = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
        });
        create(&world, service).await;
        create(&world, node()).await;
        for (i, name) in ["a", "b", "c"].into_iter().enumerate() {
            pod(&world, name).await;
            set(&world, name, &format!("10.0.0.{}", i + 1), true).await;
        }
        world.pause().await;
        set(&world, "b", "10.0.0.2", false).await;
        world.pause().await;
        let pods: Api<Pod> = Api::default_namespaced(world.client());
        let now = DeleteParams::default().grace_period(0);
        pods.delete("c", &now).await.unwrap();
        pod(&world, "d").await;
        set(&world, "d", "10.0.0.4", true).await;
        world.pause().await;
    };
    let once = |moment: &Moment| {
        let all = addresses(moment.of("endpointslices.discovery.k8s.io"));
        let distinct: BTreeSet<&String> = all.iter().collect();
        match distinct.len() == all.len() {
            true => Ok(()),
            false => Err(format!("the addresses are {all:?}")),
        }
    };
    let listed = |state: &State| {
        let of_web =
            |slice: &&Value| slice["metadata"]["labels"]["kubernetes.io/service-name"] == "web";
        let mut found = addresses(state.of("endpointslices.discovery.k8s.io").filter(of_web));
        found.sort_unstable();
        match found == ["10.0.0.1", "10.0.0.4"] {
            true => Ok(()),
            false => Err(format!("the addresses are {found:?}")),
        }
    };
    perturb(controllers("endpoint,endpointslice"), story)
        .at_most(6)
        .ignore("/metadata/annotations")
        .always(
            "an address is listed once",
            ["endpointslices.discovery.k8s.io"],
            once,
        )
        .invariant("ready pods are listed", listed)
        .run();
}

#[test]
fn a_budget_ends_the_same_whatever_happens_to_the_controller() {
    let story = |world: World| async move {
        for (i, name) in ["a", "b", "c"].into_iter().enumerate() {
            pod(&world, name).await;
            set(&world, name, &format!("10.0.0.{}", i + 1), true).await;
        }
        let budget = json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}},
        });
        create(&world, budget).await;
        world.pause().await;
        set(&world, "a", "10.0.0.1", false).await;
        world.pause().await;
        pod(&world, "d").await;
        set(&world, "d", "10.0.0.4", true).await;
        world.pause().await;
    };
    let most = |moment: &Moment| {
        let mut budgets = moment.of("poddisruptionbudgets.policy");
        let allowed = |budget: &Value| budget["status"]["disruptionsAllowed"].as_u64();
        // Four pods, of which two must stay.
        match budgets.all(|budget| allowed(budget).unwrap_or(0) <= 2) {
            true => Ok(()),
            false => Err("too many disruptions are allowed".to_owned()),
        }
    };
    let allowed = |state: &State| {
        let budget = state.get("poddisruptionbudgets.policy", "default/web");
        match budget.map(|budget| &budget["status"]["disruptionsAllowed"]) {
            Some(allowed) if *allowed == 1 => Ok(()),
            other => Err(format!("{other:?} disruptions are allowed")),
        }
    };
    perturb(controllers("disruption"), story)
        .at_most(6)
        .always(
            "no more than possible",
            ["poddisruptionbudgets.policy"],
            most,
        )
        .invariant("one disruption is allowed", allowed)
        .run();
}
