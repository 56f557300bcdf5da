//! Roles that are made of others.

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

/// Returns the rules of an aggregated role: those of all roles that its selectors match, each once. The roles must be in the
/// order of their names. `aggregation` is the field `aggregationRule` of the role.
///
/// ```
/// use kubewright_rbac::{AggregatedRole, PolicyRule, aggregate};
/// use serde_json::json;
///
/// let labels = json!({"to-view": "true"});
/// let rules = [PolicyRule { verbs: vec!["get".into()], ..PolicyRule::default() }];
/// let part = AggregatedRole { name: "part", labels: &labels, rules: &rules };
/// let aggregation = json!({"clusterRoleSelectors": [{"matchLabels": {"to-view": "true"}}]});
/// assert_eq!(aggregate("view", &aggregation, [part])?, rules);
/// # Ok::<(), kubewright_machinery::labels::SelectorError>(())
/// ```
///
/// # Errors
///
/// Fails if a selector is invalid.
pub fn aggregate<'a>(
    name: &str,
    aggregation: &Value,
    roles: impl IntoIterator<Item = AggregatedRole<'a>, IntoIter: Clone>,
) -> Result<Vec<PolicyRule>, SelectorError> {
    let roles = roles.into_iter();
    let mut rules: Vec<PolicyRule> = Vec::new();
    let selectors = aggregation["clusterRoleSelectors"].as_array();
    for selector in selectors.into_iter().flatten() {
        let selector = LabelSelector::from_label_selector(selector)?;
        let selected = roles.clone().filter(|role| {
            role.name != name && selector.matches(|label| role.labels[label].as_str())
        });
        for rule in selected.flat_map(|role| role.rules) {
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
    }
    Ok(rules)
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
        let aggregated = |selectors: Value| {
            let aggregation = json!({"clusterRoleSelectors": selectors});
            let rules = aggregate("self", &aggregation, roles).unwrap();
            let verbs = rules.into_iter().map(|mut rule| rule.verbs.remove(0));
            verbs.collect::<Vec<_>>().join(" ")
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

    #[test]
    fn an_invalid_selector_is_an_error() {
        let aggregation = json!({"clusterRoleSelectors": [
            {"matchExpressions": [{"key": "b", "operator": "Resembles"}]},
        ]});
        assert!(aggregate("x", &aggregation, []).is_err());
    }
}
