//! CustomResourceDefinitions: defaults, strategy and validation.

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    go,
    validation::{Scope, validate_object_meta, validate_object_meta_update},
};
use kubewright_schema::structural::is_recognized_format;
use serde_json::{Value, json};

use super::{
    approval::{ANNOTATION, Approval, approval, is_protected_group},
    hoisted::Hoisted,
    schema::any_schema,
    spec,
};
use crate::{
    KindRules, general,
    json::{Read, Write},
    meta,
};

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create,
    prepare_update,
    prepare_status_update,
    validate_create,
    validate_update,
    validate_status_update,
    warnings_on_create,
    warnings_on_update,
    allow_unconditional_update: false,
    validation_is_slow: true,
    status_has_table: false,
    reset_fields: &["status"],
    reset_fields_status: &["spec"],
    ..KindRules::GENERAL
};

fn default(crd: &mut Value) {
    let spec = crd.field("spec");
    let kind = spec["names"]["kind"].text().to_owned();
    let names = spec.field("names");
    names.put_if_blank("singular", kind.to_lowercase());
    if !kind.is_empty() {
        names.put_if_blank("listKind", format!("{kind}List"));
    }
    spec.put_if_unset("conversion", json!({"strategy": "None"}));
    spec.with("conversion", |conversion| {
        conversion.with("webhook", |webhook| {
            webhook.with("clientConfig", |c| {
                c.with("service", |s| s.put_if_unset("port", 443))
            });
        });
    });
    let stored = storage_version(crd);
    if let Some(version) = stored
        && crd["status"]["storedVersions"].is_blank()
    {
        crd.field("status").put("storedVersions", json!([version]));
    }
}

fn prepare_create(crd: &mut Value) {
    general::drop_status_and_start_generation(crd);
    if let Some(version) = storage_version(crd) {
        crd.put("status", json!({"storedVersions": [version]}));
    }
}

fn prepare_update(new: &mut Value, old: &Value) {
    general::keep_status_and_count_spec_changes(new, old);
    let Some(version) = storage_version(new) else {
        return;
    };
    let stored = new.field("status").field("storedVersions");
    if stored.items().contains(&version) {
        return;
    }
    match stored.as_array_mut() {
        Some(list) => list.push(version),
        None => *stored = json!([version]),
    }
}

/// A status update may change metadata, as in the real server.
fn prepare_status_update(new: &mut Value, old: &Value) {
    general::copy(new, old, "spec");
    general::copy(new.field("metadata"), &old["metadata"], "generation");
}

fn storage_version(crd: &Value) -> Option<Value> {
    let versions = crd["spec"]["versions"].items().iter();
    let mut stored = versions.filter(|v| v["storage"].flag());
    stored.next().map(|v| v["name"].clone())
}

fn validate_create(crd: &Value) -> ErrorList {
    let spec = &crd["spec"];
    let required = format!(
        "{}.{}",
        spec["names"]["plural"].text(),
        spec["group"].text()
    );
    let path = Path::new("metadata");
    let mut errors = validate_object_meta(&crd["metadata"], Scope::Cluster, meta::subdomain, &path);
    let name = crd["metadata"]["name"].text();
    if name != required {
        let message = "must be spec.names.plural+\".\"+spec.group";
        let error = field::invalid_str(&path.child("name"), name, message);
        // Names are validated before everything else.
        let at = errors
            .iter()
            .rposition(|e| e.field == "metadata.name")
            .map_or(0, |i| i + 1);
        errors.insert(at, error);
    }
    errors.extend(spec::validate(&Hoisted::of(spec), None));
    errors.extend(validate_status(crd));
    errors.extend(validate_stored_versions(crd));
    errors.extend(validate_approval(crd, None));
    errors.extend(validate_preservation(crd, None));
    errors
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, false);
    let path = Path::new("metadata");
    errors.extend(validate_object_meta_update(
        &new["metadata"],
        &old["metadata"],
        &path,
    ));
    errors.extend(spec::validate_update(new, old));
    errors.extend(validate_status(new));
    errors.extend(validate_stored_versions(new));
    errors.extend(validate_approval(new, Some(old)));
    errors.extend(validate_preservation(new, Some(old)));
    errors
}

fn validate_status_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, false);
    let path = Path::new("metadata");
    errors.extend(validate_object_meta_update(
        &new["metadata"],
        &old["metadata"],
        &path,
    ));
    errors.extend(validate_status(new));
    errors
}

fn validate_status(crd: &Value) -> ErrorList {
    let mut errors = ErrorList::new();
    let path = Path::new("status").child("acceptedNames");
    spec::validate_names(&crd["status"]["acceptedNames"], &path, &mut errors);
    errors
}

/// Validates that every stored version is still listed.
fn validate_stored_versions(crd: &Value) -> ErrorList {
    let path = Path::new("status").child("storedVersions");
    let stored = &crd["status"]["storedVersions"];
    if stored.items().is_empty() {
        let message = "must have at least one stored version";
        return vec![field::invalid(&path, stored, message)];
    }
    let mut errors = ErrorList::new();
    let versions = crd["spec"]["versions"].items();
    // Upstream removes each version from its list, so a duplicate name is missing the second time.
    let mut listed: Vec<&Value> = stored.items().iter().collect();
    for version in versions {
        let at = listed.iter().position(|name| **name == version["name"]);
        if let Some(at) = at {
            listed.remove(at);
        } else if version["storage"].flag() {
            let message = format!("must have the storage version {}", version["name"].text());
            errors.push(field::invalid(&path, stored, message));
        }
    }
    for (i, name) in stored.items().iter().enumerate() {
        if !versions.iter().any(|v| v["name"] == *name) {
            let v = name.text();
            let message = format!(
                "missing from spec.versions; {v} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in {v} and removes {v} from status.storedVersions"
            );
            errors.push(field::invalid(&path.index(i), name, message));
        }
    }
    errors
}

fn validate_approval(crd: &Value, old: Option<&Value>) -> ErrorList {
    if !is_protected_group(crd["spec"]["group"].text()) {
        return ErrorList::new();
    }
    let read = |crd: &Value| approval(crd["metadata"]["annotations"][ANNOTATION].text());
    let (state, message) = read(crd);
    if old.is_some_and(|old| read(old).0 == state) {
        return ErrorList::new();
    }
    let path = Path::new("metadata").child("annotations").key(ANNOTATION);
    match state {
        Approval::Approved | Approval::Bypassed => ErrorList::new(),
        Approval::Missing => vec![field::required(&path, message)],
        Approval::Invalid => {
            let annotation = crd["metadata"]["annotations"][ANNOTATION].text();
            vec![field::invalid_str(&path, annotation, message)]
        }
    }
}

/// Validates `preserveUnknownFields`, which only older objects may keep.
fn validate_preservation(crd: &Value, old: Option<&Value>) -> ErrorList {
    let keeps = |crd: &Value| crd["spec"]["preserveUnknownFields"].flag();
    if old.is_some_and(keeps) || !keeps(crd) {
        return ErrorList::new();
    }
    let message = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
    let path = Path::new("spec").child("preserveUnknownFields");
    vec![field::invalid(&path, &json!(true), message)]
}

fn warnings_on_create(crd: &Value) -> Vec<String> {
    unrecognized_formats(crd)
        .iter()
        .map(|format| warning(format))
        .collect()
}

fn warnings_on_update(new: &Value, old: &Value) -> Vec<String> {
    let known = unrecognized_formats(old);
    let formats = unrecognized_formats(new);
    formats
        .iter()
        .filter(|f| !known.contains(f))
        .map(|format| warning(format))
        .collect()
}

fn warning(format: &str) -> String {
    format!("unrecognized format {}", go::quote(format))
}

fn unrecognized_formats(crd: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for schema in Hoisted::of(&crd["spec"]).schemas() {
        any_schema(schema, &mut |schema| {
            let format = schema["format"].text();
            if !format.is_empty() && !is_recognized_format(format, schema["type"].text()) {
                found.push(format.to_owned());
            }
            false
        });
    }
    found
}
