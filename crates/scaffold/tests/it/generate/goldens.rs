//! Byte for byte what controller-gen v0.21.0 writes, but for the line that says who wrote it.
//!
//! Definitions: those in `tests/golden` of `kubewright-resource`. Roles: `tests/rbac/role.yaml`, which
//! `controller-gen rbac:roleName=manager-role` wrote from `tests/rbac/markers.go`.

use std::{fs, path::Path};

use kubewright_operator::PolicyRule;
use kubewright_scaffold::{generate::Target, rbac_markers};
use serde_json::{Value, json};

use super::{golden_definitions, model, rendered, unmarked};

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
