//! Objects of the policy in a cluster that has them already: missing rules are added, and none are removed.

use serde_json::{Map, Value, json};

use crate::{PolicyRule, Uncovered, uncovered};

/// The annotation that keeps an object from being reconciled if it is `false`.
const AUTO_UPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";

/// The outcome of reconciling an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Reconciled {
    /// Nothing: it is complete, or must not be touched.
    Unchanged,
    /// It is replaced by this object.
    Updated(Value),
    /// It is deleted and recreated, since its role cannot be changed.
    Recreated,
}

/// Adds to a role the labels, annotations, rules and selectors that are missing. An aggregation rule that is not expected is
/// removed.
///
/// ```
/// use kubewright_rbac::{Reconciled, reconcile_role};
/// use serde_json::json;
///
/// let rule = |verb: &str| json!({"verbs": [verb], "apiGroups": [""], "resources": ["pods"]});
/// let existing = json!({"metadata": {"name": "a"}, "rules": [rule("list")]});
/// let expected = json!({"metadata": {"name": "a"}, "rules": [rule("get")]});
/// let Reconciled::Updated(role) = reconcile_role(&existing, &expected) else { panic!() };
/// assert_eq!(role["rules"].as_array().map(Vec::len), Some(2));
/// assert_eq!(reconcile_role(&role, &expected), Reconciled::Unchanged);
/// ```
pub fn reconcile_role(existing: &Value, expected: &Value) -> Reconciled {
    if is_protected(existing) {
        return Reconciled::Unchanged;
    }
    let mut role = existing.clone();
    let mut changed = merge_metadata(&mut role, expected);
    let missing = match uncovered(&rules(existing), &rules(expected)) {
        Uncovered::Rules(missing) => missing,
        Uncovered::TooMany => rules(expected),
    };
    if !missing.is_empty() {
        append(&mut role, "rules", missing.iter().map(|rule| json!(rule)));
        changed = true;
    }
    let selectors = |role: &Value| match &role["aggregationRule"]["clusterRoleSelectors"] {
        Value::Array(selectors) => selectors.clone(),
        _ => Vec::new(),
    };
    let known = selectors(existing);
    let wanted = selectors(expected).into_iter();
    let missing: Vec<Value> = wanted.filter(|s| !known.contains(s)).collect();
    if expected["aggregationRule"].is_null() && !existing["aggregationRule"].is_null() {
        if let Value::Object(fields) = &mut role {
            fields.remove("aggregationRule");
        }
        changed = true;
    } else if !missing.is_empty() {
        let selectors = [known, missing].concat();
        role["aggregationRule"] = json!({"clusterRoleSelectors": selectors});
        changed = true;
    }
    outcome(role, changed)
}

/// Adds to a binding the labels, annotations and subjects that are missing. One with another role is recreated.
///
/// ```
/// use kubewright_rbac::{Reconciled, reconcile_binding};
/// use serde_json::json;
///
/// let binding = |role: &str, subjects: serde_json::Value| {
///     json!({"metadata": {"name": "a"}, "roleRef": {"name": role}, "subjects": subjects})
/// };
/// let expected = binding("view", json!([{"kind": "User", "name": "ali"}]));
/// assert_eq!(reconcile_binding(&binding("edit", json!([])), &expected), Reconciled::Recreated);
/// assert_eq!(reconcile_binding(&binding("view", json!([])), &expected), Reconciled::Updated(expected));
/// ```
pub fn reconcile_binding(existing: &Value, expected: &Value) -> Reconciled {
    if is_protected(existing) {
        return Reconciled::Unchanged;
    }
    if existing["roleRef"] != expected["roleRef"] {
        return Reconciled::Recreated;
    }
    let mut binding = existing.clone();
    let mut changed = merge_metadata(&mut binding, expected);
    let known = existing["subjects"].as_array();
    let is_known = |subject: &Value| known.is_some_and(|known| known.contains(subject));
    let wanted = expected["subjects"].as_array().into_iter().flatten();
    let missing: Vec<&Value> = wanted.filter(|subject| !is_known(subject)).collect();
    if !missing.is_empty() {
        append(&mut binding, "subjects", missing.into_iter().cloned());
        changed = true;
    }
    outcome(binding, changed)
}

fn outcome(object: Value, changed: bool) -> Reconciled {
    match changed {
        true => Reconciled::Updated(object),
        false => Reconciled::Unchanged,
    }
}

fn is_protected(existing: &Value) -> bool {
    existing["metadata"]["annotations"][AUTO_UPDATE] == "false"
}

fn rules(role: &Value) -> Vec<PolicyRule> {
    let rules = role["rules"].as_array().into_iter().flatten();
    rules
        .map(|rule| serde_json::from_value(rule.clone()).unwrap_or_default())
        .collect()
}

/// Adds missing labels and annotations; existing values win. Returns whether any was missing.
fn merge_metadata(object: &mut Value, expected: &Value) -> bool {
    let mut changed = false;
    for field in ["labels", "annotations"] {
        let Some(wanted) = expected["metadata"][field].as_object() else {
            continue;
        };
        let known = &mut object["metadata"][field];
        if !known.is_object() {
            *known = Value::Object(Map::new());
        }
        for (key, value) in wanted {
            if known[key].is_null() {
                known[key] = value.clone();
                changed = true;
            }
        }
    }
    changed
}

fn append(object: &mut Value, field: &str, items: impl Iterator<Item = Value>) {
    match &mut object[field] {
        Value::Array(list) => list.extend(items),
        other => *other = items.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(annotations: Value, rules: Value) -> Value {
        json!({"metadata": {"name": "r", "annotations": annotations}, "rules": rules})
    }

    fn rule(resources: &[&str]) -> Value {
        json!({"verbs": ["get"], "apiGroups": [""], "resources": resources})
    }

    #[test]
    fn rules_are_added_and_never_removed() {
        let existing = role(json!({}), json!([rule(&["a", "extra"])]));
        let expected = role(json!({}), json!([rule(&["a", "b"])]));
        let expected_result = role(json!({}), json!([rule(&["a", "extra"]), rule(&["b"])]));
        assert_eq!(
            reconcile_role(&existing, &expected),
            Reconciled::Updated(expected_result)
        );
        assert_eq!(
            reconcile_role(&existing, &role(json!({}), json!([rule(&["a"])]))),
            Reconciled::Unchanged
        );
    }

    #[test]
    fn existing_annotations_win_and_can_protect_the_object() {
        let existing = role(json!({"x": "mine"}), json!(null));
        let expected = role(json!({"x": "theirs", "y": "1"}), json!(null));
        assert_eq!(
            reconcile_role(&existing, &expected),
            Reconciled::Updated(role(json!({"x": "mine", "y": "1"}), json!(null)))
        );
        let existing = role(json!({AUTO_UPDATE: "false"}), json!(null));
        let expected = role(json!({}), json!([rule(&["a"])]));
        assert_eq!(reconcile_role(&existing, &expected), Reconciled::Unchanged);
    }

    #[test]
    fn selectors_are_added_and_an_unexpected_aggregation_is_dropped() {
        let aggregated = |selectors: Value| json!({"metadata": {}, "aggregationRule": {"clusterRoleSelectors": selectors}});
        let (a, b) = (
            json!({"matchLabels": {"a": "1"}}),
            json!({"matchLabels": {"b": "1"}}),
        );
        assert_eq!(
            reconcile_role(&aggregated(json!([a])), &aggregated(json!([b, a]))),
            Reconciled::Updated(aggregated(json!([a, b])))
        );
        let plain = json!({"metadata": {}});
        assert_eq!(
            reconcile_role(&aggregated(json!([a])), &plain),
            Reconciled::Updated(plain.clone())
        );
        assert_eq!(
            reconcile_role(&plain, &aggregated(json!([a]))),
            Reconciled::Updated(aggregated(json!([a])))
        );
    }

    #[test]
    fn a_protected_binding_is_not_recreated() {
        let binding = |role: &str, annotation: &str| {
            json!({
                "metadata": {"annotations": {AUTO_UPDATE: annotation}},
                "roleRef": {"name": role},
            })
        };
        let (existing, expected) = (binding("a", "false"), binding("b", "true"));
        assert_eq!(
            reconcile_binding(&existing, &expected),
            Reconciled::Unchanged
        );
        assert_eq!(
            reconcile_binding(&binding("a", "true"), &expected),
            Reconciled::Recreated
        );
    }
}
