//! The cluster IPs of a service and their families: what may stand there, and how it may change.

use std::collections::BTreeSet;

use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::Value;

use super::allocation::family_of;
use crate::{checks, json::Read};

const NOT_AGAIN: &str = "may not change once set";

/// `None` and nothing else.
pub(crate) fn is_headless(service: &Value) -> bool {
    matches!(service["spec"]["clusterIPs"].items(), [ip] if ip == "None")
}

pub(super) fn validate(service: &Value, old: &Value, errors: &mut ErrorList) {
    let spec = &service["spec"];
    if spec["type"] == "ExternalName" {
        return;
    }
    let path = Path::new("spec");
    let ips_path = path.child("clusterIPs");
    let ips = spec["clusterIPs"].items();
    let ip = spec["clusterIP"].text();
    match (ip, ips.first()) {
        ("", None) => {}
        ("", Some(_)) => {
            let message = "must be empty when `clusterIP` is not specified";
            errors.push(field::invalid(&ips_path, &spec["clusterIPs"], message));
        }
        (_, None) => errors.push(field::required(&ips_path, "")),
        (ip, Some(first)) if first != ip => {
            let message = "first value must match `clusterIP`";
            errors.push(field::invalid(&ips_path, &spec["clusterIPs"], message));
        }
        _ => {}
    }
    let mut seen = BTreeSet::new();
    for (i, family) in spec["ipFamilies"].items().iter().enumerate() {
        let path = path.child("ipFamilies").index(i);
        checks::one_of_if_set(family, &["IPv4", "IPv6"], &path, errors);
        if !seen.insert(family.text()) {
            errors.push(field::duplicate(&path, family));
        }
    }
    let known = ["PreferDualStack", "RequireDualStack", "SingleStack"];
    checks::one_of_if_set(
        &spec["ipFamilyPolicy"],
        &known,
        &path.child("ipFamilyPolicy"),
        errors,
    );
    let before: Vec<&str> = old["spec"]["clusterIPs"]
        .items()
        .iter()
        .map(Read::text)
        .collect();
    let mut readable = true;
    for (i, ip) in ips.iter().enumerate() {
        if i == 0 && ip == "None" {
            if ips.len() > 1 {
                readable = false;
                let message = "'None' must be the first and only value";
                errors.push(field::invalid(&ips_path, &spec["clusterIPs"], message));
            }
            continue;
        }
        let count = errors.len();
        checks::legacy_ip(ip.text(), &before, &ips_path.index(i), errors);
        readable &= errors.len() == count;
    }
    if ips.len() > 2 {
        errors.push(field::invalid(
            &ips_path,
            &spec["clusterIPs"],
            "may only hold up to 2 values",
        ));
    }
    if !readable {
        return;
    }
    if let [first, second] = ips
        && family_of(first.text()) == family_of(second.text())
    {
        let message = "may specify no more than one IP for each IP family";
        errors.push(field::invalid(&ips_path, &spec["clusterIPs"], message));
    }
    if is_headless(service) {
        return;
    }
    for (i, (ip, family)) in ips.iter().zip(spec["ipFamilies"].items()).enumerate() {
        let family = family.text();
        if matches!(family, "IPv4" | "IPv6") && family != family_of(ip.text()) {
            let message = format!("expected an {family} value as indicated by `ipFamilies[{i}]`");
            errors.push(field::invalid(&ips_path.index(i), ip, message));
        }
    }
}

/// The first address and family stay; a second may come, and go where the policy is single-stack.
pub(super) fn validate_change(new: &Value, old: &Value, errors: &mut ErrorList) {
    if new["spec"]["type"] == "ExternalName" || old["spec"]["type"] == "ExternalName" {
        return;
    }
    let (headless, before_headless) = (is_headless(new), is_headless(old));
    if !(headless && before_headless) {
        validate_ips(new, old, errors);
    }
    if headless || before_headless {
        return;
    }
    validate_families(new, old, errors);
}

fn validate_ips(new: &Value, old: &Value, errors: &mut ErrorList) {
    let path = Path::new("spec");
    let ips_path = path.child("clusterIPs");
    let list = &new["spec"]["clusterIPs"];
    let (after, before) = (list.items(), old["spec"]["clusterIPs"].items());
    if after.len() == before.len() {
        for (i, _) in after
            .iter()
            .zip(before)
            .enumerate()
            .filter(|(_, (a, b))| a != b)
        {
            errors.push(field::invalid(&ips_path.index(i), list, NOT_AGAIN));
        }
        return;
    }
    if after.is_empty() {
        errors.push(field::invalid(
            &ips_path.index(0),
            list,
            "primary clusterIP can not be unset",
        ));
    } else if !before.is_empty() && after[0] != before[0] {
        errors.push(field::invalid(&ips_path.index(0), list, NOT_AGAIN));
    }
    if after.len() < before.len() && after.len() == 1 {
        require_single(new, "clusterIP", &path, errors);
    }
}

fn validate_families(new: &Value, old: &Value, errors: &mut ErrorList) {
    let path = Path::new("spec");
    let first = path.child("ipFamilies").index(0);
    let list = &new["spec"]["ipFamilies"];
    let (after, before) = (list.items(), old["spec"]["ipFamilies"].items());
    if after.len() == before.len() {
        for _ in after.iter().zip(before).filter(|(a, b)| a != b) {
            errors.push(field::invalid(&first, list, NOT_AGAIN));
        }
        return;
    }
    if let (Some(a), Some(b)) = (after.first(), before.first())
        && a != b
    {
        errors.push(field::invalid(
            &first,
            &new["spec"]["clusterIPs"],
            NOT_AGAIN,
        ));
    }
    if after.len() < before.len() && after.len() == 1 {
        require_single(new, "ipFamily", &path, errors);
    }
}

fn require_single(service: &Value, what: &str, path: &Path, errors: &mut ErrorList) {
    let policy = &service["spec"]["ipFamilyPolicy"];
    if policy != "SingleStack" {
        let message = format!("must be set to 'SingleStack' when releasing the secondary {what}");
        errors.push(field::invalid(
            &path.child("ipFamilyPolicy"),
            policy,
            message,
        ));
    }
}
