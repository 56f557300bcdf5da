//! Validates scheduling constraints: node selectors, affinity, tolerations, spreading, gates.

use std::collections::{BTreeSet, HashMap};

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::{NameForm, names},
};
use serde_json::Value;

use crate::{checks, json::Read};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

pub(super) fn validate_affinity(affinity: &Value, path: &Path, errors: &mut ErrorList) {
    let node = &affinity["nodeAffinity"];
    let node_path = path.child("nodeAffinity");
    if node[REQUIRED].is_set() {
        validate_node_selector(&node[REQUIRED], &node_path.child(REQUIRED), errors);
    }
    for (i, term) in node[PREFERRED].items().iter().enumerate() {
        let path = node_path.child(PREFERRED).index(i);
        validate_weight(term, &path, errors);
        validate_node_term(
            &term["preference"],
            false,
            &path.child("preference"),
            errors,
        );
    }
    for side in ["podAffinity", "podAntiAffinity"] {
        let path = path.child(side);
        for (i, term) in affinity[side][REQUIRED].items().iter().enumerate() {
            validate_pod_term(term, &path.child(REQUIRED).index(i), errors);
        }
        for (i, term) in affinity[side][PREFERRED].items().iter().enumerate() {
            let path = path.child(PREFERRED).index(i);
            validate_weight(term, &path, errors);
            validate_pod_term(
                &term["podAffinityTerm"],
                &path.child("podAffinityTerm"),
                errors,
            );
        }
    }
}

/// Checks a selector of nodes, which must have terms.
pub(crate) fn validate_node_selector(selector: &Value, path: &Path, errors: &mut ErrorList) {
    let path = path.child("nodeSelectorTerms");
    let terms = selector["nodeSelectorTerms"].items();
    if terms.is_empty() {
        errors.push(field::required(
            &path,
            "must have at least one node selector term",
        ));
    }
    for (i, term) in terms.iter().enumerate() {
        validate_node_term(term, true, &path.index(i), errors);
    }
}

pub(crate) fn validate_tolerations(tolerations: &Value, path: &Path, errors: &mut ErrorList) {
    for (i, t) in tolerations.items().iter().enumerate() {
        let path = path.index(i);
        let (key, value, effect) = (t["key"].text(), t["value"].text(), t["effect"].text());
        let operator = t["operator"].text();
        let operator_path = path.child("operator");
        if !key.is_empty() {
            checks::qualified_name(key, &path.child("key"), errors);
        } else if operator != "Exists" {
            let message = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            errors.push(field::invalid_str(&operator_path, operator, message));
        }
        if t["tolerationSeconds"].is_set() && effect != "NoExecute" {
            let message = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            errors.push(field::invalid_str(&path.child("effect"), effect, message));
        }
        match operator {
            "Equal" | "" => {
                let found = names::is_label_value(value);
                if !found.is_empty() {
                    errors.push(field::invalid_str(&operator_path, value, found.join(";")));
                }
            }
            "Exists" if !value.is_empty() => {
                let message = "value must be empty when `operator` is 'Exists'";
                errors.push(field::invalid_str(&operator_path, value, message));
            }
            "Exists" => {}
            "Lt" | "Gt" => {
                let known = ["Equal", "Exists", "Lt", "Gt"];
                errors.push(field::not_supported(&operator_path, operator, &known));
            }
            _ => errors.push(field::not_supported(
                &operator_path,
                operator,
                &["Equal", "Exists"],
            )),
        }
        if !effect.is_empty() {
            validate_taint_effect(&t["effect"], &path.child("effect"), errors);
        }
    }
}

/// Checks the effect of a taint or a toleration.
pub(crate) fn validate_taint_effect(effect: &Value, path: &Path, errors: &mut ErrorList) {
    checks::one_of(
        effect,
        &["NoSchedule", "PreferNoSchedule", "NoExecute"],
        path,
        errors,
    );
}

pub(super) fn validate_spread(constraints: &Value, path: &Path, errors: &mut ErrorList) {
    let all = constraints.items();
    let pair = |c: &'_ Value| {
        (
            c["topologyKey"].text().to_owned(),
            c["whenUnsatisfiable"].text().to_owned(),
        )
    };
    let last: HashMap<(String, String), usize> = all.iter().map(pair).zip(0..).collect();
    for (i, c) in all.iter().enumerate() {
        let path = path.index(i);
        checks::positive(c["maxSkew"].int(), &path.child("maxSkew"), errors);
        if c["topologyKey"].is_blank() {
            errors.push(field::required(
                &path.child("topologyKey"),
                "can not be empty",
            ));
        }
        let action = c["whenUnsatisfiable"].text();
        if !matches!(action, "DoNotSchedule" | "ScheduleAnyway") {
            let known = ["DoNotSchedule", "ScheduleAnyway"];
            errors.push(field::not_supported(
                &path.child("whenUnsatisfiable"),
                action,
                &known,
            ));
        }
        if last.get(&pair(c)).is_some_and(|last| *last > i) {
            let pair = format!("{{{}, {action}}}", c["topologyKey"].text());
            let path = path.child("{topologyKey, whenUnsatisfiable}");
            errors.push(field::duplicate(&path, &pair.into()));
        }
        let domains = &c["minDomains"];
        if domains.is_set() {
            let path = path.child("minDomains");
            checks::positive(domains.int(), &path, errors);
            if action != "DoNotSchedule" {
                let message = format!(
                    "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
                );
                errors.push(field::invalid(&path, domains, message));
            }
        }
        for policy in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            checks::one_of_if_set(
                &c[policy],
                &["Honor", "Ignore"],
                &path.child(policy),
                errors,
            );
        }
        validate_label_keys(c, &path, errors);
        checks::selector(&c["labelSelector"], &path.child("labelSelector"), errors);
    }
}

pub(super) fn validate_gates(gates: &Value, path: &Path, errors: &mut ErrorList) {
    let mut seen = BTreeSet::new();
    for (i, gate) in gates.items().iter().enumerate() {
        let name = gate["name"].text();
        checks::qualified_name(name, &path.index(i), errors);
        if !seen.insert(name) {
            errors.push(field::duplicate(&path.index(i), &name.into()));
        }
    }
}

fn validate_weight(term: &Value, path: &Path, errors: &mut ErrorList) {
    if !(1..=100).contains(&term["weight"].int()) {
        let weight = term["weight"].int().into();
        errors.push(field::invalid(
            &path.child("weight"),
            &weight,
            "must be in the range 1-100",
        ));
    }
}

fn validate_node_term(term: &Value, check_values: bool, path: &Path, errors: &mut ErrorList) {
    for (i, e) in term["matchExpressions"].items().iter().enumerate() {
        validate_requirement(
            e,
            check_values,
            &path.child("matchExpressions").index(i),
            errors,
        );
    }
    for (i, e) in term["matchFields"].items().iter().enumerate() {
        validate_field_requirement(e, &path.child("matchFields").index(i), errors);
    }
}

fn validate_requirement(e: &Value, check_values: bool, path: &Path, errors: &mut ErrorList) {
    let values = e["values"].items();
    let values_path = path.child("values");
    match e["operator"].text() {
        "In" | "NotIn" if values.is_empty() => {
            let message = "must be specified when `operator` is 'In' or 'NotIn'";
            errors.push(field::required(&values_path, message));
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let message = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.push(field::forbidden(&values_path, message));
        }
        "Gt" | "Lt" if values.len() != 1 => {
            let message = "must be specified single value when `operator` is 'Lt' or 'Gt'";
            errors.push(field::required(&values_path, message));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        other => {
            let message = "not a valid selector operator";
            errors.push(field::invalid_str(&path.child("operator"), other, message));
        }
    }
    checks::qualified_name(e["key"].text(), &path.child("key"), errors);
    if check_values {
        for (i, v) in values.iter().enumerate() {
            checks::messages(
                v.text(),
                names::is_label_value(v.text()),
                &values_path.index(i),
                errors,
            );
        }
    }
}

fn validate_field_requirement(e: &Value, path: &Path, errors: &mut ErrorList) {
    let values = e["values"].items();
    match e["operator"].text() {
        "In" | "NotIn" => {
            if values.len() != 1 {
                let message = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
                errors.push(field::required(&path.child("values"), message));
            }
        }
        other => {
            let message = "not a valid selector operator";
            errors.push(field::invalid_str(&path.child("operator"), other, message));
        }
    }
    if e["key"] != "metadata.name" {
        let message = "not a valid field selector key";
        errors.push(field::invalid_str(
            &path.child("key"),
            e["key"].text(),
            message,
        ));
        return;
    }
    for (i, v) in values.iter().enumerate() {
        let found = names::name_is_dns_subdomain(v.text(), NameForm::Whole);
        checks::messages(v.text(), found, &path.child("values").index(i), errors);
    }
}

fn validate_pod_term(term: &Value, path: &Path, errors: &mut ErrorList) {
    checks::selector(&term["labelSelector"], &path.child("labelSelector"), errors);
    checks::selector(
        &term["namespaceSelector"],
        &path.child("namespaceSelector"),
        errors,
    );
    for name in term["namespaces"].items() {
        let found = names::name_is_dns_label(name.text(), NameForm::Whole);
        checks::messages(name.text(), found, &path.child("namespace"), errors);
    }
    validate_label_keys(term, path, errors);
    let key_path = path.child("topologyKey");
    if term["topologyKey"].is_blank() {
        errors.push(field::required(&key_path, "can not be empty"));
    }
    checks::qualified_name(term["topologyKey"].text(), &key_path, errors);
}

fn validate_label_keys(term: &Value, path: &Path, errors: &mut ErrorList) {
    let selector = &term["labelSelector"];
    for list in ["matchLabelKeys", "mismatchLabelKeys"] {
        let keys = term[list].items();
        if keys.is_empty() {
            continue;
        }
        let path = path.child(list);
        if !selector.is_set() {
            errors.push(field::forbidden(
                &path,
                "must not be specified when labelSelector is not set",
            ));
            continue;
        }
        for (i, key) in keys.iter().enumerate() {
            checks::qualified_name(key.text(), &path.index(i), errors);
        }
    }
    let keys = term["matchLabelKeys"].items();
    let mut selected: BTreeSet<&str> = selector["matchLabels"]
        .entries()
        .into_iter()
        .map(|e| e.0)
        .collect();
    for e in selector["matchExpressions"].items() {
        let key = e["key"].text();
        let position = keys.iter().rposition(|k| k == key);
        if let Some(i) = position.filter(|_| selected.contains(key)) {
            let message = "exists in both matchLabelKeys and labelSelector";
            errors.push(field::invalid_str(&path.index(i), key, message));
        }
        selected.insert(key);
    }
    for (i, key) in keys.iter().enumerate() {
        if term["mismatchLabelKeys"].items().contains(key) {
            let path = path.child("matchLabelKeys").index(i);
            let message = "exists in both matchLabelKeys and mismatchLabelKeys";
            errors.push(field::invalid(&path, key, message));
        }
    }
}
