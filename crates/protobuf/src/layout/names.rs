//! What Go calls the fields, for the texts of errors.
//!
//! The catalog knows JSON names. Go's names follow from them by a convention that has exceptions; those listed here
//! are the ones that occur. The names of embedded structs are told from a field they hold.

use kubewright_catalog::types::{Field, Type};

use super::{Content, Parts};

/// Words that Go writes in capitals at the start of a name.
const INITIALS: &[&str] = &[
    "api", "aws", "ca", "cel", "cidr", "csi", "dns", "fc", "fs", "gce", "grpc", "http", "id", "ip",
    "iscsi", "nfs", "os", "pd", "rbd", "se", "tcp", "tls", "ttl", "tty", "uid", "uri", "url",
];

/// The name of a field.
pub(super) fn go_name(field: &Field) -> String {
    if let (Type::Struct(ty), "metadata") = (field.ty, field.json) {
        return ty.name.to_owned();
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
    } else {
        "LocalObjectReference"
    }
}

fn capital(word: &str) -> impl Iterator<Item = char> {
    let mut chars = word.chars();
    let first = chars.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(chars)
}
