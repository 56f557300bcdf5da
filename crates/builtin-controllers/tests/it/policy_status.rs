//! Types of validating admission policies.

use k8s_openapi::api::admissionregistration::v1::{TypeChecking, ValidatingAdmissionPolicy};
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams},
};
use kubewright_controller::wait::wait_for;
use serde_json::{Value, json};

use crate::fixture::{Fixture, LONG};

async fn start() -> Fixture {
    Fixture::start("validatingadmissionpolicy-status-controller").await
}

fn policies(fixture: &Fixture) -> Api<ValidatingAdmissionPolicy> {
    Api::all(fixture.client())
}

/// Creates a policy for some resources of a group version.
async fn create(fixture: &Fixture, name: &str, version: &str, resources: &[&str], spec: Value) {
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let mut object = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": spec,
    });
    object["spec"]["matchConstraints"] = json!({"resourceRules": [{
        "apiGroups": [group], "apiVersions": [version], "resources": resources,
        "operations": ["CREATE", "UPDATE"],
    }]});
    fixture.create(object).await;
}

/// Waits until a generation of a policy is checked, and returns the warnings.
async fn warnings(fixture: &Fixture, name: &str, generation: i64) -> Vec<(String, String)> {
    let checked = |policy: Option<&ValidatingAdmissionPolicy>| {
        let status = policy.and_then(|policy| policy.status.as_ref());
        status.and_then(|status| status.observed_generation) == Some(generation)
    };
    let policy = wait_for(&policies(fixture), name, LONG, checked).await;
    let policy = policy
        .unwrap_or_else(|error| panic!("{name}: {error}"))
        .unwrap();
    let applied = policy.managed_fields().iter().any(|entry| {
        entry.manager.as_deref() == Some("validatingadmissionpolicy-status")
            && entry.operation.as_deref() == Some("Apply")
            && entry.subresource.as_deref() == Some("status")
    });
    assert!(applied, "{:?}", policy.managed_fields());
    // Without warnings it is empty, or absent if there were warnings before.
    let checking = policy.status.and_then(|status| status.type_checking);
    let warnings = checking.and_then(|checking| checking.expression_warnings);
    let warnings = warnings.into_iter().flatten();
    warnings
        .map(|warning| (warning.field_ref, warning.warning))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_that_a_kind_lacks_is_a_warning() {
    let fixture = start().await;
    let spec = json!({"validations": [
        {"expression": "object.spec.replicas > 1"},
        {"expression": "object.spec.replica > 1", "messageExpression": "'no ' + object.spec.nothing"},
    ]});
    create(
        &fixture,
        "wrong",
        "apps/v1",
        &["statefulsets", "deployments"],
        spec,
    )
    .await;
    let issue = |kind: &str, column: usize, field: &str, text: &str| {
        let dots = ".".repeat(column - 1);
        format!(
            "apps/v1, Kind={kind}: ERROR: <input>:1:{column}: undefined field '{field}'\n | {text}\n | {dots}^\n"
        )
    };
    let both = |column, field, text| {
        ["Deployment", "StatefulSet"]
            .map(|kind| issue(kind, column, field, text))
            .join("\n")
    };
    assert_eq!(
        warnings(&fixture, "wrong", 1).await,
        [
            (
                "spec.validations[1].expression".to_owned(),
                both(12, "replica", "object.spec.replica > 1")
            ),
            (
                "spec.validations[1].messageExpression".to_owned(),
                both(20, "nothing", "'no ' + object.spec.nothing")
            ),
        ]
    );
    // A repaired policy is checked again.
    let patch = json!({"spec": {"validations": [{"expression": "object.spec.replicas < 9"}]}});
    let patch = Patch::Merge(patch);
    let how = PatchParams::default();
    policies(&fixture)
        .patch("wrong", &how, &patch)
        .await
        .unwrap();
    assert_eq!(warnings(&fixture, "wrong", 2).await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn params_and_variables_have_types() {
    let fixture = start().await;
    let spec = json!({
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "variables": [
            {"name": "spec", "expression": "object.spec"},
            {"name": "containers", "expression": "object.spec.containers"},
        ],
        "validations": [
            {"expression": "params.data.max == 'x' && variables.spec.anything"},
            {"expression": "params.limit > 1"},
            {"expression": "variables.containers == 'x'"},
            {"expression": "params == object"},
        ],
    });
    create(&fixture, "typed", "v1", &["pods"], spec).await;
    let found = warnings(&fixture, "typed", 1).await;
    let found: Vec<(&str, &str)> = found
        .iter()
        .map(|(field, text)| (field.as_str(), text.lines().next().unwrap()))
        .collect();
    assert_eq!(
        found,
        [
            (
                "spec.validations[1].expression",
                "/v1, Kind=Pod: ERROR: <input>:1:7: undefined field 'limit'",
            ),
            (
                "spec.validations[2].expression",
                "/v1, Kind=Pod: ERROR: <input>:1:22: found no matching overload for '_==_' applied to '(list(dyn), string)'",
            ),
            (
                "spec.validations[3].expression",
                "/v1, Kind=Pod: ERROR: <input>:1:8: found no matching overload for '_==_' applied to '(ConfigMap1, Pod0)'",
            ),
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn custom_kinds_are_checked_by_their_schemas() {
    let fixture = start().await;
    // Nobody has looked for the kind before the policy names it, and nobody asks the mapper after it is served.
    create(
        &fixture,
        "early",
        "shop.example/v1",
        &["widgets"],
        json!({"validations": [
            {"expression": "object.spec.nothing == 1"},
        ]}),
    )
    .await;
    assert_eq!(warnings(&fixture, "early", 1).await, []);
    fixture
        .create(json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.shop.example"},
            "spec": {
                "group": "shop.example", "scope": "Namespaced",
                "names": {"plural": "widgets", "kind": "Widget"},
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                        "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
                    }}},
                }],
            },
        }))
        .await;
    create(
        &fixture,
        "late",
        "shop.example/v1",
        &["widgets"],
        json!({"validations": [
            {"expression": "object.spec.size < 3 && object.metadata.labels.a == 'b'"},
            {"expression": "object.spec.length < 3"},
        ]}),
    )
    .await;
    let found = warnings(&fixture, "late", 1).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].1.starts_with("shop.example/v1, Kind=Widget: "),
        "{found:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn wildcards_and_unknown_resources_are_not_checked() {
    let fixture = start().await;
    for (name, version, resource) in [
        ("any", "*/*", "*"),
        ("sub", "v1", "pods/exec"),
        ("unknown", "nowhere.example/v1", "things"),
    ] {
        let spec = json!({"validations": [{"expression": "object.nothing == 1"}]});
        create(&fixture, name, version, &[resource], spec).await;
        assert_eq!(warnings(&fixture, name, 1).await, [], "{name}");
        let policy = policies(&fixture).get(name).await.unwrap();
        let status = policy.status.expect("a status");
        assert_eq!(status.type_checking, Some(TypeChecking::default()));
    }
}

/// Replaces the numbers that follow letters, with which kube-controller-manager makes the names of types unique.
fn without_numbers(status: &Value) -> Value {
    let (mut out, mut after_letter) = (String::new(), false);
    for c in status.to_string().chars() {
        match c {
            '0'..='9' if after_letter => {}
            c => {
                out.push(c);
                after_letter = c.is_ascii_alphabetic();
            }
        }
    }
    serde_json::from_str(&out).unwrap()
}

/// `tests/recorded/policy_types.json` has policies with the statuses of kube-controller-manager 1.36.
#[tokio::test(flavor = "multi_thread")]
async fn statuses_are_those_of_kube_controller_manager() {
    let recorded: Value =
        serde_json::from_str(include_str!("../recorded/policy_types.json")).unwrap();
    let fixture = start().await;
    for definition in recorded["definitions"].as_array().unwrap() {
        fixture.create(definition.clone()).await;
    }
    let cases = recorded["policies"].as_object().unwrap();
    for (name, case) in cases {
        let policy = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": case["spec"],
        });
        fixture.create(policy).await;
    }
    let mut different = Vec::new();
    for (name, case) in cases {
        warnings(&fixture, name, 1).await;
        let policy = policies(&fixture).get(name).await.unwrap();
        let status = serde_json::to_value(policy.status).unwrap();
        if without_numbers(&status) != without_numbers(&case["status"]) {
            different.push(format!("{name}: {status}\nrecorded: {}", case["status"]));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n\n"));
}
