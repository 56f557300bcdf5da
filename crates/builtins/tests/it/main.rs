//! Tests of the rules of the built-in kinds: defaults, strategies, errors.

mod certificates;
mod config;
mod definitions;
mod expressions;
mod generations;
mod networking;
mod pods;
mod rbac;
mod services;
mod storage;
mod workloads;

use kubewright_builtins::rules;
use serde_json::{Value, json};

/// The object as a create would store it.
fn created(group: &str, kind: &str, mut obj: Value) -> Value {
    let rules = rules(group, kind);
    (rules.default)(&mut obj);
    (rules.prepare_create)(&mut obj);
    obj
}

/// Returns the errors of a create.
fn errors_of_create(group: &str, kind: &str, obj: Value) -> Vec<String> {
    let obj = created(group, kind, obj);
    let errors = (rules(group, kind).validate_create)(&obj);
    errors.iter().map(ToString::to_string).collect()
}

/// Returns the object as an update would store it, and the errors of the update, each once.
fn updated(group: &str, kind: &str, old: &Value, mut new: Value) -> (Value, Vec<String>) {
    let rules = rules(group, kind);
    (rules.default)(&mut new);
    let metadata = &mut new["metadata"];
    metadata["generation"] = old["metadata"]["generation"].clone();
    metadata["resourceVersion"] = json!("1");
    (rules.prepare_update)(&mut new, old);
    let mut texts: Vec<String> = Vec::new();
    for error in (rules.validate_update)(&new, old) {
        let text = error.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    (new, texts)
}

/// Returns the metadata of a namespaced object.
fn named(name: &str) -> Value {
    json!({"name": name, "namespace": "n", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"})
}

/// A template of one container.
fn template() -> Value {
    json!({"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}})
}
