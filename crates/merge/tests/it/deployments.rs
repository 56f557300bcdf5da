//! Writes to a Deployment, as clients do them.

use crate::types::{DEPLOYMENT, Type, deployment, empty_deployment};
use kubewright_machinery::time::Time;
use kubewright_merge::fieldset::FieldSet;
use kubewright_merge::managed::{Apply, Endpoint, OneVersion, apply, update};
use kubewright_merge::strategic;
use serde_json::{Value, json};

fn endpoint(versions: &OneVersion) -> Endpoint<'_, Type> {
    Endpoint {
        schema: Type(&DEPLOYMENT),
        api_version: "apps/v1",
        kind: "Deployment",
        subresource: "",
        versions,
    }
}

fn fields(object: &Value, entry: usize) -> String {
    let fields = &object["metadata"]["managedFields"][entry]["fieldsV1"];
    FieldSet::from_value(fields).expect("FieldsV1").to_json()
}

#[test]
fn the_creator_owns_optional_structs_but_not_those_that_are_always_there() {
    let mut new = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "web"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "nginx", "ports": [{"containerPort": 80, "protocol": "TCP"}], "resources": {}}]}
            }
        },
        "status": {}
    });
    let versions = OneVersion::default();
    let endpoint = endpoint(&versions);
    update(
        &empty_deployment(),
        &mut new,
        &endpoint,
        "kubectl",
        Time::from_unix(0, 0),
    )
    .expect("tracked");
    assert_eq!(
        fields(&new, 0),
        r#"{"f:spec":{"f:replicas":{},"f:selector":{},"f:strategy":{"f:rollingUpdate":{".":{},"f:maxSurge":{}},"f:type":{}},"f:template":{"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{},"f:name":{},"f:ports":{".":{},"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:protocol":{}}},"f:resources":{}}}}}}}"#
    );
}

#[test]
fn a_sidecar_survives_the_apply_of_another_manager() {
    let versions = OneVersion::default();
    let endpoint = endpoint(&versions);
    let empty = empty_deployment();
    let mut mine = deployment();
    mine["metadata"]
        .as_object_mut()
        .expect("object")
        .remove("uid");
    let request = Apply {
        live: &empty,
        empty: &empty,
        patch: &mine,
        manager: "me",
        force: false,
        now: Time::from_unix(0, 0),
    };
    let live = apply(&request, &endpoint).expect("applied").object;

    let patch = json!({"spec": {"template": {"spec": {"containers": [{"name": "sidecar", "image": "x"}]}}}});
    let mut injected = strategic::apply(Type(&DEPLOYMENT), live.clone(), patch).expect("patched");
    update(
        &live,
        &mut injected,
        &endpoint,
        "injector",
        Time::from_unix(1, 0),
    )
    .expect("tracked");

    let mut fewer = mine.clone();
    fewer["spec"]["template"]["spec"]["containers"]
        .as_array_mut()
        .expect("list")
        .truncate(1);
    let request = Apply {
        live: &injected,
        patch: &fewer,
        now: Time::from_unix(2, 0),
        ..request
    };
    let out = apply(&request, &endpoint).expect("applied").object;
    let containers = out["spec"]["template"]["spec"]["containers"]
        .as_array()
        .expect("list");
    let names: Vec<_> = containers
        .iter()
        .map(|c| c["name"].as_str().expect("name"))
        .collect();
    assert_eq!(names, ["sidecar", "web"]);
}
