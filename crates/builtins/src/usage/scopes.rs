//! Scopes: the objects that a quota applies to.

use kubewright_machinery::json::Read;
use serde_json::Value;

/// A condition on the objects of a quota.
///
/// ```
/// use kubewright_builtins::usage::Selector;
/// use serde_json::json;
///
/// let quota = json!({"scopeSelector": {"matchExpressions": [
///     {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]},
/// ]}});
/// let selectors = Selector::all_of(&quota);
/// assert!(selectors[0].selects(Some("high")));
/// assert!(!selectors[0].selects(None));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// The scope, such as `PriorityClass`.
    pub scope: String,
    /// The operator: `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    values: Vec<String>,
}

impl Selector {
    /// Returns every condition of a quota's spec.
    pub fn all_of(spec: &Value) -> Vec<Self> {
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

    /// Returns whether it selects objects with this value in its scope; `None` means no value.
    pub fn selects(&self, name: Option<&str>) -> bool {
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
