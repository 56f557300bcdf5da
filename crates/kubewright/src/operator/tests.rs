//! What an operator says of itself.

use k8s_openapi::{
    api::core::v1::{ConfigMap, Secret, Service},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kubewright_controller::{Action, Context, Controller, Error, Request};
use serde_json::json;

use super::*;

async fn reconcile(_: Context, _: Request) -> Result<Action, Error> {
    Ok(Action::done())
}

/// A version of a kind, as a type would define it.
fn version(name: &str, storage: bool) -> CustomResourceDefinition {
    serde_json::from_value(json!({
        "metadata": {"name": "captains.crew.example.com"},
        "spec": {
            "group": "crew.example.com",
            "names": {"kind": "Captain", "plural": "captains"},
            "scope": "Namespaced",
            "versions": [{"name": name, "served": true, "storage": storage}],
        },
    }))
    .unwrap()
}

fn with_versions(versions: [(&str, bool); 2]) -> Operator {
    Operator::of("crew", |operator| {
        let versions = versions.map(|(name, storage)| version(name, storage));
        operator.definitions.extend(versions);
    })
}

#[test]
fn a_controller_tells_what_it_owns_and_watches() {
    let operator = Operator::of("keeper", |operator| {
        let builder = Controller::for_::<ConfigMap>().owns::<Secret>();
        operator.controller(builder.watches(|_: &Service| Vec::new()), reconcile);
    });
    let model = operator.model().unwrap();
    let controller = &model.controllers[0];
    assert_eq!(controller.main.as_ref().unwrap().plural, "configmaps");
    assert_eq!(controller.owns[0].plural, "secrets");
    assert_eq!(controller.watches.len(), 1);
    assert_eq!(controller.watches[0].plural, "services");
    let read_services = RuleModel::new("", &["services"], &["get", "list", "watch"]);
    assert!(model.rules.contains(&read_services));
    let text = serde_json::to_string(&model).unwrap();
    assert_eq!(serde_json::from_str::<Model>(&text).unwrap(), model);
}

#[test]
fn versions_of_a_kind_are_one_definition() {
    let operator = with_versions([("v2", true), ("v1", false)]);
    let definitions = operator.definitions().unwrap();
    let versions = &definitions[0].spec.versions;
    assert_eq!(definitions.len(), 1);
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
fn two_stored_versions_are_refused_with_what_to_write() {
    let operator = with_versions([("v1", true), ("v2", true)]);
    assert_eq!(
        operator.definitions().unwrap_err().to_string(),
        "2 of 2 versions of captains.crew.example.com are stored: write `storage = false` in #[kube(...)] of all but one"
    );
}

#[test]
fn permissions_that_do_not_follow_can_be_added() {
    let operator = Operator::of("crew", |operator| {
        operator.rule("", &["nodes"], &["get"]);
    });
    let rules = operator.model().unwrap().rules;
    assert_eq!(rules, [RuleModel::new("", &["nodes"], &["get"])]);
}
