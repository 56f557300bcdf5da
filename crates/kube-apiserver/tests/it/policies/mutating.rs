//! Mutating policies: apply configurations, JSON patches, reinvocation.

use serde_json::{Value, json};

use super::{ADMIN, CONFIG_MAPS, GROUP, constraints, create};
use crate::rbac::Server;

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

/// Creates a mutating policy and a binding of the same name.
async fn mutating(server: &Server, name: &str, resource: &str, mut spec: Value) {
    let mut matches = constraints(resource);
    matches["resourceRules"][0]["operations"] = json!(["CREATE", "UPDATE"]);
    spec["matchConstraints"] = matches;
    if spec["reinvocationPolicy"].is_null() {
        spec["reinvocationPolicy"] = json!("Never");
    }
    let policy = json!({"metadata": {"name": name}, "spec": spec});
    server
        .admin(&format!("POST {GROUP}/mutatingadmissionpolicies"), policy)
        .await;
    let binding = json!({"metadata": {"name": name}, "spec": {"policyName": name}});
    server
        .admin(
            &format!("POST {GROUP}/mutatingadmissionpolicybindings"),
            binding,
        )
        .await;
}

fn apply(expression: &str) -> Value {
    json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}})
}

fn patch(expression: &str) -> Value {
    json!({"patchType": "JSONPatch", "jsonPatch": {"expression": expression}})
}

fn deployment(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    }})
}

#[tokio::test]
async fn configurations_are_merged_by_the_schema() {
    let server = Server::start().await;
    let config = "Object{spec: Object.spec{replicas: object.spec.replicas + 2, template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: 'c', env: [Object.spec.template.spec.containers.env{name: 'E', value: 'v'}]}, Object.spec.template.spec.containers{name: 'side', image: 's'}]}}}}";
    mutating(
        &server,
        "sidecar",
        "deployments",
        json!({"mutations": [apply(config)]}),
    )
    .await;
    let created = server
        .admin(&format!("POST {DEPLOYMENTS}"), deployment("d"))
        .await;
    assert_eq!(created["spec"]["replicas"], 3);
    let containers = &created["spec"]["template"]["spec"]["containers"];
    assert_eq!(containers[0]["env"], json!([{"name": "E", "value": "v"}]));
    assert_eq!(containers[0]["image"], "i");
    assert_eq!(containers[1]["name"], "side");
    assert_eq!(
        containers[1]["imagePullPolicy"], "Always",
        "defaults are filled in"
    );
    // The fields that the policy set have no owner.
    let owned = &created["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:template"]["f:spec"]
        ["f:containers"];
    assert!(owned.get("k:{\"name\":\"c\"}").is_some());
    assert!(owned.get("k:{\"name\":\"side\"}").is_none());
}

#[tokio::test]
async fn patches_are_applied_in_order() {
    let server = Server::start().await;
    let mutations = json!([
        patch("[JSONPatch{op: 'add', path: '/metadata/labels', value: {'a': 'b'}}]"),
        patch(
            "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('x/y'), value: object.metadata.labels.a + 'c'}]"
        ),
        patch(
            "[JSONPatch{op: 'test', path: '/metadata/name', value: 'other'}, JSONPatch{op: 'add', path: '/data', value: {'never': ''}}]"
        ),
    ]);
    mutating(
        &server,
        "labels",
        "configmaps",
        json!({"mutations": mutations}),
    )
    .await;
    let created = create(&server, "x", json!({"k": "v"})).await;
    let object = created.json();
    assert_eq!(
        object["metadata"]["labels"],
        json!({"a": "b", "x/y": "bc"}),
        "{}",
        created.text
    );
    assert_eq!(object["data"], json!({"k": "v"}));
}

#[tokio::test]
async fn mistakes_in_configurations() {
    let server = Server::start().await;
    let cases = [
        (
            "Object{spec: Object.status{}}",
            "type mismatch: unexpected type name \"Object.status\", expected \"Object.spec\", which matches field name path from root Object type",
        ),
        (
            "Object{spec: Object.spec{nope: 1}}",
            "error applying patch: failed to convert patch object to typed object: .spec.nope: field not declared in schema",
        ),
        (
            "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: 'c', args: ['a']}]}}}}",
            "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.template.spec.containers[0].args",
        ),
        (
            "Object{spec: Object.spec{replicas: object.spec.missing}}",
            "resulted in error: no such key: missing",
        ),
    ];
    for (i, (expression, error)) in cases.iter().enumerate() {
        let name = format!("p{i}");
        mutating(
            &server,
            &name,
            "deployments",
            json!({"mutations": [apply(expression)]}),
        )
        .await;
        let denied = server
            .ask(ADMIN, &format!("POST {DEPLOYMENTS}"), deployment("d"))
            .await;
        assert_eq!(denied.code, 403, "{}", denied.text);
        let status = denied.json();
        assert_eq!(status["reason"], "Invalid");
        let begin = format!("policy '{name}' with binding '{name}' denied request: ");
        assert!(
            denied.message().starts_with(&begin) && denied.message().ends_with(error),
            "{}",
            denied.text
        );
        assert_eq!(
            status["details"]["causes"],
            json!([{"message": denied.message()}])
        );
        server
            .admin(
                &format!("DELETE {GROUP}/mutatingadmissionpolicybindings/{name}"),
                Value::Null,
            )
            .await;
    }
}

#[tokio::test]
async fn a_patch_that_breaks_the_type_fails_the_request() {
    let server = Server::start().await;
    let unknown = patch("[JSONPatch{op: 'add', path: '/spec', value: 1}]");
    let spec = json!({"failurePolicy": "Ignore", "mutations": [unknown]});
    mutating(&server, "breaks", "configmaps", spec).await;
    let failed = create(&server, "x", json!({})).await;
    assert_eq!(failed.code, 500, "{}", failed.text);
    assert_eq!(
        failed.message(),
        "Internal error occurred: strict decoding error: unknown field \"spec\""
    );
}

#[tokio::test]
async fn custom_objects_are_pruned_and_defaulted() {
    let server = Server::start().await;
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "size": {"type": "integer"}, "colour": {"type": "string", "default": "red"},
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
    }}}});
    let crd = json!({"metadata": {"name": "widgets.example.com"}, "spec": {
        "group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
    }});
    server
        .admin(
            "POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            crd,
        )
        .await;
    let mutations = json!([
        apply("Object{spec: Object.spec{size: 5, tags: ['b']}}"),
        patch(
            "[JSONPatch{op: 'add', path: '/spec/unknown', value: 1}, JSONPatch{op: 'remove', path: '/spec/colour'}]"
        ),
    ]);
    mutating(
        &server,
        "widgets",
        "widgets",
        json!({"mutations": mutations}),
    )
    .await;
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"tags": ["a"]}});
    let widgets = "/apis/example.com/v1/namespaces/default/widgets";
    let created = server.admin(&format!("POST {widgets}"), widget).await;
    assert_eq!(
        created["spec"],
        json!({"size": 5, "colour": "red", "tags": ["a", "b"]})
    );
}

#[tokio::test]
async fn a_policy_runs_again_if_it_may() {
    let server = Server::start().await;
    let append = |key: &str| {
        let value = format!(
            "has(object.data) && '{key}' in object.data ? object.data['{key}'] + 'x' : 'x'"
        );
        apply(&format!("Object{{data: {{'{key}': {value}}}}}"))
    };
    for (name, again) in [("once", "Never"), ("twice", "IfNeeded")] {
        let spec = json!({"reinvocationPolicy": again, "mutations": [append(name)]});
        mutating(&server, name, "configmaps", spec).await;
    }
    let created = create(&server, "x", json!({})).await.json();
    assert_eq!(created["data"], json!({"once": "x", "twice": "xx"}));
}

#[tokio::test]
async fn parameters_and_conditions() {
    let server = Server::start().await;
    let spec = json!({
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConditions": [{"name": "c", "expression": "object.metadata.name != 'left'"}],
        "variables": [{"name": "team", "expression": "params.data.team"}],
        "mutations": [apply("Object{metadata: Object.metadata{labels: {'team': variables.team}}}")],
    });
    mutating(&server, "team", "secrets", spec).await;
    let reference =
        json!({"spec": {"paramRef": {"name": "settings", "parameterNotFoundAction": "Deny"}}});
    let binding = format!("{GROUP}/mutatingadmissionpolicybindings/team");
    server.admin(&format!("PATCH {binding}"), reference).await;
    let secrets = "POST /api/v1/namespaces/default/secrets";
    let secret = |name: &str| json!({"metadata": {"name": name}});
    let denied = server.ask(ADMIN, secrets, secret("x")).await;
    assert_eq!(
        (denied.code, denied.message().as_str()),
        (
            403,
            "policy 'team' with binding 'team' denied request: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
        )
    );
    assert_eq!(denied.json()["reason"], "Forbidden");
    let settings = json!({"metadata": {"name": "settings"}, "data": {"team": "red"}});
    server.admin(&format!("POST {CONFIG_MAPS}"), settings).await;
    let created = server.admin(secrets, secret("x")).await;
    assert_eq!(created["metadata"]["labels"], json!({"team": "red"}));
    let left = server.admin(secrets, secret("left")).await;
    assert!(left["metadata"].get("labels").is_none());
}
