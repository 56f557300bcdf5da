//! Perturbed operators whose webhooks are down, wrong or negative for one call.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, CustomResource, ResourceExt,
    api::{Patch, PostParams},
};
use kubewright::Schema;
use kubewright_controller::{Action, Context, Controller, Result};
use kubewright_operator::Operator;
use kubewright_testing::{Perturb, Perturbation, World, perturb};
use kubewright_webhook::{FailurePolicy, Webhook};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::conversion::{register as register_captains, v1, v2};

#[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
#[kube(group = "web.example.com", version = "v1", kind = "Page", namespaced)]
struct PageSpec {
    title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    theme: Option<String>,
}

/// A webhook operator whose controller writes a page for each ConfigMap.
fn operator(policy: FailurePolicy) -> Operator {
    Operator::new("web", |operator| {
        let defaulter = Webhook::defaulter(|page: &mut Page| {
            page.spec.theme.get_or_insert_with(|| "plain".to_owned());
        });
        let validator = Webhook::validator(|page: &Page| match page.spec.title.is_empty() {
            true => Err("a page needs a title".into()),
            false => Ok(()),
        });
        operator
            .api::<Page>()
            .webhook(defaulter.failure_policy(policy))
            .webhook(validator.failure_policy(policy))
            .controller(Controller::for_::<ConfigMap>().owns::<Page>(), write_a_page);
    })
}

async fn write_a_page(ctx: Context<ConfigMap>, map: Arc<ConfigMap>) -> Result<Action> {
    if let Some(title) = map.data.as_ref().and_then(|data| data.get("title")) {
        ctx.apply_owned(page(&map.name_any(), title)).await?;
    }
    Ok(Action::done())
}

/// Gives up when a write fails.
async fn give_up(ctx: Context<ConfigMap>, map: Arc<ConfigMap>) -> Result<Action> {
    Ok(write_a_page(ctx, map)
        .await
        .unwrap_or_else(|_| Action::done()))
}

fn page(name: &str, title: &str) -> Page {
    let (title, theme) = (title.to_owned(), None);
    Page::new(name, PageSpec { title, theme })
}

/// A map comes.
async fn one_map(world: World) {
    let maps: Api<ConfigMap> = Api::default_namespaced(world.client());
    let map = json!({"metadata": {"name": "a"}, "data": {"title": "A"}});
    let map = serde_json::from_value(map).unwrap();
    maps.create(&PostParams::default(), &map).await.unwrap();
}

/// Two maps come, and the title of one changes.
async fn maps(world: World) {
    let maps: Api<ConfigMap> = Api::default_namespaced(world.client());
    for (name, title) in [("a", "A"), ("b", "B")] {
        let map = json!({"metadata": {"name": name}, "data": {"title": title}});
        let map = serde_json::from_value(map).unwrap();
        maps.create(&PostParams::default(), &map).await.unwrap();
    }
    world.pause().await;
    let patch = Patch::Merge(json!({"data": {"title": "New"}}));
    maps.patch("a", &Default::default(), &patch).await.unwrap();
}

/// A user creates a page.
async fn one_page(world: World) {
    let pages: Api<Page> = Api::default_namespaced(world.client());
    let created = pages.create(&PostParams::default(), &page("a", "A")).await;
    created.unwrap();
}

/// Runs a story with each fault at two calls, and checks that all of them took effect.
#[track_caller]
fn survives_every_fault(perturbed: Perturb) {
    let calls = [1, 2].into_iter();
    let faults = calls.flat_map(|call| {
        [
            Perturbation::WebhookDown { call },
            Perturbation::WebhookWrong { call },
            Perturbation::WebhookDenied { call },
        ]
    });
    let report = faults.fold(perturbed, Perturb::only).run();
    assert_eq!(report.survived.len(), 6);
    assert!(report.missed.is_empty(), "{:?}", report.missed);
}

#[test]
fn webhook_faults_are_survived_by_a_program_that_retries() {
    survives_every_fault(perturb(|| operator(FailurePolicy::Fail), maps));
}

#[test]
fn a_program_that_applies_again_survives_ignored_webhooks() {
    survives_every_fault(perturb(|| operator(FailurePolicy::Ignore), maps));
}

#[test]
fn a_program_that_gives_up_after_a_denial_is_found() {
    let program = || {
        Operator::new("web", |operator| {
            operator
                .api::<Page>()
                .defaulter(|_: &mut Page| {})
                .controller(Controller::for_::<ConfigMap>().owns::<Page>(), give_up);
        })
    };
    let denied = Perturbation::WebhookDenied { call: 1 };
    let report = perturb(program, one_map).only(denied).explore();
    assert_eq!(report.failures.len(), 1, "{report}");
    let text = report.to_string();
    assert!(text.contains("- denial at webhook call 1: "), "{text}");
    assert!(text.contains("pages.web.example.com default/a"), "{text}");
}

#[test]
fn a_request_of_the_story_is_repeated_after_a_webhook_fault() {
    survives_every_fault(perturb(|| operator(FailurePolicy::Fail), one_page));
}

#[test]
fn a_story_that_relies_on_an_ignored_webhook_is_found() {
    let down = Perturbation::WebhookDown { call: 1 };
    let ignoring = || operator(FailurePolicy::Ignore);
    let report = perturb(ignoring, one_page).only(down).explore();
    assert_eq!(report.failures.len(), 1, "{report}");
    assert!(report.failures[0].reason.contains("theme"), "{report}");

    let report = perturb(ignoring, one_page)
        .without_webhook_faults()
        .at_most(1)
        .run();
    assert!(report.survived.contains(&Perturbation::SlowWebhooks));
    assert!(!report.survived.contains(&down));
}

/// Reads captains in a version that is not stored.
async fn log_the_vessel(ctx: Context<v2::Captain>, captain: Arc<v2::Captain>) -> Result<Action> {
    let data = [("vessel".to_owned(), captain.spec.vessel.clone())];
    let mut log = ConfigMap {
        data: Some(data.into()),
        ..ConfigMap::default()
    };
    log.metadata.name = Some(captain.name_any());
    ctx.apply_owned(log).await?;
    Ok(Action::done())
}

#[test]
fn failed_conversions_are_survived() {
    let program = || {
        Operator::new("crew", |operator| {
            register_captains(operator);
            let controller = Controller::for_::<v2::Captain>().owns::<ConfigMap>();
            operator.controller(controller, log_the_vessel);
        })
    };
    let story = |world: World| async move {
        let captains: Api<v1::Captain> = Api::default_namespaced(world.client());
        for name in ["ahab", "nemo"] {
            let ship = format!("{name}-ship");
            let captain = v1::Captain::new(name, v1::CaptainSpec { ship });
            captains
                .create(&PostParams::default(), &captain)
                .await
                .unwrap();
        }
        world.pause().await;
        let patch = Patch::Merge(json!({"spec": {"ship": "nautilus"}}));
        captains
            .patch("nemo", &Default::default(), &patch)
            .await
            .unwrap();
    };
    let perturbed = perturb(program, story).invariant("the new ship is known", |state| {
        let log = state.get("configmaps", "default/nemo");
        match log.is_some_and(|log| log["data"]["vessel"] == "nautilus") {
            true => Ok(()),
            false => Err(format!("{log:?}")),
        }
    });
    survives_every_fault(perturbed);
}
