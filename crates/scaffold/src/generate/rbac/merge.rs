//! Permissions made few: the rules by which controller-gen merges its markers.
//!
//! Every rule is split to one resource. Then those that differ in one thing only become one: in their verbs, in their
//! resources, in their groups, in their URLs, in this order. One difference is chosen: where controller-gen merges groups to
//! a pair of rules that differ in nothing but verbs, it keeps either of them by chance; here both stay.

use super::super::model::Rule;

/// The same permissions in few rules, sorted.
pub(super) fn merged(rules: &[Rule]) -> Vec<Rule> {
    let mut all: Vec<Rule> = rules.iter().flat_map(split).collect();
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

/// One resource each, sorted lists, and the core group by its real name.
fn split(rule: &Rule) -> Vec<Rule> {
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
    let one = |resource: &String| Rule {
        resources: vec![resource.clone()],
        ..rule.clone()
    };
    match rule.resources.is_empty() {
        true => vec![rule],
        false => rule.resources.iter().map(one).collect(),
    }
}

/// Rules that are the same in some parts become one, with the other part of them all.
fn joined(
    rules: Vec<Rule>,
    same: fn(&Rule) -> [&Vec<String>; 4],
    other: fn(&mut Rule) -> &mut Vec<String>,
) -> Vec<Rule> {
    let mut out: Vec<Rule> = Vec::new();
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

/// What rules are sorted by.
fn key(rule: &Rule) -> String {
    [
        &rule.api_groups,
        &rule.resources,
        &rule.resource_names,
        &rule.urls,
    ]
    .map(|list| list.join("&"))
    .join(" + ")
}
