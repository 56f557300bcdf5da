//! The operator under crashes, stale caches, missed events and lost leases.

use k8s_openapi::api::apps::v1::Deployment;
use kube::{
    Api,
    api::{DeleteParams, Patch, PostParams},
};
use kubewright::testing::{State, World, perturb};
use serde_json::json;
use webapp_operator::api::v1::WebApp;

use crate::{app, operator};

/// Two apps come, one is changed and becomes ready, the other one goes.
async fn story(world: World) {
    let apps: Api<WebApp> = Api::default_namespaced(world.client());
    for name in ["shop", "blog"] {
        apps.create(&PostParams::default(), &app(name))
            .await
            .unwrap();
    }
    world.settled().await;
    let patch = Patch::Merge(json!({"spec": {"image": "shop:2", "host": null}}));
    apps.patch("shop", &Default::default(), &patch)
        .await
        .unwrap();
    // The world of a perturbation has no nodes, so that only the operator is perturbed.
    let deployments: Api<Deployment> = Api::default_namespaced(world.client());
    let ready = json!({"status": {"replicas": 2, "readyReplicas": 2, "availableReplicas": 2}});
    deployments
        .patch_status("shop", &Default::default(), &Patch::Merge(ready))
        .await
        .unwrap();
    world.pause().await;
    apps.delete("blog", &DeleteParams::default()).await.unwrap();
}

#[test]
fn an_app_reaches_the_same_state_under_all_perturbations() {
    let nothing_is_left = |state: &State| match state.of("deployments.apps").count() {
        1 => Ok(()),
        count => Err(format!("{count} Deployments")),
    };
    let report = perturb(operator, story)
        .invariant("the objects of a deleted app are gone", nothing_is_left)
        .run();
    assert!(report.missed.is_empty(), "{:?}", report.missed);
}
