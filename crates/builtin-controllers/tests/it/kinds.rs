//! Custom resources: kinds that come and go while the controllers run.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, ResourceExt,
    api::{ApiResource, DeleteParams, DynamicObject, PropagationPolicy},
};
use kubewright_controller::wait::{wait_for_deletion, wait_for_status_condition};
use serde_json::{Value, json};

use crate::fixture::{Fixture, LONG, owner};

/// Defines `Widget`, and waits until it is served.
pub(crate) async fn define(f: &Fixture) -> Api<CustomResourceDefinition> {
    f.create(json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.shop.example"},
        "spec": {
            "group": "shop.example",
            "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets"},
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": true,
                }},
            }],
        },
    }))
    .await;
    let definitions = Api::all(f.client());
    let name = "widgets.shop.example";
    wait_for_status_condition(&definitions, name, "Established", "True", LONG)
        .await
        .unwrap();
    definitions
}

pub(crate) fn widget(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "shop.example/v1",
        "kind": "Widget",
        "metadata": {"name": name, "namespace": namespace},
    })
}

pub(crate) fn widgets(f: &Fixture, namespace: &str) -> Api<DynamicObject> {
    let resource = ApiResource {
        group: "shop.example".into(),
        version: "v1".into(),
        api_version: "shop.example/v1".into(),
        kind: "Widget".into(),
        plural: "widgets".into(),
    };
    Api::namespaced_with(f.client(), namespace, &resource)
}

fn owned_by_widget(widget: &DynamicObject) -> Value {
    json!({
        "apiVersion": "shop.example/v1",
        "kind": "Widget",
        "name": widget.name_any(),
        "uid": widget.uid().unwrap(),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_comes_later_can_own_and_be_owned() {
    let f = Fixture::start("garbagecollector").await;
    define(&f).await;
    let parent = f.map("parent", &[]).await;
    let mut object = widget("default", "both");
    object["metadata"]["ownerReferences"] = json!([owner(&parent)]);
    let both = f.create(object).await;
    f.map("child", &[owned_by_widget(&both)]).await;
    f.delete("parent", PropagationPolicy::Background).await;
    wait_for_deletion(&widgets(&f, "default"), "both", None, LONG)
        .await
        .unwrap();
    f.gone("child").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn references_of_custom_resources_are_removed_one_by_one() {
    let f = Fixture::start("garbagecollector").await;
    define(&f).await;
    let one = f.map("one", &[]).await;
    let two = f.map("two", &[]).await;
    let mut object = widget("default", "child");
    object["metadata"]["ownerReferences"] = json!([owner(&one), owner(&two)]);
    f.create(object).await;
    f.settled().await;
    f.delete("one", PropagationPolicy::Orphan).await;
    f.gone("one").await;
    let child = widgets(&f, "default").get("child").await.unwrap();
    let owners = child.metadata.owner_references.unwrap();
    assert_eq!(owners.len(), 1);
    assert_eq!(owners[0].name, "two");
    f.delete("two", PropagationPolicy::Background).await;
    wait_for_deletion(&widgets(&f, "default"), "child", None, LONG)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_definition_go_its_objects_and_what_they_own() {
    let f = Fixture::start("garbagecollector").await;
    let definitions = define(&f).await;
    let parent = f.create(widget("default", "parent")).await;
    f.map("child", &[owned_by_widget(&parent)]).await;
    f.settled().await;
    definitions
        .delete("widgets.shop.example", &DeleteParams::default())
        .await
        .unwrap();
    wait_for_deletion(&definitions, "widgets.shop.example", None, LONG)
        .await
        .unwrap();
    f.gone("child").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_that_comes_again_is_served_anew() {
    let f = Fixture::start("garbagecollector").await;
    for _ in 0..3 {
        let definitions = define(&f).await;
        let parent = f.create(widget("default", "parent")).await;
        f.map("child", &[owned_by_widget(&parent)]).await;
        f.settled().await;
        assert!(f.find("child").await.is_some());
        definitions
            .delete("widgets.shop.example", &DeleteParams::default())
            .await
            .unwrap();
        wait_for_deletion(&definitions, "widgets.shop.example", None, LONG)
            .await
            .unwrap();
        f.gone("child").await;
    }
}
