//! Nodes.

use std::collections::BTreeSet;

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::names,
};
use serde_json::{Value, json};

use super::{pod::scheduling, resources};
use crate::{
    KindRules, address, checks, general,
    json::{Read, Write},
    meta,
};

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create,
    prepare_update,
    prepare_status_update,
    validate_create,
    validate_update,
    validate_status_update: |new, old| {
        let mut errors = meta::common(new, old, false);
        errors.extend(validate_changes(new, old));
        errors
    },
    warnings_on_create: warnings,
    warnings_on_update: |new, _| warnings(new),
    reset_fields: &["status"],
    reset_fields_status: &["spec"],
    ..KindRules::GENERAL
};

/// Sets the allocatable resources to the capacity if they are missing, and fills the list of pod CIDRs.
fn default(node: &mut Value) {
    node.with("status", |status| {
        let capacity = status["capacity"].clone();
        if capacity.is_set() {
            status.put_if_unset("allocatable", capacity);
        }
        status.with("capacity", resources::round_up);
        status.with("allocatable", resources::round_up);
    });
    let spec = node.field("spec");
    let first = spec["podCIDR"].clone();
    if spec["podCIDRs"].is_blank() {
        if !first.is_blank() {
            spec.put("podCIDRs", json!([first]));
        }
    } else if first.is_blank() {
        let first = spec["podCIDRs"][0].clone();
        spec.put("podCIDR", first);
    } else if spec["podCIDRs"][0] != first {
        // Writers that know only one of the two fields set that one.
        spec.put("podCIDRs", json!([first]));
    }
}

fn prepare_create(node: &mut Value) {
    node.with("spec", |s| s.forget("configSource"));
    node.with("status", |s| s.forget("config"));
}

fn prepare_update(new: &mut Value, old: &Value) {
    general::keep_status(new, old);
    if !old["spec"]["configSource"].is_set() {
        new.with("spec", |s| s.forget("configSource"));
    }
}

fn prepare_status_update(new: &mut Value, old: &Value) {
    general::copy(new, old, "spec");
    if !old["status"]["config"].is_set() {
        new.with("status", |s| s.forget("config"));
    }
}

fn validate_create(node: &Value) -> ErrorList {
    let mut errors = meta::validate(node, false, meta::subdomain);
    validate_taints(node, &mut errors);
    validate_resources(node, &mut errors);
    let cidrs = node["spec"]["podCIDRs"].items();
    let path = Path::new("spec").child("podCIDRs");
    for (i, cidr) in cidrs.iter().enumerate() {
        address::validate_legacy_cidr(cidr.text(), &[], &path.index(i), &mut errors);
    }
    let bad = cidrs
        .iter()
        .position(|c| address::parse_cidr(c.text()).is_none());
    if let Some(i) = bad.filter(|_| cidrs.len() > 1) {
        let text = cidrs[i].text();
        let message = format!(
            "invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[{i}]: <nil> (invalid CIDR address: {text})"
        );
        errors.push(field::internal(&path, message));
    }
    let families: BTreeSet<bool> = cidrs.iter().map(|c| c.text().contains(':')).collect();
    if cidrs.len() > 1 && (bad.is_some() || families.len() < cidrs.len()) {
        let message = "may specify no more than one CIDR for each IP family";
        errors.push(field::invalid(&path, &node["spec"]["podCIDRs"], message));
    }
    errors
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, false);
    errors.extend(validate_create(new));
    errors.extend(validate_changes(new, old));
    errors
}

fn validate_changes(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::validate_update(new, old);
    validate_resources(new, &mut errors);
    let mut seen = BTreeSet::new();
    for (i, address) in new["status"]["addresses"].items().iter().enumerate() {
        let (kind, text) = (address["type"].text(), address["address"].text());
        if !seen.insert((kind, text)) {
            let path = Path::new("status").child("addresses").index(i);
            let mut error = field::duplicate(&path, address);
            error.value = Some(format!("{{\"Type\":\"{kind}\",\"Address\":\"{text}\"}}"));
            errors.push(error);
        }
    }
    let path = Path::new("spec");
    let (after, before) = (
        new["spec"]["podCIDRs"].items(),
        old["spec"]["podCIDRs"].items(),
    );
    let message = "node updates may not change podCIDR except from \"\" to valid";
    if !before.is_empty() && before.len() != after.len() {
        errors.push(field::forbidden(&path.child("podCIDRs"), message));
    } else {
        for _ in before.iter().zip(after).filter(|(b, a)| a != b) {
            errors.push(field::forbidden(&path.child("podCIDRs"), message));
        }
    }
    let (id, known) = (&new["spec"]["providerID"], &old["spec"]["providerID"]);
    if !known.is_blank() && id != known {
        let message = "node updates may not change providerID except from \"\" to valid";
        errors.push(field::forbidden(&path.child("providerID"), message));
    }
    validate_taints(new, &mut errors);
    if new["spec"]["externalID"].text() != old["spec"]["externalID"].text() {
        errors.push(field::forbidden(
            &path.child("externalID"),
            "may not be updated",
        ));
    }
    errors
}

fn validate_taints(node: &Value, errors: &mut ErrorList) {
    let mut seen = BTreeSet::new();
    for (i, taint) in node["spec"]["taints"].items().iter().enumerate() {
        let path = Path::new("metadata").child("taints").index(i);
        let (key, value) = (taint["key"].text(), taint["value"].text());
        checks::qualified_name(key, &path.child("key"), errors);
        let found = names::is_label_value(value);
        if !found.is_empty() {
            errors.push(field::invalid_str(
                &path.child("value"),
                value,
                found.join(";"),
            ));
        }
        scheduling::validate_taint_effect(&taint["effect"], &path.child("effect"), errors);
        let effect = taint["effect"].text();
        if !seen.insert((effect, key)) {
            let mut error = field::duplicate(&path, taint);
            error.value = Some(format!(
                "{{\"Key\":\"{key}\",\"Value\":\"{value}\",\"Effect\":\"{effect}\",\"TimeAdded\":{}}}",
                taint["timeAdded"]
            ));
            error.detail = "taints must be unique by key and effect pair".to_owned();
            errors.push(error);
        }
    }
}

fn validate_resources(node: &Value, errors: &mut ErrorList) {
    for list in ["capacity", "allocatable"] {
        for (name, value) in node["status"][list].entries() {
            if let Some(q) = resources::quantity(value) {
                let path = Path::new("status").child(list).child(name);
                resources::validate_value(name, &q, &path, errors);
            }
        }
    }
}

fn warnings(node: &Value) -> Vec<String> {
    let mut out = Vec::new();
    if node["spec"]["configSource"].is_set() {
        out.push("spec.configSource: the feature is removed".to_owned());
    }
    if !node["spec"]["externalID"].is_blank() {
        out.push(
            "spec.externalID: this field is deprecated, and is unused by Kubernetes".to_owned(),
        );
    }
    out
}
