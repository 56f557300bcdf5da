//! The options object of a request, such as `CreateOptions`, from the parsed options.

use kubewright_apiserver::{
    admission::{Operation, Options},
    request::{DeleteOptions, WriteOptions},
};
use serde_json::{Map, Value, json};

use crate::admission::matching::Request;

/// Returns the options as reviews and expressions show them: of a create or an update, also if the client sent a patch. A
/// connect has none.
pub(crate) fn options(request: &Request<'_>) -> Value {
    match request.attributes.options {
        Options::Write(options) => write(request, options),
        Options::Delete(options) => delete(options),
        Options::None => Value::Null,
    }
}

fn of_kind(kind: &str, dry_run: bool) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("kind".into(), kind.into());
    fields.insert("apiVersion".into(), "meta.k8s.io/v1".into());
    if dry_run {
        fields.insert("dryRun".into(), json!(["All"]));
    }
    fields
}

fn write(request: &Request<'_>, options: &WriteOptions) -> Value {
    let kind = match request.operation() {
        Operation::Create => "CreateOptions",
        _ => "UpdateOptions",
    };
    let mut fields = of_kind(kind, options.dry_run);
    // As the client sent it, without the default.
    let validation = request.cx.query.first("fieldValidation");
    let manager = Some(options.field_manager.as_str());
    for (key, text) in [("fieldManager", manager), ("fieldValidation", validation)] {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            fields.insert(key.into(), text.into());
        }
    }
    fields.into()
}

fn delete(options: &DeleteOptions) -> Value {
    let mut fields = of_kind("DeleteOptions", options.dry_run);
    if let Some(seconds) = options.grace_period_seconds {
        fields.insert("gracePeriodSeconds".into(), seconds.into());
    }
    let mut preconditions = Map::new();
    for (key, text) in [
        ("uid", &options.uid),
        ("resourceVersion", &options.resource_version),
    ] {
        if let Some(text) = text {
            preconditions.insert(key.into(), text.as_str().into());
        }
    }
    if !preconditions.is_empty() {
        fields.insert("preconditions".into(), preconditions.into());
    }
    if let Some(orphan) = options.orphan_dependents {
        fields.insert("orphanDependents".into(), orphan.into());
    }
    if let Some(policy) = options.propagation {
        fields.insert("propagationPolicy".into(), policy.as_str().into());
    }
    fields.into()
}
