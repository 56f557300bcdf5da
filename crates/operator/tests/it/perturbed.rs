//! An operator under perturbations.

use std::sync::Arc;

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Secret, Service},
};
use kube::{
    Api, CustomResource, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use kubewright::Schema;
use kubewright_controller::{Action, Context, Controller, Result};
use kubewright_operator::Operator;
use kubewright_testing::{Perturbation, State, World, perturb};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The desired state of a Site.
#[derive(CustomResource, Schema, Clone, Debug, Default, Serialize, Deserialize)]
#[kube(group = "example.com", version = "v1", kind = "Site", namespaced)]
#[kube(status = "SiteStatus")]
struct SiteSpec {
    image: String,
    replicas: i32,
}

/// The observed state of a Site.
#[derive(Schema, Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
struct SiteStatus {
    #[serde(default)]
    image: String,
}

fn operator() -> Operator {
    Operator::new("site", |operator| {
        let sites = Controller::for_::<Site>()
            .owns::<Deployment>()
            .owns::<Service>()
            .owns::<ConfigMap>();
        operator.api::<Site>().controller(sites, reconcile);
    })
}

async fn reconcile(ctx: Context<Site>, site: Arc<Site>) -> Result<Action> {
    ctx.finalize("example.com/site", async |_: Arc<Site>| Ok(()))
        .await?;
    let name = site.name_any();
    let labels = json!({"site": name});
    let deployment = json!({
        "metadata": {"name": name},
        "spec": {
            "replicas": site.spec.replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "site", "image": site.spec.image}]},
            },
        },
    });
    let service = json!({
        "metadata": {"name": name}, "spec": {"selector": labels, "ports": [{"port": 80}]},
    });
    let map = json!({"metadata": {"name": name}, "data": {"image": site.spec.image}});
    ctx.apply_owned::<Deployment>(serde_json::from_value(deployment)?)
        .await?;
    ctx.apply_owned::<Service>(serde_json::from_value(service)?)
        .await?;
    ctx.apply_owned::<ConfigMap>(serde_json::from_value(map)?)
        .await?;
    ctx.status(|status| status.image.clone_from(&site.spec.image))
        .await?;
    Ok(Action::done())
}

async fn story(world: World) {
    let sites: Api<Site> = Api::default_namespaced(world.client());
    for name in ["docs", "blog"] {
        let spec = SiteSpec {
            image: "v1".into(),
            replicas: 1,
        };
        sites
            .create(&PostParams::default(), &Site::new(name, spec))
            .await
            .unwrap();
    }
    world.pause().await;
    for image in ["v2", "v3"] {
        let patch = Patch::Merge(json!({"spec": {"image": image}}));
        for name in ["docs", "blog"] {
            sites
                .patch(name, &PatchParams::default(), &patch)
                .await
                .unwrap();
        }
        world.pause().await;
    }
    sites
        .delete("blog", &DeleteParams::default())
        .await
        .unwrap();
}

#[test]
fn operators_with_custom_kinds_can_be_perturbed() {
    let collected = |state: &State| match state.of("deployments.apps").count() {
        1 => Ok(()),
        count => Err(format!("{count} deployments")),
    };
    let report = perturb(operator, story)
        .invariant("garbage is collected", collected)
        .run();
    assert!(report.survived.len() >= 127, "{report}");
    assert!(report.missed.is_empty(), "{:?}", report.missed);
}

#[test]
fn an_operator_that_never_settles_is_named() {
    let restless = || {
        Operator::new("site", |operator| {
            let count = async |ctx: Context<Site>, site: Arc<Site>| {
                let run = site.status.as_ref().map_or(0, |status| status.image.len());
                ctx.status(|status| status.image = "x".repeat((run + 1) % 100))
                    .await?;
                Ok(Action::done())
            };
            operator
                .api::<Site>()
                .controller(Controller::for_::<Site>(), count);
        })
    };
    let report = perturb(restless, story).most_writes(200).explore();
    let reason = &report.failures[0].reason;
    assert!(reason.starts_with("site ("), "{reason}");
    assert!(
        reason
            .contains(" runs) writes forever: PUT /apis/example.com/v1/namespaces/default/sites/"),
        "{reason}"
    );
}

#[test]
fn an_operator_recovers_from_a_stale_cache() {
    // Without a finalizer, the cache still shows the deleted owner, so the new objects are garbage.
    let keeper = || {
        Operator::new("keeper", |operator| {
            let keep = async |ctx: Context<ConfigMap>, map: Arc<ConfigMap>| {
                let mut secret = Secret::default();
                secret.metadata.name = Some(map.name_any());
                ctx.apply_owned(secret).await?;
                Ok(Action::done())
            };
            operator.controller(Controller::for_::<ConfigMap>().owns::<Secret>(), keep);
        })
    };
    let story = |world: World| async move {
        let maps: Api<ConfigMap> = Api::default_namespaced(world.client());
        let mut map = ConfigMap::default();
        map.metadata.name = Some("colours".into());
        maps.create(&PostParams::default(), &map).await.unwrap();
        world.pause().await;
        maps.delete("colours", &DeleteParams::default())
            .await
            .unwrap();
    };
    for events in 1..=3 {
        let stale = Perturbation::StaleCache { events };
        let report = perturb(keeper, story).only(stale).run();
        assert_eq!(report.survived, [stale]);
    }
}
