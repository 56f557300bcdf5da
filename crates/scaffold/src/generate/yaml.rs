//! Objects as YAML, in the form that Go's tools write: keys sorted, `---` before each document.

use kubewright_apiserver::respond::yaml::try_to_yaml;
use serde_json::Value;

use crate::Refusal;

/// Objects, each as a document.
pub(super) fn documents<'a>(
    objects: impl IntoIterator<Item = &'a Value>,
) -> Result<String, Refusal> {
    let mut out = String::new();
    for object in objects {
        out += "---\n";
        out += &printed(object)?;
    }
    Ok(out)
}

/// One object, without the line before it.
pub(super) fn printed(object: &Value) -> Result<String, Refusal> {
    try_to_yaml(object).map_err(|e| {
        let name = super::model::text(&object["metadata"]["name"]);
        Refusal::new(
            format_args!("{name:?} cannot be written as YAML: {e}"),
            "remove the character from its description",
        )
    })
}
