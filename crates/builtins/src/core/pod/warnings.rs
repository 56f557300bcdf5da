//! Warnings for pods and templates that are accepted.

use std::collections::{BTreeMap, BTreeSet};

use kubewright_machinery::{field::Path, validation::names};
use serde_json::Value;

use crate::{core::resources, json::Read};

const DEPRECATED_ANNOTATIONS: [(&str, &str); 3] = [
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
];
const DEPRECATED_VOLUMES: [(&str, &str, &str); 9] = [
    (
        "photonPersistentDisk",
        "photonPersistentDisk",
        "deprecated in v1.11, non-functional in v1.16+",
    ),
    (
        "gitRepo",
        "gitRepo",
        "deprecated in v1.11, and disabled by default in v1.33+",
    ),
    (
        "scaleIO",
        "scaleIO",
        "deprecated in v1.16, non-functional in v1.22+",
    ),
    (
        "flocker",
        "flocker",
        "deprecated in v1.22, non-functional in v1.25+",
    ),
    (
        "storageos",
        "storageOS",
        "deprecated in v1.22, non-functional in v1.25+",
    ),
    (
        "quobyte",
        "quobyte",
        "deprecated in v1.22, non-functional in v1.25+",
    ),
    (
        "glusterfs",
        "glusterfs",
        "deprecated in v1.25, non-functional in v1.26+",
    ),
    (
        "cephfs",
        "cephfs",
        "deprecated in v1.28, non-functional in v1.31+",
    ),
    (
        "rbd",
        "rbd",
        "deprecated in v1.28, non-functional in v1.31+",
    ),
];
const DEPRECATED_LABELS: [(&str, &str); 5] = [
    (
        "beta.kubernetes.io/arch",
        "deprecated since v1.14; use \"kubernetes.io/arch\" instead",
    ),
    (
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
    (
        "beta.kubernetes.io/os",
        "deprecated since v1.14; use \"kubernetes.io/os\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
    ),
];

/// The warnings for a new pod.
pub(crate) fn pod(pod: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    let found = names::is_dns1123_label(pod["metadata"]["name"].text());
    if !found.is_empty() {
        warnings.push(format!(
            "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [{}]",
            found.join(" ")
        ));
    }
    warnings.extend(template(pod, &Path::root()));
    warnings
}

/// The warning for a workload whose name is not a DNS label.
pub(crate) fn workload_name(obj: &Value) -> Vec<String> {
    let found = names::is_dns1123_label(obj["metadata"]["name"].text());
    if found.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [{}]",
        found.join(" ")
    )]
}

/// The warnings for a new workload with a template at `spec.template`.
pub(crate) fn workload(obj: &Value) -> Vec<String> {
    let mut warnings = workload_name(obj);
    warnings.extend(spec_template(obj));
    warnings
}

/// The warnings for the template at `spec.template`.
pub(crate) fn spec_template(obj: &Value) -> Vec<String> {
    template(
        &obj["spec"]["template"],
        &Path::new("spec").child("template"),
    )
}

/// The warnings for the template, if the update made a new generation.
pub(crate) fn spec_template_on_update(new: &Value, old: &Value) -> Vec<String> {
    if new["metadata"]["generation"] == old["metadata"]["generation"] {
        return Vec::new();
    }
    spec_template(new)
}

/// The warnings for a pod or template at a path.
pub(crate) fn template(template: &Value, path: &Path) -> Vec<String> {
    let mut out = Vec::new();
    let spec = &template["spec"];
    let at = path.child("spec");
    for (key, _) in spec["nodeSelector"].entries() {
        if let Some(message) = deprecated_label(key) {
            out.push(format!("{}: {message}", at.child("nodeSelector").key(key)));
        }
    }
    for (i, c) in spec["topologySpreadConstraints"].items().iter().enumerate() {
        let at = at.child("topologySpreadConstraints").index(i);
        let key = c["topologyKey"].text();
        if let Some(message) = deprecated_label(key) {
            out.push(format!("{}: {key} is {message}", at.child("topologyKey")));
        }
        if !c["labelSelector"].is_set() {
            out.push(null_selector(&at.child("labelSelector")));
        }
    }
    for (key, message) in DEPRECATED_ANNOTATIONS {
        if template["metadata"]["annotations"][key].is_set() {
            out.push(format!(
                "{}: {message}",
                path.child("metadata").child("annotations").key(key)
            ));
        }
    }
    for (i, volume) in spec["volumes"].items().iter().enumerate() {
        for (name, shown, message) in DEPRECATED_VOLUMES {
            if volume[name].is_set() {
                out.push(format!(
                    "{}: {message}",
                    at.child("volumes").index(i).child(shown)
                ));
            }
        }
    }
    duplicates(
        &spec["hostAliases"],
        "ip",
        &at.child("hostAliases"),
        &mut out,
    );
    duplicates(
        &spec["imagePullSecrets"],
        "name",
        &at.child("imagePullSecrets"),
        &mut out,
    );
    for (i, secret) in spec["imagePullSecrets"].items().iter().enumerate() {
        if secret["name"].is_blank() {
            let at = at.child("imagePullSecrets").index(i).child("name");
            out.push(format!("{at}: invalid empty name \"\""));
        }
    }
    fractions(&spec["overhead"], &at.child("overhead"), &mut out);
    for (c, at) in containers(spec, &at) {
        container(c, &at, &mut out);
    }
    ports(spec, &at, &mut out);
    if spec["terminationGracePeriodSeconds"].int() < 0 {
        let at = at.child("terminationGracePeriodSeconds");
        out.push(format!(
            "{at}: must be >= 0; negative values are invalid and will be treated as 1"
        ));
    }
    affinity(&spec["affinity"], &at.child("affinity"), &mut out);
    out
}

/// Returns init, regular and ephemeral containers with their paths.
fn containers<'a>(spec: &'a Value, path: &Path) -> Vec<(&'a Value, Path)> {
    let mut out = Vec::new();
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        let path = path.child(list);
        out.extend(
            spec[list]
                .items()
                .iter()
                .enumerate()
                .map(|(i, c)| (c, path.index(i))),
        );
    }
    out
}

fn container(c: &Value, path: &Path, out: &mut Vec<String>) {
    for name in ["memory", "ephemeral-storage"] {
        for side in ["limits", "requests"] {
            let path = path.child("resources").child(side);
            fraction(&c["resources"][side], name, &path, out);
        }
    }
    let mut seen = BTreeSet::new();
    for (i, var) in c["env"].items().iter().enumerate() {
        let name = var["name"].text();
        if seen.insert(name) {
            continue;
        }
        let reference = format!("$({name})");
        let value = var["value"].text();
        if var["valueFrom"].is_set() || value == reference || !value.contains(&reference) {
            let path = path.child("env").index(i);
            out.push(format!("{path}: hides previous definition of \"{name}\", which may be dropped when using apply"));
        }
    }
}

fn fractions(list: &Value, path: &Path, out: &mut Vec<String>) {
    for name in ["memory", "ephemeral-storage"] {
        fraction(list, name, path, out);
    }
}

fn fraction(list: &Value, name: &str, path: &Path, out: &mut Vec<String>) {
    if let Some(q) = resources::quantity(&list[name])
        && q.milli_value() % 1000 != 0
    {
        let path = path.key(name);
        out.push(format!(
            "{path}: fractional byte value \"{q}\" is invalid, must be an integer"
        ));
    }
}

fn ports(spec: &Value, path: &Path, out: &mut Vec<String>) {
    let mut seen: BTreeMap<_, Vec<(Path, &Value)>> = BTreeMap::new();
    for (c, at) in containers(spec, path) {
        for (i, port) in c["ports"].items().iter().enumerate() {
            let at = at.child("ports").index(i);
            let key = (port["containerPort"].as_i64(), port["protocol"].text());
            let others = seen.entry(key).or_default();
            for (other, p) in others.iter() {
                let (host, ip) = (port["hostPort"].int(), port["hostIP"].text());
                let (other_host, other_ip) = (p["hostPort"].int(), p["hostIP"].text());
                if ip == other_ip && host == other_host {
                    out.push(format!("{at}: duplicate port definition with {other}"));
                } else if host == 0 || other_host == 0 {
                    out.push(format!("{at}: overlapping port definition with {other}"));
                } else if host == other_host && (ip.is_empty() != other_ip.is_empty()) {
                    out.push(format!(
                        "{at}: dangerously ambiguous port definition with {other}"
                    ));
                }
            }
            others.push((at, port));
        }
    }
    let mut names: BTreeMap<&str, Path> = BTreeMap::new();
    for (c, at) in containers(spec, path) {
        for (i, port) in c["ports"].items().iter().enumerate() {
            let (name, at) = (port["name"].text(), at.child("ports").index(i));
            if name.is_empty() {
                continue;
            }
            match names.get(name) {
                Some(other) => out.push(format!(
                    "{at}: duplicate port name \"{name}\" with {other}, services and probes that select ports by name will use {other}"
                )),
                None => {
                    names.insert(name, at);
                }
            }
        }
    }
}

fn affinity(affinity: &Value, path: &Path, out: &mut Vec<String>) {
    for side in ["podAffinity", "podAntiAffinity"] {
        let path = path.child(side);
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        for (i, term) in affinity[side][required].items().iter().enumerate() {
            if !term["labelSelector"].is_set() {
                out.push(null_selector(
                    &path.child(required).index(i).child("labelSelector"),
                ));
            }
        }
        let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
        for (i, term) in affinity[side][preferred].items().iter().enumerate() {
            if !term["podAffinityTerm"]["labelSelector"].is_set() {
                let path = path.child(preferred).index(i).child("podAffinityTerm");
                out.push(null_selector(&path.child("labelSelector")));
            }
        }
    }
}

fn duplicates(list: &Value, field: &str, path: &Path, out: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for (i, item) in list.items().iter().enumerate() {
        let value = item[field].text();
        if !seen.insert(value) {
            out.push(format!(
                "{}: duplicate {field} \"{value}\"",
                path.index(i).child(field)
            ));
        }
    }
}

fn null_selector(path: &Path) -> String {
    format!("{path}: a null labelSelector results in matching no pod")
}

fn deprecated_label(key: &str) -> Option<&'static str> {
    let found = DEPRECATED_LABELS.iter().find(|(label, _)| *label == key);
    found.map(|(_, message)| *message)
}
