//! Persistent volume claims.

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::{self, NameForm, names},
};
use serde_json::Value;

use super::resources;
use crate::{
    KindRules, checks, general, internal_form,
    json::{Read, Write, same},
    meta,
};

const ACCESS_MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];
const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create,
    prepare_update,
    validate_create,
    validate_update,
    validate_status_update,
    warnings_on_create: warnings,
    warnings_on_update: |new, _| warnings(new),
    returns_deleted_object: true,
    reset_fields: &["status"],
    reset_fields_status: &["spec"],
    ..KindRules::GENERAL
};

/// Returns warnings for storage that is not a whole number of bytes.
fn warnings(claim: &Value) -> Vec<String> {
    let mut out = Vec::new();
    let path = Path::new("spec").child("resources");
    for name in ["requests", "limits"] {
        let amount = &claim["spec"]["resources"][name]["storage"];
        if let Some(q) = resources::quantity(amount)
            && q.milli_value() % 1000 != 0
        {
            let path = path.child(name).key("storage");
            out.push(format!(
                "{path}: fractional byte value \"{q}\" is invalid, must be an integer"
            ));
        }
    }
    out
}

fn default(claim: &mut Value) {
    claim.field("status").put_if_blank("phase", "Pending");
    default_spec(claim.field("spec"));
    claim.with("status", |s| {
        s.with("capacity", resources::round_up);
        s.with("allocatedResources", resources::round_up);
    });
}

/// Sets the defaults of a claim's spec.
pub(crate) fn default_spec(spec: &mut Value) {
    spec.put_if_unset("volumeMode", "Filesystem");
    spec.with("resources", resources::default_requirements);
}

/// The status of a new claim is empty, and reads back as pending.
fn prepare_create(claim: &mut Value) {
    general::drop_status(claim);
    claim.field("status").put("phase", "Pending");
    let spec = claim.field("spec");
    forget_foreign_source(spec, &Value::Null);
    normalize_sources(spec);
}

fn prepare_update(new: &mut Value, old: &Value) {
    general::keep_status(new, old);
    let spec = new.field("spec");
    forget_foreign_source(spec, &old["spec"]);
    normalize_sources(spec);
}

/// A `dataSource` that is neither a claim nor a snapshot was always dropped silently; `dataSourceRef` is for those.
fn forget_foreign_source(spec: &mut Value, old: &Value) {
    if old["dataSource"].is_set() || spec["dataSourceRef"].is_set() {
        return;
    }
    let source = &spec["dataSource"];
    let known = matches!(
        (source["kind"].text(), source["apiGroup"].text()),
        ("PersistentVolumeClaim", "") | ("VolumeSnapshot", "snapshot.storage.k8s.io")
    );
    if source.is_set() && !known {
        spec.forget("dataSource");
    }
}

/// Copies one of the two source fields to the other, unless the reference crosses namespaces.
fn normalize_sources(spec: &mut Value) {
    let (source, reference) = (spec["dataSource"].clone(), spec["dataSourceRef"].clone());
    if reference["namespace"].is_set() {
        return;
    }
    if source.is_set() && !reference.is_set() {
        spec.put("dataSourceRef", source);
    } else if reference.is_set() && !source.is_set() {
        spec.put("dataSource", reference);
    }
}

fn validate_create(claim: &Value) -> ErrorList {
    let mut errors = meta::validate(claim, true, meta::subdomain);
    validate_spec(&claim["spec"], &Path::new("spec"), &mut errors);
    errors
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, true);
    errors.extend(meta::validate_update(new, old));
    errors.extend(validate_create(new));
    let path = Path::new("spec");
    let (after, before) = (&new["spec"], &old["spec"]);
    let class = |claim: &Value| {
        claim["metadata"]["annotations"][BETA_CLASS]
            .text()
            .to_owned()
    };
    if class(new) != class(old) {
        let path = Path::new("metadata").child("annotations").child(BETA_CLASS);
        errors.push(field::invalid_str(&path, &class(new), "field is immutable"));
    }
    let mut munged = after.clone();
    if before["volumeName"].is_blank() {
        munged.forget("volumeName");
    }
    let chosen = after["storageClassName"].text();
    if !before["storageClassName"].is_set() && (class(old).is_empty() || class(old) == chosen) {
        munged.forget("storageClassName");
    }
    if new["status"]["phase"] == "Bound" {
        let size = before["resources"]["requests"]["storage"].clone();
        munged.with("resources", |r| {
            r.with("requests", |r| r.put("storage", size))
        });
        general::copy(&mut munged, before, "volumeAttributesClassName");
    }
    if !same(&munged, before) {
        let message = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n";
        let diff = internal_form::claim_spec_diff(before, &munged);
        errors.push(field::forbidden(&path, format!("{message}{diff}")));
    }
    let size = |spec: &Value| {
        resources::quantity(&spec["resources"]["requests"]["storage"]).unwrap_or_default()
    };
    let provided = resources::quantity(&old["status"]["capacity"]["storage"]).unwrap_or_default();
    if size(after) < size(before) && size(after) <= provided {
        let path = path.child("resources").child("requests").child("storage");
        errors.push(field::forbidden(
            &path,
            "field can not be less than status.capacity",
        ));
    }
    let mode_path = Path::new("volumeMode");
    checks::immutable(
        &after["volumeMode"],
        &before["volumeMode"],
        &mode_path,
        &mut errors,
    );
    errors
}

fn validate_status_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, true);
    errors.extend(meta::validate_update(new, old));
    let path = Path::new("status").child("capacity");
    for (name, value) in new["status"]["capacity"].entries() {
        if let Some(q) = resources::quantity(value).filter(|q| q.value() < 0) {
            errors.push(field::invalid_raw(
                &path.key(name),
                q.value().to_string(),
                "must be a valid resource quantity",
            ));
        }
    }
    errors
}

/// Checks a claim template inside a pod: only labels and annotations, and a spec.
pub(crate) fn validate_template(template: &Value, path: &Path, errors: &mut ErrorList) {
    let (metadata, at) = (&template["metadata"], path.child("metadata"));
    errors.extend(validation::validate_annotations(
        &metadata["annotations"],
        &at.child("annotations"),
    ));
    errors.extend(validation::validate_labels(
        &metadata["labels"],
        &at.child("labels"),
    ));
    for (name, value) in metadata.entries() {
        if !matches!(name, "annotations" | "labels") && !value.is_blank() {
            errors.push(field::forbidden(&at.child(name), "cannot be set"));
        }
    }
    validate_spec(&template["spec"], &path.child("spec"), errors);
}

/// Checks the spec of a claim, wherever it stands.
pub(crate) fn validate_spec(spec: &Value, path: &Path, errors: &mut ErrorList) {
    let modes_path = path.child("accessModes");
    let modes = spec["accessModes"].items();
    if modes.is_empty() {
        errors.push(field::required(
            &modes_path,
            "at least 1 access mode is required",
        ));
    }
    checks::selector(&spec["selector"], &path.child("selector"), errors);
    validate_access_modes(modes, &modes_path, errors);
    let size_path = path.child("resources").key("storage");
    match resources::quantity(&spec["resources"]["requests"]["storage"]) {
        None => errors.push(field::required(&size_path, "")),
        Some(size) => checks::positive_quantity(&size, &size_path, errors),
    }
    validate_class(spec, "storageClassName", path, errors);
    checks::one_of_if_set(
        &spec["volumeMode"],
        &["Block", "Filesystem"],
        &path.child("volumeMode"),
        errors,
    );
    for source in ["dataSource", "dataSourceRef"] {
        validate_source(&spec[source], &path.child(source), errors);
    }
    validate_class(spec, "volumeAttributesClassName", path, errors);
}

/// Checks access modes; `ReadWriteOncePod` stands alone.
pub(crate) fn validate_access_modes(modes: &[Value], path: &Path, errors: &mut ErrorList) {
    for mode in modes {
        checks::one_of_if_set(mode, &ACCESS_MODES, path, errors);
    }
    let alone = modes.iter().any(|m| m == "ReadWriteOncePod");
    let other = |m: &Value| m != "ReadWriteOncePod" && ACCESS_MODES.contains(&m.text());
    if alone && modes.iter().any(other) {
        errors.push(field::forbidden(
            path,
            "may not use ReadWriteOncePod with other access modes",
        ));
    }
}

fn validate_class(spec: &Value, field_name: &str, path: &Path, errors: &mut ErrorList) {
    let name = spec[field_name].text();
    if !name.is_empty() {
        checks::messages(
            name,
            names::name_is_dns_subdomain(name, NameForm::Whole),
            &path.child(field_name),
            errors,
        );
    }
}

fn validate_source(source: &Value, path: &Path, errors: &mut ErrorList) {
    if !source.is_set() {
        return;
    }
    checks::required(&source["name"], &path.child("name"), errors);
    checks::required(&source["kind"], &path.child("kind"), errors);
    let group = source["apiGroup"].text();
    if group.is_empty() && source["kind"] != "PersistentVolumeClaim" {
        let message = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        errors.push(field::invalid_str(path, source["kind"].text(), message));
    }
    if !group.is_empty() {
        checks::dns_subdomain(group, &path.child("apiGroup"), errors);
    }
}
