//! Environment variables, and references of variables and volumes to fields of the pod.

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::{NameForm, names},
};
use serde_json::Value;

use crate::{checks, core::resources, json::Read};

const ENV_FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
const VOLUME_FIELDS: [&str; 5] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
];
const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];
const BYTE_DIVISORS: [&str; 13] = [
    "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei",
];

/// The context of a reference to the pod's fields.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RefContext {
    /// An environment variable.
    Env,
    /// A file of a volume.
    Volume,
}

pub(super) fn validate_env(vars: &Value, path: &Path, errors: &mut ErrorList) {
    for (i, var) in vars.items().iter().enumerate() {
        let path = path.index(i);
        let name = var["name"].text();
        if name.is_empty() {
            errors.push(field::required(&path.child("name"), ""));
        } else {
            let found = names::is_relaxed_env_var_name(name);
            checks::messages(name, found, &path.child("name"), errors);
        }
        if var["valueFrom"].is_set() {
            validate_source(var, &path.child("valueFrom"), errors);
        }
    }
}

pub(super) fn validate_env_from(sources: &Value, path: &Path, errors: &mut ErrorList) {
    for (i, source) in sources.items().iter().enumerate() {
        let item = path.index(i);
        let prefix = source["prefix"].text();
        if !prefix.is_empty() {
            let found = names::is_relaxed_env_var_name(prefix);
            checks::messages(prefix, found, &item.child("prefix"), errors);
        }
        let mut count = 0;
        for reference in ["configMapRef", "secretRef"] {
            if !source[reference].is_set() {
                continue;
            }
            count += 1;
            let path = item.child(reference).child("name");
            match source[reference]["name"].text() {
                "" => errors.push(field::required(&path, "")),
                name => checks::messages(
                    name,
                    names::name_is_dns_subdomain(name, NameForm::Prefix),
                    &path,
                    errors,
                ),
            }
        }
        match count {
            0 => errors.push(field::invalid_str(
                path,
                "",
                "must specify one of: `configMapRef` or `secretRef`",
            )),
            1 => {}
            _ => errors.push(field::invalid_str(
                path,
                "",
                "may not have more than one field specified at a time",
            )),
        }
    }
}

fn validate_source(var: &Value, path: &Path, errors: &mut ErrorList) {
    let source = &var["valueFrom"];
    let mut count = 0;
    if source["fieldRef"].is_set() {
        count += 1;
        validate_field_ref(
            &source["fieldRef"],
            RefContext::Env,
            &path.child("fieldRef"),
            errors,
        );
    }
    if source["resourceFieldRef"].is_set() {
        count += 1;
        let path = path.child("resourceFieldRef");
        validate_resource_ref(&source["resourceFieldRef"], RefContext::Env, &path, errors);
    }
    for reference in ["configMapKeyRef", "secretKeyRef"] {
        if source[reference].is_set() {
            count += 1;
            validate_key_ref(&source[reference], &path.child(reference), errors);
        }
    }
    if source["fileKeyRef"].is_set() {
        count += 1;
        validate_file_ref(&source["fileKeyRef"], &path.child("fileKeyRef"), errors);
    }
    let message = match count {
        0 => {
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        }
        _ if !var["value"].is_blank() => "may not be specified when `value` is not empty",
        1 => return,
        _ => "may not have more than one field specified at a time",
    };
    errors.push(field::invalid_str(path, "", message));
}

/// Checks a reference to a field of the pod.
pub(super) fn validate_field_ref(
    reference: &Value,
    context: RefContext,
    path: &Path,
    errors: &mut ErrorList,
) {
    if reference["apiVersion"].is_blank() {
        errors.push(field::required(&path.child("apiVersion"), ""));
        return;
    }
    let name = reference["fieldPath"].text();
    let name_path = path.child("fieldPath");
    if name.is_empty() {
        errors.push(field::required(&name_path, ""));
        return;
    }
    if reference["apiVersion"] != "v1" {
        let version = reference["apiVersion"].text();
        let message = format!("error converting fieldPath: unsupported pod version: {version}");
        errors.push(field::invalid_str(&name_path, name, message));
        return;
    }
    if let Some((field_name, key)) = subscript(name) {
        match field_name {
            "metadata.annotations" => checks::qualified_name(&key.to_lowercase(), path, errors),
            "metadata.labels" => checks::qualified_name(key, path, errors),
            _ => {
                let message = format!(
                    "error converting fieldPath: field label does not support subscript: {name}"
                );
                errors.push(field::invalid_str(&name_path, name, message));
            }
        }
        return;
    }
    if !is_known_field(name) {
        let message = format!("error converting fieldPath: field label not supported: {name}");
        errors.push(field::invalid_str(&name_path, name, message));
        return;
    }
    let known: &[&str] = match context {
        RefContext::Env => &ENV_FIELDS,
        RefContext::Volume => &VOLUME_FIELDS,
    };
    let name = if name == "spec.host" {
        "spec.nodeName"
    } else {
        name
    };
    if !known.contains(&name) {
        errors.push(field::not_supported(&name_path, name, known));
    }
}

/// Checks a reference to a resource of a container.
pub(super) fn validate_resource_ref(
    reference: &Value,
    context: RefContext,
    path: &Path,
    errors: &mut ErrorList,
) {
    let resource = reference["resource"].text();
    let huge =
        resource.starts_with("requests.hugepages-") || resource.starts_with("limits.hugepages-");
    if context == RefContext::Volume && reference["containerName"].is_blank() {
        errors.push(field::required(&path.child("containerName"), ""));
    } else if resource.is_empty() {
        errors.push(field::required(&path.child("resource"), ""));
    } else if !RESOURCES.contains(&resource) && !huge {
        errors.push(field::not_supported(
            &path.child("resource"),
            resource,
            &RESOURCES,
        ));
    }
    let Some(divisor) = resources::quantity(&reference["divisor"]).filter(|d| !d.is_zero()) else {
        return;
    };
    let text = divisor.to_string();
    let (known, message) = match resource {
        "limits.cpu" | "requests.cpu" => (
            matches!(text.as_str(), "1m" | "1"),
            "1m and 1 are supported with the cpu resource".to_owned(),
        ),
        _ => {
            let what = match resource.split_once('.').map(|r| r.1) {
                Some("memory") => "memory",
                Some("ephemeral-storage") => "local ephemeral storage",
                _ if huge => "hugepages",
                _ => return,
            };
            let list = BYTE_DIVISORS.join(", ");
            (
                BYTE_DIVISORS.contains(&text.as_str()),
                format!("{list} are supported with the {what} resource"),
            )
        }
    };
    if !known {
        let message = format!("only divisor's values {message}");
        errors.push(field::invalid_str(
            &path.child("divisor"),
            resource,
            message,
        ));
    }
}

fn validate_key_ref(reference: &Value, path: &Path, errors: &mut ErrorList) {
    let name = reference["name"].text();
    checks::messages(
        name,
        names::name_is_dns_subdomain(name, NameForm::Whole),
        &path.child("name"),
        errors,
    );
    match reference["key"].text() {
        "" => errors.push(field::required(&path.child("key"), "")),
        key => checks::messages(
            key,
            names::is_config_map_key(key),
            &path.child("key"),
            errors,
        ),
    }
}

fn validate_file_ref(reference: &Value, path: &Path, errors: &mut ErrorList) {
    match reference["key"].text() {
        "" => errors.push(field::required(&path.child("key"), "")),
        key => checks::messages(
            key,
            names::is_relaxed_env_var_name(key),
            &path.child("key"),
            errors,
        ),
    }
    match reference["volumeName"].text() {
        "" => errors.push(field::required(&path.child("volumeName"), "")),
        name => checks::dns_label(name, &path.child("volumeName"), errors),
    }
    match reference["path"].text() {
        "" => errors.push(field::required(&path.child("path"), "")),
        file => checks::no_backsteps(file, &path.child("path"), errors),
    }
}

/// Checks that the volumes of environment files exist and are of the type `emptyDir`.
pub(super) fn validate_file_volumes(spec: &Value, path: &Path, errors: &mut ErrorList) {
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for (i, container) in spec[list].items().iter().enumerate() {
            for (k, var) in container["env"].items().iter().enumerate() {
                let reference = &var["valueFrom"]["fileKeyRef"];
                if !reference.is_set() {
                    continue;
                }
                let name = &reference["volumeName"];
                let path = path.child(list).index(i).child("env").index(k);
                let path = path.child("valueFrom").child("fileKeyRef");
                let path = path.child("volumeName");
                let volumes = spec["volumes"].items();
                match volumes.iter().find(|v| v["name"].text() == name.text()) {
                    None => errors.push(field::not_found(&path, name)),
                    Some(volume) if !volume["emptyDir"].is_set() => {
                        let message = "referenced volume must be of type emptyDir";
                        errors.push(field::invalid(&path, name, message));
                    }
                    Some(_) => {}
                }
            }
        }
    }
}

/// `metadata.labels['a']` as its two parts.
fn subscript(name: &str) -> Option<(&str, &str)> {
    let (field_name, rest) = name.split_once("['")?;
    let key = rest.strip_suffix("']")?;
    (!field_name.is_empty()).then_some((field_name, key))
}

fn is_known_field(name: &str) -> bool {
    ENV_FIELDS.contains(&name)
        || VOLUME_FIELDS.contains(&name)
        || matches!(
            name,
            "spec.restartPolicy" | "spec.schedulerName" | "spec.host" | "status.phase"
        )
}
