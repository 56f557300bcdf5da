//! Byte for byte what controller-gen v0.21.0 writes, but for the line that says who wrote it.
//!
//! Definitions: those in `tests/golden` of `kubewright-resource`. Roles: `tests/rbac/role.yaml`, which
//! `controller-gen rbac:roleName=manager-role` wrote from `tests/rbac/markers.go`. Webhooks: `tests/webhooks/webhooks.yaml`, which
//! `controller-gen webhook` wrote from `tests/webhooks/markers.go`.

use std::{fs, path::Path};

use kubewright_operator::PolicyRule;
use kubewright_scaffold::{generate::Target, rbac_markers};
use serde_json::{Value, json};

use super::{golden_definitions, model, rendered, unmarked, with_webhooks};

/// The golden without controller-gen's annotation.
fn golden(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../resource/tests/golden")
        .join(format!("golden.example.com_{name}.yaml"));
    let text = fs::read_to_string(path).unwrap();
    let line = "    controller-gen.kubebuilder.io/version: v0.21.0\n";
    let text = text.replacen(line, "", 1);
    // Without another annotation there are none.
    text.replacen("  annotations:\n  name:", "  name:", 1)
        .replacen("  annotations:\n  labels:", "  labels:", 1)
}

#[test]
fn definitions_are_what_controller_gen_writes() {
    for (name, definition) in golden_definitions() {
        let model = model(vec![definition], json!([]));
        let files = rendered(&model, Target::Crd);
        let [file] = &files[..] else {
            panic!("{} files", files.len());
        };
        assert_eq!(
            file.path,
            format!("config/crd/bases/golden.example.com_{name}.yaml")
        );
        similar(unmarked(file), &golden(name), name);
    }
}

#[test]
fn roles_are_what_controller_gen_writes() {
    let rules = rbac_markers("markers.go", include_str!("../../rbac/markers.go")).unwrap();
    let rules: Vec<Value> = rules.iter().map(described).collect();
    let model = model(Vec::new(), json!(rules));
    let files = rendered(&model, Target::Rbac);
    let role = files
        .iter()
        .find(|file| file.path == "config/rbac/role.yaml")
        .unwrap();
    similar(
        unmarked(role),
        include_str!("../../rbac/role.yaml"),
        "role.yaml",
    );
}

/// A rule as an operator describes it.
fn described(rule: &PolicyRule) -> Value {
    json!({
        "apiGroups": rule.api_groups,
        "resources": rule.resources,
        "resourceNames": rule.resource_names,
        "nonResourceURLs": rule.urls,
        "verbs": rule.verbs,
        "namespace": rule.namespace,
        "role": rule.role,
    })
}

#[track_caller]
fn similar(ours: &str, theirs: &str, name: &str) {
    let differs = ours
        .lines()
        .zip(theirs.lines())
        .find(|(ours, theirs)| ours != theirs);
    assert!(
        ours == theirs,
        "{name}: {differs:?}, ours has {} lines, theirs {}",
        ours.lines().count(),
        theirs.lines().count()
    );
}

#[test]
fn webhooks_are_what_controller_gen_writes() {
    let model = with_webhooks(json!([
        {"type": "mutating", "path": "/mutate-crew-example-com-v1-captain", "webhook": {
            "name": "mcaptain-v1.kb.io", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail", "sideEffects": "None",
            "rules": [{
                "apiGroups": ["crew.example.com"], "apiVersions": ["v1"],
                "operations": ["CREATE", "UPDATE"], "resources": ["captains"],
            }],
        }},
        {"type": "validating", "path": "/validate-crew-example-com-v1-captain", "webhook": {
            "name": "vcaptain-v1.kb.io", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail", "sideEffects": "None",
            "timeoutSeconds": 5,
            "rules": [{
                "apiGroups": ["crew.example.com"], "apiVersions": ["v1"],
                "operations": ["CREATE", "UPDATE", "DELETE"], "resources": ["captains"],
            }],
        }},
        {"type": "mutating", "path": "/mutate-crew-example-com-v1-berth", "webhook": {
            "name": "mberth-v1.kb.io", "admissionReviewVersions": ["v1"], "failurePolicy": "Ignore",
            "sideEffects": "NoneOnDryRun", "matchPolicy": "Exact", "reinvocationPolicy": "IfNeeded",
            "rules": [{
                "apiGroups": ["crew.example.com"], "apiVersions": ["v1", "v2"],
                "operations": ["CREATE"], "resources": ["berths", "berths/status"],
            }],
        }},
    ]));
    let files = rendered(&model, Target::Webhook);
    let manifests = files
        .iter()
        .find(|file| file.path == "config/webhook/manifests.yaml");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/webhooks/webhooks.yaml");
    let golden = fs::read_to_string(path).unwrap();
    similar(unmarked(manifests.unwrap()), &golden, "webhooks");
}
