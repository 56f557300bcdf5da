//! Masks values of Secrets before they leave this process.

use serde_json::{Map, Value};

/// The text in place of a value. It is not base64, so that no server accepts it as a value of `data`.
pub(crate) const MASK: &str = "(masked)";

/// The annotation in which `kubectl apply` stores an object, including its values.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The kind of objects that do not name it, such as list items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Objects are Secrets only if their kind says so.
    Mixed,
    /// All objects are Secrets.
    Secrets,
}

/// Masks the values of all Secrets in a document: objects, lists, tables, histories and graphs.
pub(crate) fn mask(value: &mut Value, content: Content) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| mask(item, content)),
        Value::Object(map) => {
            if is_secret(map, content) {
                mask_values(map);
            }
            map.values_mut().for_each(|inner| mask(inner, content));
        }
        _ => {}
    }
}

/// Reports whether a document contains the mask, so that writing it would overwrite a value.
pub(crate) fn is_masked(value: &Value) -> bool {
    match value {
        Value::String(text) => text == MASK,
        Value::Array(items) => items.iter().any(is_masked),
        Value::Object(map) => map.values().any(is_masked),
        _ => false,
    }
}

fn is_secret(map: &Map<String, Value>, content: Content) -> bool {
    let is_object = map.get("metadata").is_some_and(Value::is_object);
    let kind = map.get("kind").and_then(Value::as_str);
    match content {
        Content::Mixed => kind == Some("Secret"),
        Content::Secrets => {
            is_object && matches!(kind, None | Some("Secret" | "PartialObjectMetadata"))
        }
    }
}

fn mask_values(secret: &mut Map<String, Value>) {
    for field in ["data", "stringData"] {
        if let Some(Value::Object(values)) = secret.get_mut(field) {
            values.values_mut().for_each(|it| *it = MASK.into());
        }
    }
    let annotations = secret
        .get_mut("metadata")
        .and_then(|metadata| metadata.get_mut("annotations"));
    if let Some(repeated) = annotations.and_then(|it| it.get_mut(LAST_APPLIED)) {
        *repeated = MASK.into();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_of_all_secrets_are_masked() {
        let secret = json!({
            "kind": "Secret", "apiVersion": "v1", "type": "Opaque",
            "metadata": {"name": "s", "annotations": {LAST_APPLIED: "{\"data\":{\"k\":\"c2VjcmV0\"}}", "a": "b"}},
            "data": {"k": "c2VjcmV0"}, "stringData": {"k": "secret"},
        });
        let mut history = json!({"entries": [{"before": secret, "after": {"object": secret}}]});
        mask(&mut history, Content::Mixed);
        assert!(!history.to_string().contains("c2VjcmV0"), "{history}");
        assert!(!history.to_string().contains("secret\""), "{history}");
        let after = &history["entries"][0]["after"]["object"];
        assert_eq!(after["data"], json!({"k": MASK}));
        assert_eq!(after["metadata"]["annotations"]["a"], "b");
        assert_eq!(after["type"], "Opaque");
    }

    #[test]
    fn items_without_a_kind_are_masked_by_the_path() {
        let list = json!({"kind": "SecretList", "metadata": {}, "items": [{"metadata": {"name": "s"}, "data": {"k": "djE="}}]});
        let mut masked = list.clone();
        mask(&mut masked, Content::Secrets);
        assert_eq!(masked["items"][0]["data"]["k"], MASK);
        let mut other = list.clone();
        mask(&mut other, Content::Mixed);
        assert_eq!(other, list, "a list of another kind stays");
    }

    #[test]
    fn other_kinds_stay() {
        let map = json!({"kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"k": "v"}});
        let mut masked = map.clone();
        mask(&mut masked, Content::Mixed);
        assert_eq!(masked, map);
    }

    #[test]
    fn a_masked_document_is_recognized() {
        assert!(is_masked(&json!([{"op": "add", "value": {"k": MASK}}])));
        assert!(!is_masked(&json!({"data": {"k": "djE="}})));
    }
}
