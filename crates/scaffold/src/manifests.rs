//! Reads manifests: streams of YAML documents, and JSON.

use kubewright_schema::{
    TypeError, parse_json,
    yaml::{YamlError, parse_yaml},
};
use serde_json::Value;
use thiserror::Error;

/// A text that is neither YAML nor JSON.
#[derive(Debug, Error)]
pub enum ManifestError {
    /// A document is not YAML.
    #[error(transparent)]
    Yaml(#[from] YamlError),
    /// A document has a number that does not fit a float.
    #[error(transparent)]
    Number(#[from] TypeError),
}

/// Returns the objects of a YAML stream or a JSON text, in order. A `List` counts as its items; empty documents are left out.
///
/// A document that begins with a brace is read as JSON if it is valid JSON: escapes such as `\\ud83d\\ude00` are allowed there
/// and not in YAML.
///
/// # Errors
///
/// Fails if a document is neither YAML nor JSON.
///
/// ```
/// let text = "kind: Ship\n---\nkind: List\nitems: [{kind: Captain}]";
/// let objects = kubewright_scaffold::parse_manifests(text)?;
/// assert_eq!(objects[1]["kind"], "Captain");
/// # Ok::<(), kubewright_scaffold::ManifestError>(())
/// ```
pub fn parse_manifests(text: &str) -> Result<Vec<Value>, ManifestError> {
    let mut objects = Vec::new();
    for document in documents(text) {
        match parse(&document)? {
            Value::Null => {}
            Value::Object(mut list) if list.get("kind").is_some_and(|kind| kind == "List") => {
                if let Some(Value::Array(items)) = list.remove("items") {
                    objects.extend(items);
                }
            }
            object => objects.push(object),
        }
    }
    Ok(objects)
}

fn parse(document: &str) -> Result<Value, ManifestError> {
    let bytes = document.as_bytes();
    if document.trim_start().starts_with('{')
        && let Ok(node) = parse_json(bytes)
    {
        return Ok(node.into_value()?);
    }
    Ok(parse_yaml(bytes)?.node.into_value()?)
}

/// Splits a stream at its separators.
fn documents(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for line in text.lines() {
        let after = line.strip_prefix("---");
        if after.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t'])) {
            documents.push(String::new());
        } else if let Some(document) = documents.last_mut() {
            document.push_str(line);
            document.push('\n');
        }
    }
    documents
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_may_escape_characters_as_surrogate_pairs() {
        let text = r#"{"kind": "Ship", "flag": "\ud83d\udea9"}"#;
        assert_eq!(parse_manifests(text).unwrap()[0]["flag"], "\u{1f6a9}");
        assert_eq!(parse_manifests("{kind: Ship}").unwrap()[0]["kind"], "Ship");
    }

    #[test]
    fn only_a_line_that_begins_with_dashes_separates_documents() {
        let text = "# first\n---\na: |\n  x\n  --- y\n--- # more\n---\nb: 1\n";
        let objects = parse_manifests(text).unwrap();
        assert_eq!(objects[0]["a"], "x\n--- y\n");
        assert_eq!(objects[1]["b"], 1);
        assert_eq!(objects.len(), 2);
    }
}
