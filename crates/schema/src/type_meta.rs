//! Reads the type that a document claims to have.

use crate::{document::Node, typed::TypeError};

/// The prefix of the real server's message about a document whose kind cannot be read, before a
/// [`SyntaxError`](crate::json::SyntaxError) or the error of [`read_type_meta`].
pub const TYPE_META_CONTEXT: &str = "couldn't get version/kind; json parse error: ";

/// The `apiVersion` and `kind` a document gives; empty where it gives none. Keys match without regard to case here, as
/// they do in the real server. The error goes after [`TYPE_META_CONTEXT`].
///
/// # Errors
///
/// Returns an error if the document is not an object, or a field is not a string.
///
/// ```
/// use kubewright_schema::{parse_json, read_type_meta};
///
/// let node = parse_json(br#"{"kind": "Pod", "apiVersion": "v1"}"#)?;
/// assert_eq!(read_type_meta(&node)?, ("v1", "Pod"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_type_meta<'n>(node: &'n Node<'_>) -> Result<(&'n str, &'n str), TypeError> {
    let entries = match node {
        Node::Null => return Ok(("", "")),
        Node::Object(entries) => entries,
        other => {
            return Err(TypeError::new(format!(
                "json: cannot unmarshal {} into Go value of type struct {{ APIVersion string \
                 \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}",
                other.kind()
            )));
        }
    };
    let (mut api_version, mut kind) = ("", "");
    let mut mismatch = None;
    for (key, value) in entries {
        let (name, slot) = if key.eq_ignore_ascii_case("apiVersion") {
            ("apiVersion", &mut api_version)
        } else if key.eq_ignore_ascii_case("kind") {
            ("kind", &mut kind)
        } else {
            continue;
        };
        match value {
            Node::String(text) => *slot = text.as_ref(),
            Node::Null => {}
            other => {
                mismatch.get_or_insert_with(|| {
                    TypeError::new(format!(
                        "json: cannot unmarshal {} into Go struct field .{name} of type string",
                        other.kind()
                    ))
                });
            }
        }
    }
    match mismatch {
        Some(error) => Err(error),
        None => Ok((api_version, kind)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse_json;

    #[test]
    fn kinds_are_read_in_any_case_and_mismatches_named() {
        let read = |text: &'static str| {
            let node = parse_json(text.as_bytes()).unwrap();
            read_type_meta(&node)
                .map(|(v, k)| (v.to_owned(), k.to_owned()))
                .map_err(|e| e.to_string())
        };
        assert_eq!(
            read(r#"{"Kind":"ConfigMap","apiVersion":"v1"}"#),
            Ok(("v1".into(), "ConfigMap".into()))
        );
        assert_eq!(read("null"), Ok((String::new(), String::new())));
        assert_eq!(
            read(r#"{"kind":1}"#).unwrap_err(),
            "json: cannot unmarshal number into Go struct field .kind of type string"
        );
        assert_eq!(
            read("[]").unwrap_err(),
            r#"json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#
        );
    }
}
