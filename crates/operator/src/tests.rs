//! The model and the CRDs of an operator.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use kubewright_controller::{Action, Client, Context, Controller, Request, Result};
use serde_json::{Value, json};

use crate::*;

async fn reconcile(_: Context, _: Request) -> Result<Action> {
    Ok(Action::done())
}

/// Returns the CRD of one version, as a type would define it.
fn version(name: &str, storage: bool) -> Value {
    json!({
        "metadata": {"name": "captains.crew.example.com"},
        "spec": {
            "group": "crew.example.com",
            "names": {"kind": "Captain", "plural": "captains"},
            "scope": "Namespaced",
            "versions": [{"name": name, "served": true, "storage": storage}],
        },
    })
}

fn with_versions(versions: [(&str, bool); 2]) -> Operator {
    Operator::new("crew", |operator| {
        let versions = versions.map(|(name, storage)| version(name, storage));
        operator.apis.extend(versions.map(Ok));
    })
}

#[test]
fn a_controller_is_described_with_the_kinds_it_owns_and_watches() {
    let operator = Operator::new("keeper", |operator| {
        let builder = Controller::for_::<ConfigMap>().owns::<Secret>();
        operator.controller(
            builder.watches(async |_: Client, _: Arc<Service>| Ok(Vec::new())),
            reconcile,
        );
    });
    let model = operator.model().unwrap();
    let controller = &model.controllers[0];
    assert_eq!(controller.main.as_ref().unwrap().plural, "configmaps");
    assert_eq!(controller.owns[0].plural, "secrets");
    assert_eq!(controller.watches.len(), 1);
    assert_eq!(controller.watches[0].plural, "services");
    let read_services = PolicyRule::new("", &["services"], &["get", "list", "watch"]);
    assert!(model.rules.contains(&read_services));
    let text = serde_json::to_string(&model).unwrap();
    assert_eq!(serde_json::from_str::<Model>(&text).unwrap(), model);
}

#[test]
fn versions_of_a_kind_are_merged_into_one_crd() {
    let operator = with_versions([("v2", true), ("v1", false)]);
    let crds = operator.crds().unwrap();
    let versions = &crds[0].spec.versions;
    assert_eq!(crds.len(), 1);
    assert_eq!(
        (versions[0].name.as_str(), versions[0].storage),
        ("v1", false)
    );
    assert_eq!(
        (versions[1].name.as_str(), versions[1].storage),
        ("v2", true)
    );
}

#[test]
fn two_storage_versions_are_rejected() {
    let operator = with_versions([("v1", true), ("v2", true)]);
    assert_eq!(
        operator.crds().unwrap_err().to_string(),
        "2 of 2 versions of captains.crew.example.com are stored: write `storage = false` in #[kube(...)] of all but one"
    );
}

#[test]
fn permissions_can_be_added() {
    let operator = Operator::new("crew", |operator| {
        operator.rule("", &["nodes"], &["get"]);
    });
    let rules = operator.model().unwrap().rules;
    assert_eq!(rules, [PolicyRule::new("", &["nodes"], &["get"])]);
}
