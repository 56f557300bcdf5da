//! Persistent volumes.

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::{NameForm, names},
};
use serde_json::{Value, json};

use super::{persistent_volume_claim::validate_access_modes, pod, resources};
use crate::{
    KindRules, checks, general,
    json::{Read, Write, same},
    meta,
};

const SOURCES: [&str; 22] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create,
    prepare_update: general::keep_status,
    prepare_status_update,
    validate_create,
    validate_update,
    validate_status_update: |new, old| {
        let mut errors = meta::common(new, old, false);
        errors.extend(meta::validate_update(new, old));
        errors
    },
    warnings_on_create: warnings,
    warnings_on_update: |new, _| warnings(new),
    returns_deleted_object: true,
    stamp_update: Some(stamp_phase_transition),
    stamp_subresource_update: Some(stamp_phase_transition),
    reset_fields: &["status"],
    reset_fields_status: &["spec"],
    ..KindRules::GENERAL
};

/// Sets the time of a change of phase if the writer did not.
fn stamp_phase_transition(new: &mut Value, old: &Value, now: &str) {
    let (before, after) = (&old["status"], &new["status"]);
    let untouched = !after["lastPhaseTransitionTime"].is_set()
        || after["lastPhaseTransitionTime"] == before["lastPhaseTransitionTime"];
    if before["phase"] != after["phase"] && untouched {
        new.field("status").put("lastPhaseTransitionTime", now);
    }
}

fn default(volume: &mut Value) {
    volume.field("status").put_if_blank("phase", "Pending");
    let spec = volume.field("spec");
    spec.put_if_blank("persistentVolumeReclaimPolicy", "Retain");
    spec.put_if_unset("volumeMode", "Filesystem");
    spec.with("capacity", resources::round_up);
    pod::default::volume_source(spec);
}

/// Sets the phase of a new volume to pending.
fn prepare_create(volume: &mut Value) {
    let made = volume["metadata"]["creationTimestamp"].clone();
    volume.put("status", json!({"phase": "Pending"}));
    if made.is_set() {
        volume.field("status").put("lastPhaseTransitionTime", made);
    }
}

fn prepare_status_update(new: &mut Value, old: &Value) {
    general::copy(new, old, "spec");
    let time = &old["status"]["lastPhaseTransitionTime"];
    if old["status"]["phase"] == new["status"]["phase"] && time.is_set() {
        let time = time.clone();
        new.field("status")
            .put_if_unset("lastPhaseTransitionTime", time);
    }
}

fn validate_create(volume: &Value) -> ErrorList {
    let mut errors = meta::validate(volume, false, meta::subdomain);
    validate_spec(&volume["spec"], &Path::new("spec"), &mut errors);
    errors
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, false);
    errors.extend(validate_create(new));
    errors.extend(validate_create(new));
    let (after, before) = (&new["spec"], &old["spec"]);
    if SOURCES.iter().any(|s| !same(&after[*s], &before[*s])) {
        let path = Path::new("spec").child("persistentvolumesource");
        let message = "spec.persistentvolumesource is immutable after creation\n";
        errors.push(field::forbidden(&path, message));
    }
    let path = Path::new("volumeMode");
    checks::immutable(
        &after["volumeMode"],
        &before["volumeMode"],
        &path,
        &mut errors,
    );
    errors
}

fn validate_spec(spec: &Value, path: &Path, errors: &mut ErrorList) {
    let modes = spec["accessModes"].items();
    if modes.is_empty() {
        errors.push(field::required(&path.child("accessModes"), ""));
    }
    validate_access_modes(modes, &path.child("accessModes"), errors);
    validate_capacity(spec, &path.child("capacity"), errors);
    let policy = spec["persistentVolumeReclaimPolicy"].text();
    if !policy.is_empty() {
        let known = ["Delete", "Recycle", "Retain"];
        let path = path.child("persistentVolumeReclaimPolicy");
        checks::one_of_if_set(
            &spec["persistentVolumeReclaimPolicy"],
            &known,
            &path,
            errors,
        );
    }
    let affinity = &spec["nodeAffinity"];
    if affinity.is_set() {
        let path = path.child("nodeAffinity").child("required");
        if affinity["required"].is_set() {
            pod::scheduling::validate_node_selector(&affinity["required"], &path, errors);
        } else {
            errors.push(field::required(
                &path,
                "must specify required node constraints",
            ));
        }
    }
    let mut count = 0;
    for name in SOURCES {
        if !spec[name].is_set() {
            continue;
        }
        count += 1;
        let path = path.child(name);
        if count > 1 {
            errors.push(field::forbidden(
                &path,
                "may not specify more than 1 volume type",
            ));
            continue;
        }
        validate_source(name, spec, &path, errors);
    }
    if count == 0 {
        errors.push(field::required(path, "must specify a volume type"));
    }
    if spec["hostPath"]["path"]
        .text()
        .trim_end_matches('/')
        .is_empty()
        && spec["hostPath"]["path"].is_set()
        && policy == "Recycle"
    {
        let path = path.child("persistentVolumeReclaimPolicy");
        errors.push(field::forbidden(
            &path,
            "may not be 'recycle' for a hostPath mount of '/'",
        ));
    }
    let class = spec["storageClassName"].text();
    if !class.is_empty() {
        let found = names::name_is_dns_subdomain(class, NameForm::Whole);
        checks::messages(class, found, &path.child("storageClassName"), errors);
    }
    checks::one_of_if_set(
        &spec["volumeMode"],
        &["Block", "Filesystem"],
        &path.child("volumeMode"),
        errors,
    );
}

fn validate_capacity(spec: &Value, path: &Path, errors: &mut ErrorList) {
    let capacity = &spec["capacity"];
    if capacity.is_blank() {
        errors.push(field::required(path, ""));
    }
    let known = capacity.entries().len() == 1 && capacity["storage"].is_set();
    if !known {
        errors.push(field::not_supported(path, "", &["storage"]));
        if let Some(error) = errors.last_mut() {
            error.value = Some(match capacity.is_set() {
                true => capacity.to_string(),
                false => "null".to_owned(),
            });
        }
    }
    for (name, value) in capacity.entries() {
        let Some(q) = resources::quantity(value) else {
            continue;
        };
        let path = path.key(name);
        if q.value() < 0 {
            let message = "must be a valid resource quantity";
            errors.push(field::invalid_raw(&path, q.value().to_string(), message));
        }
        if q.sign() <= 0 {
            checks::positive_quantity(&q, &path, errors);
        } else {
            resources::validate_value(name, &q, &path, errors);
        }
    }
}

fn validate_source(name: &str, spec: &Value, path: &Path, errors: &mut ErrorList) {
    let source = &spec[name];
    match name {
        "hostPath" => {
            checks::required(&source["path"], &path.child("path"), errors);
            checks::no_backsteps(source["path"].text(), &path.child("path"), errors);
        }
        "nfs" => {
            checks::required(&source["server"], &path.child("server"), errors);
            checks::required(&source["path"], &path.child("path"), errors);
            if !source["path"].text().starts_with('/') {
                let path = path.child("path");
                errors.push(field::invalid_str(
                    &path,
                    source["path"].text(),
                    "must be an absolute path",
                ));
            }
        }
        "local" => {
            checks::required(&source["path"], &path.child("path"), errors);
            checks::no_backsteps(source["path"].text(), &path.child("path"), errors);
            if !spec["nodeAffinity"].is_set() {
                let path = Path::new("spec").child("nodeAffinity");
                errors.push(field::required(
                    &path,
                    "Local volume requires node affinity",
                ));
            }
        }
        "csi" => {
            checks::required(&source["driver"], &path.child("driver"), errors);
            checks::required(&source["volumeHandle"], &path.child("volumeHandle"), errors);
        }
        _ => {}
    }
}

fn warnings(volume: &Value) -> Vec<String> {
    let mut out = Vec::new();
    let spec = &volume["spec"];
    if spec["persistentVolumeReclaimPolicy"] == "Recycle" {
        out.push("spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.".to_owned());
    }
    let deprecated = [
        (
            "cephfs",
            "cephfs",
            "deprecated in v1.28, non-functional in v1.31+",
        ),
        (
            "photonPersistentDisk",
            "photonPersistentDisk",
            "deprecated in v1.11, non-functional in v1.16+",
        ),
        (
            "scaleIO",
            "scaleIO",
            "deprecated in v1.16, non-functional in v1.22+",
        ),
        (
            "storageos",
            "storageOS",
            "deprecated in v1.22, non-functional in v1.25+",
        ),
        (
            "glusterfs",
            "glusterfs",
            "deprecated in v1.25, non-functional in v1.26+",
        ),
        (
            "rbd",
            "rbd",
            "deprecated in v1.28, non-functional in v1.31+",
        ),
    ];
    for (name, shown, message) in deprecated {
        if spec[name].is_set() {
            out.push(format!("spec.{shown}: {message}"));
        }
    }
    out
}
