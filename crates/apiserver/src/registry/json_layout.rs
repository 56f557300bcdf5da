//! [`JsonLayout`]: objects of custom kinds in a shared backend, as kube-apiserver lays them out.

use bytes::Bytes;
use kubewright_store::{BackendError, Key, Payload, layout::Layout};
use serde_json::Value;

use super::payload;

/// Keys `<group>/<resource>/<namespace>/<name>`, and values in JSON without a resource version: the layout of custom
/// resources in etcd.
///
/// ```
/// use kubewright_apiserver::registry::{JsonLayout, payload};
/// use kubewright_store::{Key, layout::Layout};
/// use serde_json::json;
///
/// let key = Key::new("sky.example.com/stars", "default/sun");
/// assert_eq!(JsonLayout.name(&key).as_deref(), Some("sky.example.com/stars/default/sun"));
///
/// let sun = json!({"kind": "Star", "apiVersion": "sky.example.com/v1", "metadata": {"name": "sun"}});
/// let value = JsonLayout.encode(&key, &payload(&sun))?;
/// assert_eq!(value, r#"{"kind":"Star","apiVersion":"sky.example.com/v1","metadata":{"name":"sun"}}"#);
/// assert_eq!(JsonLayout.decode(&key, &value)?.bytes, payload(&sun).bytes);
/// # Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonLayout;

/// The field before the place of the revision.
const FIELD: &[u8] = b"\"resourceVersion\":\"";

impl Layout for JsonLayout {
    fn name(&self, key: &Key) -> Option<String> {
        let (group, resource) = key.collection.split_once('/')?;
        let is_custom = group.contains('.') && !resource.contains('/');
        is_custom.then(|| format!("{}/{}", key.collection, key.path))
    }

    fn key(&self, name: &str) -> Option<Key> {
        let (group, rest) = name.split_once('/')?;
        let (resource, path) = rest.split_once('/')?;
        if !group.contains('.') || path.is_empty() {
            return None;
        }
        Some(Key::new(format!("{group}/{resource}"), path))
    }

    fn encode(&self, _: &Key, payload: &Payload) -> Result<Bytes, BackendError> {
        Ok(without_revision(payload))
    }

    fn decode(&self, _: &Key, value: &Bytes) -> Result<Payload, BackendError> {
        if !value.starts_with(b"{") {
            return Err(unknown_form(value).into());
        }
        let value: Value = serde_json::from_slice(value)?;
        Ok(payload(&value))
    }
}

/// Describes a value that is in none of the known forms.
fn unknown_form(value: &[u8]) -> String {
    if value.starts_with(b"k8s:enc:") {
        let parts: Vec<_> = value.split(|byte| *byte == b':').take(4).collect();
        let provider = parts.get(2).copied().unwrap_or_default();
        let provider = String::from_utf8_lossy(provider);
        return format!("it is encrypted by the provider {provider}");
    }
    if value.starts_with(&[0xd9, 0xd9, 0xf7]) {
        return "it is in CBOR".to_owned();
    }
    "it is not JSON".to_owned()
}

/// Returns the bytes of an object without the field of its revision.
fn without_revision(payload: &Payload) -> Bytes {
    let bytes = &payload.bytes;
    let field = payload.revision_at.and_then(|at| {
        let (head, tail) = bytes.split_at_checked(at as usize)?;
        let head = head.strip_suffix(FIELD)?;
        let tail = tail.strip_prefix(b"\"")?;
        Some((head, tail.strip_prefix(b",").unwrap_or(tail)))
    });
    match field {
        Some((head, tail)) => [head, tail].concat().into(),
        None => bytes.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_custom_resources_have_a_place() {
        for (name, key) in [
            ("a.example.com/stars/x", Some(("a.example.com/stars", "x"))),
            (
                "a.example.com/stars/ns/x",
                Some(("a.example.com/stars", "ns/x")),
            ),
            ("pods/default/x", None),
            ("a.example.com/stars/", None),
            ("a.example.com", None),
        ] {
            let expected = key.map(|(collection, path)| Key::new(collection, path));
            assert_eq!(JsonLayout.key(name), expected, "{name}");
            if let Some(key) = expected {
                assert_eq!(JsonLayout.name(&key).as_deref(), Some(name));
            }
        }
        assert_eq!(JsonLayout.name(&Key::new("pods", "default/x")), None);
    }

    #[test]
    fn an_object_without_other_metadata_stays_valid() {
        let bare = payload(&json!({"kind": "K", "apiVersion": "v1", "metadata": {}}));
        let value = without_revision(&bare);
        assert_eq!(value, r#"{"kind":"K","apiVersion":"v1","metadata":{}}"#);
    }

    #[test]
    fn unknown_forms_are_named() {
        let key = Key::new("a.example.com/stars", "x");
        let failed = |value: &'static [u8]| {
            let decoded = JsonLayout.decode(&key, &Bytes::from_static(value));
            decoded.err().unwrap().to_string()
        };
        assert_eq!(
            failed(b"k8s:enc:kms:v2:p:xyz"),
            "it is encrypted by the provider kms"
        );
        assert_eq!(failed(&[0xd9, 0xd9, 0xf7, 0xa0]), "it is in CBOR");
        assert_eq!(failed(b"?"), "it is not JSON");
    }
}
