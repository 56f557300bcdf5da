//! Merges permissions into few rules, as controller-gen merges its markers.
//!
//! Every rule is split into one per resource. Rules that differ in only one respect are then merged: first in verbs, then in
//! resources, groups and URLs. There is one deliberate difference: where merging by group yields two rules that differ only
//! in verbs, controller-gen keeps one of them at random; here both are kept.

use kubewright_operator::PolicyRule;

/// Returns the same permissions in few rules, sorted.
pub(super) fn merged(rules: &[PolicyRule]) -> Vec<PolicyRule> {
    let mut all: Vec<PolicyRule> = rules.iter().flat_map(split).collect();
    all = joined(
        all,
        |r| [&r.api_groups, &r.resources, &r.resource_names, &r.urls],
        |r| &mut r.verbs,
    );
    all = joined(
        all,
        |r| [&r.api_groups, &r.resource_names, &r.urls, &r.verbs],
        |r| &mut r.resources,
    );
    all = joined(
        all,
        |r| [&r.resources, &r.resource_names, &r.urls, &r.verbs],
        |r| &mut r.api_groups,
    );
    all = joined(
        all,
        |r| [&r.api_groups, &r.resources, &r.resource_names, &r.verbs],
        |r| &mut r.urls,
    );
    for rule in &mut all {
        if rule.verbs.iter().any(|verb| verb == "*") {
            rule.verbs = vec!["*".to_owned()];
        }
    }
    all.sort_by_cached_key(|rule| (key(rule), rule.verbs.clone()));
    all
}

/// Splits a rule into one per resource, with sorted lists and an empty name for the core group.
fn split(rule: &PolicyRule) -> Vec<PolicyRule> {
    let mut rule = rule.clone();
    for group in &mut rule.api_groups {
        if group == "core" {
            group.clear();
        }
    }
    for list in [
        &mut rule.api_groups,
        &mut rule.resources,
        &mut rule.resource_names,
        &mut rule.urls,
        &mut rule.verbs,
    ] {
        list.sort();
        list.dedup();
    }
    let one = |resource: &String| PolicyRule {
        resources: vec![resource.clone()],
        ..rule.clone()
    };
    match rule.resources.is_empty() {
        true => vec![rule],
        false => rule.resources.iter().map(one).collect(),
    }
}

/// Merges rules that are equal in `same`, concatenating their `other`.
fn joined(
    rules: Vec<PolicyRule>,
    same: fn(&PolicyRule) -> [&Vec<String>; 4],
    other: fn(&mut PolicyRule) -> &mut Vec<String>,
) -> Vec<PolicyRule> {
    let mut out: Vec<PolicyRule> = Vec::new();
    for mut rule in rules {
        match out.iter_mut().find(|known| same(known) == same(&rule)) {
            Some(known) => {
                let list = other(known);
                list.append(other(&mut rule));
                list.sort();
                list.dedup();
            }
            None => out.push(rule),
        }
    }
    out
}

/// Returns the sort key of a rule.
fn key(rule: &PolicyRule) -> String {
    [
        &rule.api_groups,
        &rule.resources,
        &rule.resource_names,
        &rule.urls,
    ]
    .map(|list| list.join("&"))
    .join(" + ")
}
