//! Resource lists: quantities by resource name, in containers, claims, quotas and limits.

use std::collections::BTreeMap;

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    quantity::Quantity,
    validation::names,
};
use serde_json::Value;

use crate::{
    checks,
    json::{Read, Write},
};

/// The quantity that a value holds.
pub(crate) fn quantity(value: &Value) -> Option<Quantity> {
    Quantity::parse(value.as_str()?).ok()
}

/// Sets the defaults of `limits` and `requests`: rounded up to a thousandth.
pub(crate) fn default_requirements(requirements: &mut Value) {
    requirements.with("limits", round_up);
    requirements.with("requests", round_up);
}

/// Every quantity of a list, rounded up to a thousandth, which is the finest the API keeps.
pub(crate) fn round_up(list: &mut Value) {
    let Some(list) = list.as_object_mut() else {
        return;
    };
    for value in list.values_mut() {
        if let Some(q) = quantity(value) {
            *value = q.round_up(-3).to_string().into();
        }
    }
}

/// Returns the total of a pod's containers: the sum of those that run concurrently, or the largest init container.
pub(crate) fn container_sum(spec: &Value, side: &str) -> BTreeMap<String, String> {
    let mut sums: BTreeMap<String, Quantity> = BTreeMap::new();
    let add = |into: &mut BTreeMap<String, Quantity>, list: &Value| {
        for (name, value) in list.entries() {
            if let Some(q) = quantity(value) {
                let sum = into.entry(name.to_owned()).or_default();
                *sum += &q;
            }
        }
    };
    for c in spec["containers"].items() {
        add(&mut sums, &c["resources"][side]);
    }
    let mut sidecars: BTreeMap<String, Quantity> = BTreeMap::new();
    let mut init: BTreeMap<String, Quantity> = BTreeMap::new();
    for c in spec["initContainers"].items() {
        let own = &c["resources"][side];
        let mut needed = BTreeMap::new();
        if c["restartPolicy"] == "Always" {
            add(&mut sums, own);
            add(&mut sidecars, own);
            needed = sidecars.clone();
        } else {
            add(&mut needed, own);
            for (name, q) in &sidecars {
                let sum = needed.entry(name.clone()).or_default();
                *sum += q;
            }
        }
        for (name, q) in needed {
            let largest = init.entry(name).or_default();
            if q > *largest {
                *largest = q;
            }
        }
    }
    for (name, q) in init {
        let sum = sums.entry(name).or_default();
        if q > *sum {
            *sum = q;
        }
    }
    sums.into_iter().map(|(n, q)| (n, q.to_string())).collect()
}

/// The resources that a list may name.
#[derive(Clone, Copy)]
pub(crate) enum Names {
    /// The resources of a container.
    Container,
    /// The resources of a pod as a whole.
    Pod,
}

const STANDARD: [&str; 20] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "storage",
    "requests.storage",
    "services.nodeports",
    "services.loadbalancers",
];
const COUNTED: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

/// Checks limits, requests and claims.
pub(crate) fn validate_requirements(
    requirements: &Value,
    kind: Names,
    claims: &[&str],
    path: &Path,
    errors: &mut ErrorList,
) {
    let (mut compute, mut huge) = (false, false);
    let mut check = |name: &str, q: &Quantity, path: &Path, errors: &mut ErrorList| {
        validate_name(name, kind, path, errors);
        validate_value(name, q, path, errors);
        compute |= matches!(name, "cpu" | "memory");
        huge |= is_huge_page(name);
    };
    let limits = path.child("limits");
    for (name, value) in requirements["limits"].entries() {
        if let Some(q) = quantity(value) {
            let path = limits.key(name);
            check(name, &q, &path, errors);
            validate_huge_page(name, &q, &path, errors);
        }
    }
    let requests = path.child("requests");
    for (name, value) in requirements["requests"].entries() {
        let Some(q) = quantity(value) else { continue };
        let path = requests.key(name);
        check(name, &q, &path, errors);
        let limit = quantity(&requirements["limits"][name]);
        let text = q.to_string();
        match limit {
            Some(limit) if q != limit && !may_overcommit(name) => {
                let message = format!("must be equal to {name} limit of {limit}");
                errors.push(field::invalid_str(&requests, &text, message));
            }
            Some(limit) if q > limit => {
                let message = format!("must be less than or equal to {name} limit of {limit}");
                errors.push(field::invalid_str(&requests, &text, message));
            }
            Some(_) => {}
            None if !may_overcommit(name) => {
                let message = "Limit must be set for non overcommitable resources";
                errors.push(field::required(&limits, message));
            }
            None => {}
        }
        validate_huge_page(name, &q, &path, errors);
    }
    if huge && !compute {
        errors.push(field::forbidden(path, "HugePages require cpu or memory"));
    }
    validate_claims(
        &requirements["claims"],
        claims,
        &path.child("claims"),
        errors,
    );
}

/// Checks the amount of a resource: not negative, whole where it counts things.
pub(crate) fn validate_value(name: &str, q: &Quantity, path: &Path, errors: &mut ErrorList) {
    checks::non_negative_quantity(q, path, errors);
    if (COUNTED.contains(&name) || is_extended(name)) && q.milli_value() % 1000 != 0 {
        errors.push(field::invalid_str(
            path,
            &q.to_string(),
            "must be an integer",
        ));
    }
}

/// Checks that a name is qualified, or one of the standard ones.
pub(crate) fn validate_any_name(name: &str, path: &Path, errors: &mut ErrorList) -> bool {
    let before = errors.len();
    checks::qualified_name(name, path, errors);
    if errors.len() == before && !name.contains('/') && !is_standard(name) {
        let message = "must be a standard resource type or fully qualified";
        errors.push(field::invalid_str(path, name, message));
    }
    errors.len() == before
}

/// Checks a name in a limit range of that type.
pub(crate) fn validate_limit_name(name: &str, kind: &str, path: &Path, errors: &mut ErrorList) {
    match kind {
        "Pod" | "Container" => validate_name(name, Names::Container, path, errors),
        _ => {
            validate_any_name(name, path, errors);
        }
    }
}

/// Checks a name in a quota.
pub(crate) fn validate_quota_name(name: &str, path: &Path, errors: &mut ErrorList) {
    validate_any_name(name, path, errors);
    let known =
        (STANDARD.contains(&name) && name != "storage") || name.starts_with("requests.hugepages-");
    if !name.contains('/') && !known && !is_huge_page(name) {
        errors.push(field::invalid_str(
            path,
            name,
            "must be a standard resource for quota",
        ));
    }
}

fn validate_name(name: &str, kind: Names, path: &Path, errors: &mut ErrorList) {
    let fine = validate_any_name(name, path, errors);
    let standard = matches!(name, "cpu" | "memory" | "ephemeral-storage") || is_huge_page(name);
    match kind {
        Names::Pod if fine && !is_pod_level(name) => {
            errors.push(field::not_supported(
                path,
                name,
                &["cpu", "hugepages-", "memory"],
            ));
        }
        Names::Pod => {}
        Names::Container if !name.contains('/') => {
            if !standard {
                let message = "must be a standard resource for containers";
                errors.push(field::invalid_str(path, name, message));
            }
        }
        Names::Container if !is_native(name) && !is_extended(name) => {
            let message = "doesn't follow extended resource name standard";
            errors.push(field::invalid_str(path, name, message));
        }
        Names::Container => {}
    }
}

fn validate_huge_page(name: &str, q: &Quantity, path: &Path, errors: &mut ErrorList) {
    let Some(size) = name.strip_prefix("hugepages-") else {
        return;
    };
    let size = Quantity::parse(size).map_or(0, |s| s.value());
    if size <= 0 || q.value() % size != 0 {
        let message = format!("{q} is not positive integer multiple of {name}");
        errors.push(field::invalid_str(path, &q.to_string(), message));
    }
}

/// The maximum number of names that an error lists.
const MAX_NAMES: usize = 100;

fn validate_claims(list: &Value, known: &[&str], path: &Path, errors: &mut ErrorList) {
    let mut seen: Vec<String> = Vec::new();
    for (i, claim) in list.items().iter().enumerate() {
        let path = path.index(i);
        let (name, request) = (claim["name"].text(), claim["request"].text());
        if name.is_empty() {
            errors.push(field::required(&path, ""));
            continue;
        }
        if seen.iter().any(|s| s == name) {
            errors.push(field::duplicate(&path, &name.into()));
        } else {
            let mut key = name.to_owned();
            if !request.is_empty() {
                checks::dns_label(request, &path.child("request"), errors);
                key = format!("{name}/{request}");
            }
            let part = format!("{name}/");
            if seen.contains(&key) {
                errors.push(field::duplicate(&path, &key.as_str().into()));
            } else if request.is_empty() && seen.iter().any(|s| s.starts_with(&part)) {
                errors.push(field::duplicate(&path, &name.into()));
            }
            seen.push(key);
        }
        if !known.contains(&name) {
            let mut error = field::not_found(&path, &name.into());
            error.detail = "must be one of the names in pod.spec.resourceClaims".to_owned();
            if known.is_empty() {
                error.detail.push_str(" which is empty");
            } else {
                let mut known = known.to_vec();
                known.sort_unstable();
                known.truncate(MAX_NAMES);
                error.detail.push_str(&format!(": {}", known.join(", ")));
            }
            errors.push(error);
        }
    }
}

/// A page size in the name.
pub(crate) fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

fn is_pod_level(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || is_huge_page(name)
}

fn is_standard(name: &str) -> bool {
    STANDARD.contains(&name) || is_huge_page(name) || name.starts_with("requests.hugepages-")
}

/// Reports whether a name is in the namespace of Kubernetes, as names without a domain are.
pub(crate) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Reports whether a name is that of an extended resource.
pub(crate) fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && names::is_qualified_name(&format!("requests.{name}")).is_empty()
}

fn may_overcommit(name: &str) -> bool {
    is_native(name) && !is_huge_page(name)
}
