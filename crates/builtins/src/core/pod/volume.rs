//! The volumes of a pod.

use std::collections::{BTreeMap, BTreeSet};

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::{NameForm, names},
};
use serde_json::Value;

use super::env::{self, RefContext};
use crate::{
    checks,
    core::{persistent_volume_claim, resources},
    json::Read,
};

/// The volumes that are fine, by name.
pub(super) type Volumes<'a> = BTreeMap<&'a str, &'a Value>;

/// The sources in the order in which they are checked.
const SOURCES: [&str; 30] = [
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
];
const HOST_PATH_TYPES: [&str; 8] = [
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
];

/// Checks the volumes; `pod_name` is empty for templates.
pub(super) fn validate<'a>(
    spec: &'a Value,
    pod_name: &str,
    path: &Path,
    errors: &mut ErrorList,
) -> Volumes<'a> {
    let mut fine = Volumes::new();
    let mut created = BTreeSet::new();
    if !pod_name.is_empty() {
        for v in spec["volumes"]
            .items()
            .iter()
            .filter(|v| v["ephemeral"].is_set())
        {
            created.insert(format!("{pod_name}-{}", v["name"].text()));
        }
    }
    for (i, volume) in spec["volumes"].items().iter().enumerate() {
        let path = path.index(i);
        let name = volume["name"].text();
        let before = errors.len();
        validate_source(volume, pod_name, &path, errors);
        if name.is_empty() {
            errors.push(field::required(&path.child("name"), ""));
        } else {
            checks::dns_label(name, &path.child("name"), errors);
        }
        if fine.contains_key(name) {
            errors.push(field::duplicate(&path.child("name"), &volume["name"]));
        }
        if errors.len() == before {
            fine.insert(name, volume);
        }
        let claim = volume["persistentVolumeClaim"]["claimName"].text();
        if created.contains(claim) {
            let path = path.child("persistentVolumeClaim").child("claimName");
            let message = "must not reference a PVC that gets created for an ephemeral volume";
            errors.push(field::invalid_str(&path, claim, message));
        }
    }
    fine
}

fn validate_source(volume: &Value, pod_name: &str, path: &Path, errors: &mut ErrorList) {
    let mut count = 0;
    for name in SOURCES {
        if !volume[name].is_set() {
            continue;
        }
        count += 1;
        if count > 1 {
            let name = if name == "downwardAPI" {
                "downwarAPI"
            } else {
                name
            };
            errors.push(field::forbidden(
                &path.child(name),
                "may not specify more than 1 volume type",
            ));
            continue;
        }
        validate_one_source(name, &volume[name], &path.child(name), errors);
        if name == "ephemeral" && !pod_name.is_empty() && !volume["name"].is_blank() {
            let claim = format!("{pod_name}-{}", volume["name"].text());
            for message in names::name_is_dns_subdomain(&claim, NameForm::Whole) {
                let message = format!("PVC name \"{claim}\": {message}");
                errors.push(field::invalid(
                    &path.child("name"),
                    &volume["name"],
                    message,
                ));
            }
        }
    }
    if count == 0 {
        errors.push(field::required(path, "must specify a volume type"));
    }
}

fn validate_one_source(name: &str, source: &Value, path: &Path, errors: &mut ErrorList) {
    match name {
        "emptyDir" if resources::quantity(&source["sizeLimit"]).is_some_and(|q| q.sign() < 0) => {
            let message = "SizeLimit field must be a valid resource quantity";
            errors.push(field::forbidden(&path.child("sizeLimit"), message));
        }
        "hostPath" => validate_host_path(source, path, errors),
        "secret" => validate_keyed(source, "secretName", path, errors),
        "configMap" => validate_keyed(source, "name", path, errors),
        "downwardAPI" => {
            checks::file_mode(&source["defaultMode"], &path.child("defaultMode"), errors);
            for file in source["items"].items() {
                validate_downward_file(file, path, errors);
            }
        }
        "projected" => validate_projected(source, path, errors),
        "persistentVolumeClaim" => {
            checks::required(&source["claimName"], &path.child("claimName"), errors)
        }
        "nfs" => {
            checks::required(&source["server"], &path.child("server"), errors);
            checks::required(&source["path"], &path.child("path"), errors);
            if !source["path"].text().starts_with('/') {
                errors.push(field::invalid_str(
                    &path.child("path"),
                    source["path"].text(),
                    "must be an absolute path",
                ));
            }
        }
        "gitRepo" => {
            checks::required(&source["repository"], &path.child("repository"), errors);
            checks::descending_path(source["directory"].text(), &path.child("directory"), errors);
        }
        "csi" => checks::required(&source["driver"], &path.child("driver"), errors),
        "image" => checks::required(&source["reference"], &path.child("reference"), errors),
        "ephemeral" => {
            let path = path.child("volumeClaimTemplate");
            let template = &source["volumeClaimTemplate"];
            if template.is_set() {
                persistent_volume_claim::validate_template(template, &path, errors);
            } else {
                errors.push(field::required(&path, ""));
            }
        }
        _ => {}
    }
}

fn validate_host_path(source: &Value, path: &Path, errors: &mut ErrorList) {
    if source["path"].is_blank() {
        errors.push(field::required(&path.child("path"), ""));
        return;
    }
    checks::no_backsteps(source["path"].text(), &path.child("path"), errors);
    checks::one_of_if_set(
        &source["type"],
        &HOST_PATH_TYPES,
        &path.child("type"),
        errors,
    );
}

/// A secret or config map with the keys that become files.
fn validate_keyed(source: &Value, name: &str, path: &Path, errors: &mut ErrorList) {
    checks::required(&source[name], &path.child(name), errors);
    checks::file_mode(&source["defaultMode"], &path.child("defaultMode"), errors);
    for (i, item) in source["items"].items().iter().enumerate() {
        validate_key_to_path(item, &path.child("items").index(i), errors);
    }
}

fn validate_key_to_path(item: &Value, path: &Path, errors: &mut ErrorList) {
    checks::required(&item["key"], &path.child("key"), errors);
    checks::required(&item["path"], &path.child("path"), errors);
    checks::local_path(item["path"].text(), &path.child("path"), errors);
    checks::file_mode(&item["mode"], &path.child("mode"), errors);
}

fn validate_downward_file(file: &Value, path: &Path, errors: &mut ErrorList) {
    checks::required(&file["path"], &path.child("path"), errors);
    checks::local_path(file["path"].text(), &path.child("path"), errors);
    let (own, resource) = (&file["fieldRef"], &file["resourceFieldRef"]);
    if own.is_set() {
        env::validate_field_ref(own, RefContext::Volume, &path.child("fieldRef"), errors);
        if resource.is_set() {
            let message = "fieldRef and resourceFieldRef can not be specified simultaneously";
            errors.push(field::invalid_str(path, "resource", message));
        }
    } else if resource.is_set() {
        env::validate_resource_ref(
            resource,
            RefContext::Volume,
            &path.child("resourceFieldRef"),
            errors,
        );
    } else {
        errors.push(field::required(
            path,
            "one of fieldRef and resourceFieldRef is required",
        ));
    }
    checks::file_mode(&file["mode"], &path.child("mode"), errors);
}

fn validate_projected(source: &Value, path: &Path, errors: &mut ErrorList) {
    checks::file_mode(&source["defaultMode"], &path.child("defaultMode"), errors);
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for (i, source) in source["sources"].items().iter().enumerate() {
        let at = path.child("sources").index(i);
        let mut count = 0;
        for kind in ["secret", "configMap"] {
            let part = &source[kind];
            if !part.is_set() {
                continue;
            }
            count += 1;
            let at = at.child(kind);
            checks::required(&part["name"], &at.child("name"), errors);
            for (j, item) in part["items"].items().iter().enumerate() {
                validate_key_to_path(item, &at.child("items").index(j), errors);
                let file = item["path"].text();
                if !file.is_empty() && !seen.insert(file) {
                    errors.push(field::invalid_str(
                        path,
                        part["name"].text(),
                        "conflicting duplicate paths",
                    ));
                }
            }
        }
        if source["downwardAPI"].is_set() {
            count += 1;
            for file in source["downwardAPI"]["items"].items() {
                validate_downward_file(file, &at.child("downwardAPI"), errors);
                let name = file["path"].text();
                if !name.is_empty() && !seen.insert(name) {
                    errors.push(field::invalid_str(
                        path,
                        name,
                        "conflicting duplicate paths",
                    ));
                }
            }
        }
        if source["serviceAccountToken"].is_set() {
            count += 1;
            validate_token(
                &source["serviceAccountToken"],
                &at.child("serviceAccountToken"),
                path,
                errors,
            );
        }
        count += usize::from(source["clusterTrustBundle"].is_set());
        count += usize::from(source["podCertificate"].is_set());
        if count > 1 {
            let message = "may not specify more than 1 volume type per source";
            errors.push(field::forbidden(&at, message));
        }
    }
}

fn validate_token(token: &Value, path: &Path, volume: &Path, errors: &mut ErrorList) {
    let seconds = token["expirationSeconds"].int();
    let seconds_path = path.child("expirationSeconds");
    if seconds < 600 {
        let message = "may not specify a duration less than 10 minutes";
        errors.push(field::invalid(&seconds_path, &seconds.into(), message));
    }
    if seconds > 1 << 32 {
        let message = "may not specify a duration larger than 2^32 seconds";
        errors.push(field::invalid(&seconds_path, &seconds.into(), message));
    }
    match token["path"].text() {
        "" => errors.push(field::required(&volume.child("path"), "")),
        file => checks::local_path(file, &volume.child("path"), errors),
    }
}
