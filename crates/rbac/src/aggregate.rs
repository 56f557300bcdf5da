//! Roles that are made of others.

use std::collections::HashSet;

use kubewright_machinery::labels::{LabelSelector, SelectorError};
use serde_json::Value;

use crate::PolicyRule;

/// A cluster role that may be part of an aggregated one.
#[derive(Clone, Copy, Debug)]
pub struct AggregatedRole<'a> {
    /// The name.
    pub name: &'a str,
    /// The labels: `metadata.labels`.
    pub labels: &'a Value,
    /// The rules.
    pub rules: &'a [PolicyRule],
}

/// Returns the rules of all aggregated roles: those of the roles that its selectors match, selector by selector, each once.
/// `roles` must be in the order of their names. Each comes with its field `aggregationRule`, or `null` if it is made of no
/// others.
///
/// Aggregated roles can be parts of others: a role has the rules that its parts are going to have, not those that they have
/// now. Roles that are parts of each other have the rules of the other roles among their parts, and no more. A role whose
/// selectors match no other role is a part with the rules that it has now.
///
/// ```
/// use kubewright_rbac::{AggregatedRole, PolicyRule, aggregate};
/// use serde_json::{Value, json};
///
/// let rules = [PolicyRule { verbs: vec!["get".into()], ..PolicyRule::default() }];
/// let labelled = |to: &str| json!({to: "true"});
/// let (view, edit, nothing) = (labelled("to-edit"), json!({}), Value::Null);
/// let part = labelled("to-view");
/// let of = |from: &str| json!({"clusterRoleSelectors": [{"matchLabels": {from: "true"}}]});
/// let (from_view, from_edit) = (of("to-view"), of("to-edit"));
/// let all = aggregate(&[
///     (AggregatedRole { name: "edit", labels: &edit, rules: &[] }, &from_edit),
///     (AggregatedRole { name: "part", labels: &part, rules: &rules }, &nothing),
///     (AggregatedRole { name: "view", labels: &view, rules: &[] }, &from_view),
/// ]);
/// assert_eq!(all.len(), 2);
/// assert_eq!(all[0], ("edit", Ok(vec![&rules[0]])));
/// assert_eq!(all[1], ("view", Ok(vec![&rules[0]])));
/// ```
///
/// # Errors
///
/// A role with an invalid selector has an error in place of rules.
pub fn aggregate<'a>(
    roles: &[(AggregatedRole<'a>, &'a Value)],
) -> Vec<(&'a str, Result<Vec<&'a PolicyRule>, SelectorError>)> {
    let parts: Vec<AggregatedRole<'a>> = roles.iter().map(|(role, _)| *role).collect();
    let aggregated = roles.iter().enumerate().filter(|(_, (_, a))| !a.is_null());
    let selections: Vec<(usize, Result<Vec<usize>, SelectorError>)> = aggregated
        .map(|(i, (role, aggregation))| (i, select(role.name, aggregation, &parts)))
        .collect();
    let mut rules: Vec<Vec<&'a PolicyRule>> = parts
        .iter()
        .map(|role| role.rules.iter().collect())
        .collect();
    let made_of_others: Vec<(usize, &[usize])> = selections
        .iter()
        .filter_map(|(i, selected)| Some((*i, selected.as_deref().ok()?)))
        .filter(|(_, selected)| !selected.is_empty())
        .collect();
    for (i, _) in &made_of_others {
        rules[*i].clear();
    }
    // Rules travel along chains of parts, which are no longer than the number of aggregated roles.
    for _ in 0..=made_of_others.len() {
        let mut changed = false;
        for (i, selected) in &made_of_others {
            let gathered = union(selected.iter().map(|part| rules[*part].iter().copied()));
            changed |= gathered != rules[*i];
            rules[*i] = gathered;
        }
        if !changed {
            break;
        }
    }
    let gathered = |i: usize, selected: Vec<usize>| match selected.as_slice() {
        [] => Vec::new(),
        _ => rules[i].clone(),
    };
    selections
        .into_iter()
        .map(|(i, selected)| (parts[i].name, selected.map(|parts| gathered(i, parts))))
        .collect()
}

/// Returns the roles that the selectors of an aggregated role match, selector by selector.
fn select(
    name: &str,
    aggregation: &Value,
    roles: &[AggregatedRole<'_>],
) -> Result<Vec<usize>, SelectorError> {
    let mut selected = Vec::new();
    let selectors = aggregation["clusterRoleSelectors"].as_array();
    for selector in selectors.into_iter().flatten() {
        let selector = LabelSelector::from_label_selector(selector)?;
        let matching = roles.iter().enumerate().filter(|(_, role)| {
            role.name != name && selector.matches(|label| role.labels[label].as_str())
        });
        selected.extend(matching.map(|(i, _)| i));
    }
    Ok(selected)
}

/// Returns each rule once, in the order of its first appearance.
fn union<'a>(
    lists: impl IntoIterator<Item = impl IntoIterator<Item = &'a PolicyRule>>,
) -> Vec<&'a PolicyRule> {
    let mut seen = HashSet::new();
    let rules = lists.into_iter().flatten();
    rules.filter(|rule| seen.insert(*rule)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rule(verb: &str) -> PolicyRule {
        PolicyRule {
            verbs: vec![verb.to_owned()],
            ..PolicyRule::default()
        }
    }

    #[test]
    fn rules_come_in_the_order_of_selectors_then_of_names_and_once() {
        let (a, b) = (json!({"a": "1"}), json!({"b": "1", "both": "1"}));
        let (first, second) = ([rule("get"), rule("list")], [rule("list"), rule("watch")]);
        let roles = [
            AggregatedRole {
                name: "one",
                labels: &a,
                rules: &first,
            },
            AggregatedRole {
                name: "self",
                labels: &b,
                rules: &[],
            },
            AggregatedRole {
                name: "two",
                labels: &b,
                rules: &second,
            },
        ];
        let nothing = Value::Null;
        let aggregated = |selectors: Value| {
            let aggregation = json!({"clusterRoleSelectors": selectors});
            let [one, itself, two] = roles;
            let roles = [(one, &nothing), (itself, &aggregation), (two, &nothing)];
            verbs(&aggregate(&roles), "self").unwrap()
        };
        let (a, b) = (
            json!({"matchLabels": {"a": "1"}}),
            json!({"matchExpressions": [{"key": "b", "operator": "Exists"}]}),
        );
        assert_eq!(aggregated(json!([a, b])), "get list watch");
        assert_eq!(aggregated(json!([b, a])), "list watch get");
        assert_eq!(aggregated(json!([{}])), "get list watch");
        assert_eq!(aggregated(json!([])), "");
    }

    /// Returns the verbs of a role among the aggregated rules.
    fn verbs(
        all: &[(&str, Result<Vec<&PolicyRule>, SelectorError>)],
        name: &str,
    ) -> Option<String> {
        let (_, rules) = all.iter().find(|(role, _)| *role == name)?;
        let rules = rules.as_ref().ok()?;
        let verbs: Vec<&str> = rules.iter().map(|rule| rule.verbs[0].as_str()).collect();
        Some(verbs.join(" "))
    }

    fn labelled(label: &str) -> Value {
        json!({label: "1"})
    }

    fn of(labels: &[&str]) -> Value {
        let selectors = labels
            .iter()
            .map(|label| json!({"matchLabels": {*label: "1"}}));
        json!({"clusterRoleSelectors": selectors.collect::<Vec<_>>()})
    }

    #[test]
    fn chains_of_roles_are_aggregated_in_any_order_of_names() {
        let labels: Vec<Value> = (0..6).map(|i| labelled(&format!("l{i}"))).collect();
        let from: Vec<Value> = (0..5).map(|i| of(&[&format!("l{}", i + 1)])).collect();
        let (leaf, nothing) = ([rule("get"), rule("list")], Value::Null);
        for backwards in [false, true] {
            let names: Vec<String> = (0..6)
                .map(|i| format!("r{}", if backwards { 5 - i } else { i }))
                .collect();
            let mut roles: Vec<(AggregatedRole<'_>, &Value)> = (0..6)
                .map(|i| {
                    let role = AggregatedRole {
                        name: &names[i],
                        labels: &labels[i],
                        rules: if i == 5 { &leaf } else { &[] },
                    };
                    (role, from.get(i).unwrap_or(&nothing))
                })
                .collect();
            roles.sort_by_key(|(role, _)| role.name);
            let all = aggregate(&roles);
            assert_eq!(all.len(), 5);
            for (name, _) in &all {
                assert_eq!(verbs(&all, name).as_deref(), Some("get list"));
            }
        }
    }

    #[test]
    fn roles_that_are_parts_of_each_other_have_the_rules_of_others_only() {
        let labels: Vec<Value> = ["a", "b", "c", "leaf"].map(labelled).into();
        let (own, leaf) = ([[rule("x")], [rule("y")], [rule("z")]], [rule("get")]);
        let nothing = Value::Null;
        // In a circle, rules that a role had before would be passed on forever.
        let circle = [of(&["b"]), of(&["c"]), of(&["a", "leaf"])];
        let role = |i: usize, name: &'static str| AggregatedRole {
            name,
            labels: &labels[i],
            rules: own.get(i).unwrap_or(&leaf),
        };
        let roles = [
            (role(0, "a"), &circle[0]),
            (role(1, "b"), &circle[1]),
            (role(2, "c"), &circle[2]),
            (role(3, "leaf"), &nothing),
        ];
        let all = aggregate(&roles);
        for name in ["a", "b", "c"] {
            assert_eq!(verbs(&all, name).as_deref(), Some("get"), "{name}");
        }
        let without_leaf = aggregate(&roles[..3]);
        assert_eq!(verbs(&without_leaf, "a").as_deref(), Some(""));
    }

    #[test]
    fn one_invalid_selector_does_not_spoil_other_roles() {
        let (labels, leaf, nothing) = (labelled("l"), [rule("get")], Value::Null);
        let none = json!({});
        let odd = json!({"clusterRoleSelectors": [
            {"matchExpressions": [{"key": "b", "operator": "Resembles"}]},
        ]});
        let good = of(&["l"]);
        let role = |name, rules| AggregatedRole {
            name,
            labels: &none,
            rules,
        };
        let part = AggregatedRole {
            name: "part",
            labels: &labels,
            rules: &leaf,
        };
        let all = aggregate(&[
            (role("bad", &[]), &odd),
            (role("good", &[]), &good),
            (part, &nothing),
        ]);
        assert!(all[0].1.is_err());
        assert_eq!(verbs(&all, "good").as_deref(), Some("get"));
    }

    #[test]
    fn ten_thousand_rules_are_gathered_once_each() {
        let (labels, none, nothing) = (labelled("l"), json!({}), Value::Null);
        let rules: Vec<PolicyRule> = (0..10_000).map(|i| rule(&format!("v{}", i / 2))).collect();
        let from = of(&["l", "l"]);
        let all = aggregate(&[
            (
                AggregatedRole {
                    name: "all",
                    labels: &none,
                    rules: &[],
                },
                &from,
            ),
            (
                AggregatedRole {
                    name: "part",
                    labels: &labels,
                    rules: &rules,
                },
                &nothing,
            ),
        ]);
        assert_eq!(all[0].1.as_ref().map(Vec::len), Ok(5_000));
    }
}
