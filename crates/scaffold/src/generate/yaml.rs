//! Writes objects as YAML like Go tools do: keys sorted, `---` before each document.

use kubewright_schema::yaml::to_yaml;
use serde_json::Value;

use crate::Error;

/// Returns the objects as YAML documents.
pub(super) fn documents<'a>(objects: impl IntoIterator<Item = &'a Value>) -> Result<String, Error> {
    let mut out = String::new();
    for object in objects {
        out += "---\n";
        out += &printed(object)?;
    }
    Ok(out)
}

/// Returns one object as YAML, without a leading `---`.
pub(super) fn printed(object: &Value) -> Result<String, Error> {
    to_yaml(object).map_err(|e| {
        let name = super::model::text(&object["metadata"]["name"]);
        Error::new(
            format_args!("{name:?} cannot be written as YAML: {e}"),
            "remove the character from its description",
        )
    })
}
