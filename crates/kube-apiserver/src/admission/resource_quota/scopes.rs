//! Scopes: the part of a namespace's objects that a quota is for.

use kubewright_machinery::json::Read;
use serde_json::Value;

/// One condition on the objects of a quota.
pub(super) struct Selector {
    /// `PriorityClass`
    pub(super) scope: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub(super) operator: String,
    values: Vec<String>,
}

impl Selector {
    /// Every condition of a quota's spec.
    pub(super) fn all_of(spec: &Value) -> Vec<Self> {
        let plain = spec["scopes"].items().iter().map(|scope| Self {
            scope: scope.text().to_owned(),
            operator: "Exists".to_owned(),
            values: Vec::new(),
        });
        let expressions = spec["scopeSelector"]["matchExpressions"].items().iter();
        let expressions = expressions.map(|expression| Self {
            scope: expression["scopeName"].text().to_owned(),
            operator: expression["operator"].text().to_owned(),
            values: expression["values"]
                .items()
                .iter()
                .map(|v| v.text().to_owned())
                .collect(),
        });
        plain.chain(expressions).collect()
    }

    /// Whether it selects objects of this name in its scope; `None`: without one.
    pub(super) fn selects(&self, name: Option<&str>) -> bool {
        let listed = || name.is_some_and(|name| self.values.iter().any(|value| value == name));
        match self.operator.as_str() {
            "In" => listed(),
            "NotIn" => !listed(),
            "Exists" => name.is_some(),
            "DoesNotExist" => name.is_none(),
            _ => false,
        }
    }
}
