//! Checks that a patched object is still of its kind.

use kubewright_machinery::gvk::{GroupVersion, GroupVersionKind};
use kubewright_schema::{Node, TYPE_META_CONTEXT, decode_typed, read_type_meta};
use serde_json::Value;

/// Checks `kind` and `apiVersion` of a patched object, which may be unset. The error is the message of kube-apiserver.
pub fn check_patched_kind(patched: &Value, expected: &GroupVersionKind) -> Result<(), String> {
    let mut types = Vec::new();
    for key in ["kind", "apiVersion"] {
        if let Some(value) = patched.get(key) {
            let value = Node::from_value(value.clone()).map_err(|e| e.to_string())?;
            types.push((key.into(), value));
        }
    }
    let types = Node::Object(types);
    let (version, kind) = read_type_meta(&types).map_err(|e| format!("{TYPE_META_CONTEXT}{e}"))?;
    let version = match version {
        "" => expected.group_version(),
        text => GroupVersion::parse(text)
            .ok_or_else(|| format!("unexpected GroupVersion string: {text}"))?,
    };
    let given = version.with_kind(if kind.is_empty() {
        &expected.kind
    } else {
        kind
    });
    if given == *expected {
        return Ok(());
    }
    let Some(ty) = kubewright_catalog::kind_type(&given.group, &given.version, &given.kind) else {
        return Err(format!(
            "no kind \"{}\" is registered for version \"{}\" in scheme \"pkg/runtime/scheme.go:111\"",
            given.kind,
            given.group_version()
        ));
    };
    // kube-apiserver decodes it as the kind that it claims, and converts it afterwards.
    let read = Node::from_value(patched.clone()).and_then(|node| decode_typed(node, ty));
    read.map_err(|e| e.to_string())?;
    let package = match expected.group.split('.').next() {
        None | Some("") => "core",
        Some(first) => first,
    };
    Err(format!(
        "converting ({}.{}) to ({package}.{}): unknown conversion",
        given.version, given.kind, expected.kind
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_kind_may_go_but_not_change() {
        let expected = GroupVersionKind::new("", "v1", "ConfigMap");
        assert_eq!(check_patched_kind(&json!({}), &expected), Ok(()));
        assert_eq!(
            check_patched_kind(&json!({"kind": "ConfigMap"}), &expected),
            Ok(())
        );
        let said = |object: Value| check_patched_kind(&object, &expected).unwrap_err();
        assert_eq!(
            said(json!({"kind": "Secret", "data": {"k": "v!"}})),
            "illegal base64 data at input byte 1"
        );
        assert!(
            said(json!({"kind": "Secret"})).ends_with("to (core.ConfigMap): unknown conversion")
        );
        assert!(
            said(json!({"apiVersion": "v2"})).starts_with("no kind \"ConfigMap\" is registered")
        );
        assert!(said(json!({"apiVersion": 5})).starts_with("couldn't get version/kind"));
    }
}
