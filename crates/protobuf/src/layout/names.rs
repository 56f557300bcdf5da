//! The names of fields in Go, for the texts of errors.
//!
//! The catalog knows JSON names. Go's names follow from them by a convention that has exceptions; those listed here
//! are the ones that occur. The names of embedded structs are derived from a field they hold.

use kubewright_catalog::types::{Field, Type};

use super::{Content, Parts};

/// Words that Go writes in capitals at the start of a name.
const INITIALS: &[&str] = &[
    "api", "aws", "ca", "cel", "cidr", "csi", "dns", "fc", "fs", "gce", "gid", "gmsa", "grpc",
    "http", "id", "ip", "iqn", "iscsi", "json", "nfs", "os", "pd", "qos", "rbd", "se", "ssl",
    "tcp", "tls", "ttl", "tty", "uid", "uri", "url",
];

/// Names that follow no rule: struct, JSON name, name in Go. An empty struct name matches any.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("", "chapAuthDiscovery", "DiscoveryCHAPAuth"),
    ("", "chapAuthSession", "SessionCHAPAuth"),
    ("", "cidrs", "CIDRs"),
    ("", "ips", "IPs"),
    ("", "lastState", "LastTerminationState"),
    ("", "wwids", "WWIDs"),
    ("APIResourceList", "resources", "APIResources"),
    ("AdmissionResponse", "status", "Result"),
    ("AzureDiskVolumeSource", "diskURI", "DataDiskURI"),
    ("DeviceAttribute", "bool", "BoolValue"),
    ("DeviceAttribute", "bools", "BoolValues"),
    ("DeviceAttribute", "int", "IntValue"),
    ("DeviceAttribute", "ints", "IntValues"),
    ("DeviceAttribute", "string", "StringValue"),
    ("DeviceAttribute", "strings", "StringValues"),
    ("DeviceAttribute", "version", "VersionValue"),
    ("DeviceAttribute", "versions", "VersionValues"),
    ("Event", "reportingComponent", "ReportingController"),
    (
        "GlusterfsPersistentVolumeSource",
        "endpoints",
        "EndpointsName",
    ),
    ("GlusterfsVolumeSource", "endpoints", "EndpointsName"),
    ("NodeSpec", "externalID", "DoNotUseExternalID"),
    ("PhotonPersistentDiskVolumeSource", "pdID", "PdID"),
    ("PodSpec", "serviceAccount", "DeprecatedServiceAccount"),
    ("RBDPersistentVolumeSource", "image", "RBDImage"),
    ("RBDPersistentVolumeSource", "monitors", "CephMonitors"),
    ("RBDPersistentVolumeSource", "pool", "RBDPool"),
    ("RBDPersistentVolumeSource", "user", "RadosUser"),
    ("RBDVolumeSource", "image", "RBDImage"),
    ("RBDVolumeSource", "monitors", "CephMonitors"),
    ("RBDVolumeSource", "pool", "RBDPool"),
    ("RBDVolumeSource", "user", "RadosUser"),
    ("StatusCause", "reason", "Type"),
];

/// The name of a field of the struct of that name.
pub(super) fn go_name(owner: &str, field: &Field) -> String {
    if let (Type::Struct(ty), "metadata") = (field.ty, field.json) {
        return ty.name.to_owned();
    }
    let exception = EXCEPTIONS
        .iter()
        .find(|(ty, json, _)| *json == field.json && (ty.is_empty() || *ty == owner));
    if let Some((_, _, name)) = exception {
        return (*name).to_owned();
    }
    if let Some(rest) = field.json.strip_prefix("x-kubernetes-") {
        return "X"
            .chars()
            .chain(rest.split('-').flat_map(capital))
            .collect();
    }
    let json = field.json.trim_start_matches('$');
    let word = json
        .find(|c: char| !c.is_ascii_lowercase())
        .unwrap_or(json.len());
    match json.split_at_checked(word) {
        Some((word, rest)) if INITIALS.contains(&word) => word.to_ascii_uppercase() + rest,
        _ => capital(json).collect(),
    }
}

/// The name of an embedded struct.
pub(super) fn embedded_name(parts: &Parts) -> &'static str {
    let has = |wanted: &str| {
        parts.list.iter().any(|part| match &part.content {
            Content::Field { json, .. } => *json == wanted,
            Content::Embedded(_) => false,
        })
    };
    if has("httpGet") {
        "ProbeHandler"
    } else if has("emptyDir") {
        "VolumeSource"
    } else if has("persistentVolumeClaim") || has("local") {
        "PersistentVolumeSource"
    } else if has("image") {
        "EphemeralContainerCommon"
    } else if has("apiGroups") {
        "Rule"
    } else if has("operations") {
        "RuleWithOperations"
    } else if has("http") {
        "IngressRuleValue"
    } else if has("opaque") {
        "DeviceConfiguration"
    } else {
        "LocalObjectReference"
    }
}

fn capital(word: &str) -> impl Iterator<Item = char> {
    let mut chars = word.chars();
    let first = chars.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(chars)
}
