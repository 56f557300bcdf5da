//! Roles and cluster roles.

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    labels::LabelSelector,
};
use serde_json::Value;

use crate::{KindRules, checks, json::Read, meta};

pub(crate) static RULES: KindRules = KindRules {
    validate_create: |role| validate(role, true),
    validate_update: |new, old| validate_update(new, old, true),
    allow_create_on_update: true,
    ..KindRules::GENERAL
};

pub(crate) static CLUSTER_RULES: KindRules = KindRules {
    validate_create: |role| validate(role, false),
    validate_update: |new, old| validate_update(new, old, false),
    ..RULES
};

fn validate(role: &Value, namespaced: bool) -> ErrorList {
    let mut errors = meta::validate(role, namespaced, meta::path_name);
    for (i, rule) in role["rules"].items().iter().enumerate() {
        validate_rule(rule, namespaced, &Path::new("rules").index(i), &mut errors);
    }
    let aggregation = &role["aggregationRule"];
    if !namespaced && aggregation.is_set() {
        let path = Path::new("aggregationRule").child("clusterRoleSelectors");
        let selectors = aggregation["clusterRoleSelectors"].items();
        if selectors.is_empty() {
            let message = "at least one clusterRoleSelector required if aggregationRule is non-nil";
            errors.push(field::required(&path, message));
        }
        for (i, selector) in selectors.iter().enumerate() {
            let path = path.index(i);
            checks::selector(selector, &path, &mut errors);
            if LabelSelector::from_label_selector(selector).is_err() {
                errors.push(field::invalid(
                    &path,
                    &Value::Null,
                    "invalid label selector.",
                ));
            }
        }
    }
    errors
}

fn validate_update(new: &Value, old: &Value, namespaced: bool) -> ErrorList {
    let mut errors = meta::common(new, old, namespaced);
    errors.extend(validate(new, namespaced));
    errors.extend(meta::validate_update(new, old));
    errors
}

fn validate_rule(rule: &Value, namespaced: bool, path: &Path, errors: &mut ErrorList) {
    if rule["verbs"].is_blank() {
        errors.push(field::required(
            &path.child("verbs"),
            "verbs must contain at least one value",
        ));
    }
    let urls = &rule["nonResourceURLs"];
    if !urls.is_blank() {
        let path = path.child("nonResourceURLs");
        if namespaced {
            let message = "namespaced rules cannot apply to non-resource URLs";
            errors.push(field::invalid(&path, urls, message));
        }
        if ["apiGroups", "resources", "resourceNames"]
            .iter()
            .any(|f| !rule[*f].is_blank())
        {
            let message = "rules cannot apply to both regular resources and non-resource URLs";
            errors.push(field::invalid(&path, urls, message));
        }
        return;
    }
    if rule["apiGroups"].is_blank() {
        let message = "resource rules must supply at least one api group";
        errors.push(field::required(&path.child("apiGroups"), message));
    }
    if rule["resources"].is_blank() {
        let message = "resource rules must supply at least one resource";
        errors.push(field::required(&path.child("resources"), message));
    }
}
