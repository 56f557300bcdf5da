//! Values as YAML.

use serde_json::Value;

/// A value as YAML text.
pub fn to_yaml(value: &Value) -> String {
    serde_saphyr::to_string(value).unwrap_or_default()
}
