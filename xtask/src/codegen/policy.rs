//! Renders the table of `kubewright-rbac`: the policy of a new cluster, an object on each line.
//!
//! The columns are separated by tabs, which JSON does not contain: kind, namespace, name, annotations, labels, the fields
//! that the server manages, those that the aggregation controller manages, and the rest of the object.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use super::facts::{Facts, Policy};

const ROOT: &str = "//! The policy of a new cluster.

/// An object on each line, in columns.
pub(crate) static POLICY: &str = include_str!(\"policy.tsv\");
";

/// The files, by name.
pub(crate) fn render(facts: &Facts) -> Result<BTreeMap<String, String>> {
    Ok(BTreeMap::from([
        ("mod.rs".into(), ROOT.into()),
        ("policy.tsv".into(), render_policy(&facts.policy)?),
    ]))
}

fn render_policy(policy: &Policy) -> Result<String> {
    let lists = [
        &policy.cluster_roles,
        &policy.cluster_role_bindings,
        &policy.roles,
        &policy.role_bindings,
    ];
    let mut out = String::new();
    for object in lists.into_iter().flatten() {
        writeln!(out, "{}", row(object)?)?;
    }
    Ok(out)
}

fn row(object: &Value) -> Result<String> {
    let mut rest = object.as_object().context("an object")?.clone();
    rest.remove("apiVersion");
    let kind = rest.remove("kind").context("a kind")?;
    let metadata = rest.remove("metadata").context("metadata")?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let is_aggregated = rest.contains_key("aggregationRule");
    let applied = match is_aggregated {
        true => json!({"f:rules": {}}).to_string(),
        false => String::new(),
    };
    let columns = [
        text(&kind),
        text(&metadata["namespace"]),
        text(&metadata["name"]),
        metadata["annotations"].to_string(),
        metadata["labels"].to_string(),
        Value::Object(managed(&metadata, &rest)).to_string(),
        applied,
        inner(&Value::Object(rest)),
    ];
    Ok(columns.join("\t"))
}

/// Returns the fields that the creator of an object manages. Its lists and references are atomic.
fn managed(metadata: &Value, rest: &Map<String, Value>) -> Map<String, Value> {
    let entries = |key: &str| {
        let mut fields = Map::from_iter([(".".to_owned(), json!({}))]);
        let names = metadata[key].as_object().into_iter().flat_map(Map::keys);
        fields.extend(names.map(|name| (format!("f:{name}"), json!({}))));
        fields
    };
    let mut fields = Map::from_iter([(
        "f:metadata".to_owned(),
        json!({"f:annotations": entries("annotations"), "f:labels": entries("labels")}),
    )]);
    for key in rest.keys() {
        let owned = match key.as_str() {
            "aggregationRule" => json!({".": {}, "f:clusterRoleSelectors": {}}),
            "rules" if rest.contains_key("aggregationRule") => continue,
            _ => json!({}),
        };
        fields.insert(format!("f:{key}"), owned);
    }
    fields
}

/// Returns the text of an object without its braces.
fn inner(object: &Value) -> String {
    let text = object.to_string();
    text.trim_start_matches('{')
        .strip_suffix('}')
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_aggregated_role_is_managed_by_two() {
        let role = json!({
            "kind": "ClusterRole", "apiVersion": "rbac.authorization.k8s.io/v1",
            "metadata": {"name": "view", "annotations": {"a": "1"}, "labels": {"b": "2"}},
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"c": "3"}}]},
            "rules": [{"verbs": ["get"]}],
        });
        let expected = [
            "ClusterRole",
            "",
            "view",
            r#"{"a":"1"}"#,
            r#"{"b":"2"}"#,
            r#"{"f:aggregationRule":{".":{},"f:clusterRoleSelectors":{}},"f:metadata":{"f:annotations":{".":{},"f:a":{}},"f:labels":{".":{},"f:b":{}}}}"#,
            r#"{"f:rules":{}}"#,
            r#""aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"c":"3"}}]},"rules":[{"verbs":["get"]}]"#,
        ];
        assert_eq!(row(&role).unwrap(), expected.join("\t"));
    }
}
