//! Volume mounts and volume devices of containers.

use std::collections::BTreeSet;

use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::Value;

use super::volume::Volumes;
use crate::{checks, json::Read};

pub(super) fn validate_mounts(c: &Value, volumes: &Volumes, path: &Path, errors: &mut ErrorList) {
    let mut points = BTreeSet::new();
    let device_names = values(&c["volumeDevices"], "name");
    let device_paths = values(&c["volumeDevices"], "devicePath");
    for (i, mount) in c["volumeMounts"].items().iter().enumerate() {
        let at = path.index(i);
        let (name, point) = (mount["name"].text(), mount["mountPath"].text());
        checks::required(&mount["name"], &at.child("name"), errors);
        if !volumes.contains_key(name) {
            errors.push(field::not_found(&at.child("name"), &name.into()));
        }
        checks::required(&mount["mountPath"], &at.child("mountPath"), errors);
        if !points.insert(point) {
            errors.push(field::invalid_str(
                &at.child("mountPath"),
                point,
                "must be unique",
            ));
        }
        if device_names.contains(name) {
            let message = "must not already exist in volumeDevices";
            errors.push(field::invalid_str(&at.child("name"), name, message));
        }
        if device_paths.contains(point) {
            let message = "must not already exist as a path in volumeDevices";
            errors.push(field::invalid_str(&at.child("mountPath"), point, message));
        }
        if !mount["subPath"].is_blank() {
            checks::descending_path(mount["subPath"].text(), &path.child("subPath"), errors);
        }
        let expression = mount["subPathExpr"].text();
        if !expression.is_empty() {
            if !mount["subPath"].is_blank() {
                let message = "subPathExpr and subPath are mutually exclusive";
                errors.push(field::invalid_str(
                    &at.child("subPathExpr"),
                    expression,
                    message,
                ));
            }
            checks::descending_path(expression, &path.child("subPathExpr"), errors);
        }
        validate_propagation(mount, c, &path.child("mountPropagation"), errors);
        validate_recursive_read_only(mount, &path.child("recursiveReadOnly"), errors);
    }
}

pub(super) fn validate_devices(c: &Value, volumes: &Volumes, path: &Path, errors: &mut ErrorList) {
    let (mut paths, mut names) = (BTreeSet::new(), BTreeSet::new());
    let mount_names = values(&c["volumeMounts"], "name");
    let mount_paths = values(&c["volumeMounts"], "mountPath");
    for (i, device) in c["volumeDevices"].items().iter().enumerate() {
        let at = path.index(i);
        let (name, point) = (device["name"].text(), device["devicePath"].text());
        let volume = volumes.get(name);
        let mut invalid_name = |message: &str| {
            errors.push(field::invalid_str(&at.child("name"), name, message));
        };
        if !name.is_empty() && !names.insert(name) {
            invalid_name("must be unique");
        }
        let claimed = |v: &Value| v["persistentVolumeClaim"].is_set() || v["ephemeral"].is_set();
        if volume.is_some_and(|v| !claimed(v)) {
            invalid_name(
                "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
            );
        }
        if name.is_empty() {
            errors.push(field::required(&at.child("name"), ""));
        }
        if volume.is_none() {
            errors.push(field::not_found(&at.child("name"), &name.into()));
        }
        checks::required(&device["devicePath"], &at.child("devicePath"), errors);
        let mut invalid_path = |message: &str| {
            errors.push(field::invalid_str(&at.child("devicePath"), point, message));
        };
        if paths.contains(point) {
            invalid_path("must be unique");
        }
        if point.split('/').any(|part| part == "..") {
            invalid_path("can not contain backsteps ('..')");
        } else {
            paths.insert(point);
        }
        if mount_names.contains(name) {
            let message = "must not already exist in volumeMounts";
            errors.push(field::invalid_str(&at.child("name"), name, message));
        }
        if mount_paths.contains(point) {
            let message = "must not already exist as a path in volumeMounts";
            errors.push(field::invalid_str(&at.child("devicePath"), point, message));
        }
    }
}

/// The values of a field in all items of a list.
fn values<'a>(list: &'a Value, key: &str) -> BTreeSet<&'a str> {
    let items = list.items().iter();
    items.filter_map(|item| item[key].as_str()).collect()
}

fn validate_propagation(mount: &Value, c: &Value, path: &Path, errors: &mut ErrorList) {
    let known = ["Bidirectional", "HostToContainer", "None"];
    checks::one_of_if_set(&mount["mountPropagation"], &known, path, errors);
    let privileged = c["securityContext"]["privileged"].flag();
    if mount["mountPropagation"] == "Bidirectional" && !privileged {
        let message = "Bidirectional mount propagation is available only to privileged containers";
        errors.push(field::forbidden(path, message));
    }
}

fn validate_recursive_read_only(mount: &Value, path: &Path, errors: &mut ErrorList) {
    let mode = &mount["recursiveReadOnly"];
    match mode.text() {
        "Enabled" | "IfPossible" => {
            if !mount["readOnly"].flag() {
                errors.push(field::forbidden(
                    path,
                    "may only be specified when readOnly is true",
                ));
            }
            let propagation = &mount["mountPropagation"];
            if propagation.is_set() && propagation != "None" {
                let message =
                    "may only be specified when mountPropagation is None or not specified";
                errors.push(field::forbidden(path, message));
            }
        }
        _ => checks::one_of_if_set(mode, &["Disabled", "Enabled", "IfPossible"], path, errors),
    }
}
