//! Looking at an object without decoding it.
//!
//! [`read_type_meta`] says what a document claims to be, before its type is known. [`ObjectSummary`] pulls the few
//! strings that lists, selectors and watches need out of stored JSON, borrowing them and skipping the rest.

mod paths;

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor},
};

use crate::{document::Node, typed::TypeError};
use paths::Paths;

/// What the real server puts before whatever is wrong with a document whose kind it could not even read, be it a
/// [`SyntaxError`](crate::json::SyntaxError) or the error of [`read_type_meta`].
pub const TYPE_META_CONTEXT: &str = "couldn't get version/kind; json parse error: ";

/// The `apiVersion` and `kind` a document gives; empty where it gives none. Keys match without regard to case here, as
/// they do in the real server. The error goes after [`TYPE_META_CONTEXT`].
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

/// The strings of a stored object by which it is found. Absent ones are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectSummary<'a> {
    /// `metadata.name`
    pub name: Cow<'a, str>,
    /// `metadata.namespace`
    pub namespace: Cow<'a, str>,
    /// `metadata.uid`
    pub uid: Cow<'a, str>,
    /// `metadata.resourceVersion`
    pub resource_version: Cow<'a, str>,
    /// `metadata.labels`, in the order of the text.
    pub labels: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    /// The values at the paths asked for, in their order. Numbers and booleans are given as text.
    pub fields: Vec<Option<Cow<'a, str>>>,
}

impl<'a> ObjectSummary<'a> {
    /// Reads the metadata of an object.
    pub fn read(bytes: &'a [u8]) -> Result<Self, serde_json::Error> {
        Self::read_with(bytes, &[])
    }

    /// Reads the metadata of an object and the scalars at some paths outside of it: `spec.nodeName`. Paths go through
    /// objects only.
    pub fn read_with(bytes: &'a [u8], paths: &[&str]) -> Result<Self, serde_json::Error> {
        let mut summary = ObjectSummary {
            fields: vec![None; paths.len()],
            ..Default::default()
        };
        let mut deserializer = serde_json::Deserializer::from_slice(bytes);
        ObjectSeed {
            summary: &mut summary,
            paths,
        }
        .deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(summary)
    }
}

struct ObjectSeed<'s, 'a> {
    summary: &'s mut ObjectSummary<'a>,
    paths: &'s [&'s str],
}

impl<'de> DeserializeSeed<'de> for ObjectSeed<'_, 'de> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ObjectSeed<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Text(key)) = map.next_key()? {
            if key == "metadata" {
                map.next_value_seed(MetadataSeed(self.summary))?;
                continue;
            }
            let below = Paths::below(self.paths, &key);
            if below.is_empty() {
                map.next_value::<IgnoredAny>()?;
            } else {
                map.next_value_seed(below.into_seed(&mut self.summary.fields))?;
            }
        }
        Ok(())
    }
}

struct MetadataSeed<'s, 'a>(&'s mut ObjectSummary<'a>);

impl<'de> DeserializeSeed<'de> for MetadataSeed<'_, 'de> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for MetadataSeed<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("object metadata")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let summary = self.0;
        while let Some(Text(key)) = map.next_key()? {
            match key.as_ref() {
                "name" => summary.name = map.next_value::<Text<'_>>()?.0,
                "namespace" => summary.namespace = map.next_value::<Text<'_>>()?.0,
                "uid" => summary.uid = map.next_value::<Text<'_>>()?.0,
                "resourceVersion" => summary.resource_version = map.next_value::<Text<'_>>()?.0,
                "labels" => summary.labels = map.next_value::<Labels<'_>>()?.0,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// A string that is borrowed where it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

struct Labels<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'de> Deserialize<'de> for Labels<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LabelsVisitor;
        impl<'de> Visitor<'de> for LabelsVisitor {
            type Value = Labels<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of labels")
            }
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Labels(Vec::new()))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut labels = Vec::new();
                while let Some((Text(key), Text(value))) = map.next_entry()? {
                    labels.push((key, value));
                }
                Ok(Labels(labels))
            }
        }
        deserializer.deserialize_any(LabelsVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse_json;

    #[test]
    fn metadata_and_paths_are_read_without_the_rest() {
        let text = br#"{"spec":{"nodeName":"n1","containers":[{"nodeName":"no"}],"deep":{"on":true,"n":3}},
            "metadata":{"name":"a","namespace":"b","uid":"u","resourceVersion":"7",
            "labels":{"x":"1","y\n":"\u00e9"},"managedFields":[{"a":[[]]}]},"status":{"phase":null}}"#;
        let summary = ObjectSummary::read_with(
            text,
            &[
                "spec.nodeName",
                "status.phase",
                "spec.deep.on",
                "spec.deep.n",
                "spec.deep",
                "x",
            ],
        )
        .unwrap();
        assert_eq!(summary.name, "a");
        assert_eq!(summary.namespace, "b");
        assert_eq!(summary.uid, "u");
        assert_eq!(summary.resource_version, "7");
        assert!(matches!(summary.name, Cow::Borrowed(_)));
        assert_eq!(
            summary.labels,
            [("x".into(), "1".into()), ("y\n".into(), "é".into())]
        );
        let fields: Vec<_> = summary.fields.iter().map(Option::as_deref).collect();
        assert_eq!(
            fields,
            [Some("n1"), None, Some("true"), Some("3"), None, None]
        );
    }

    #[test]
    fn null_labels_are_none() {
        let text = br#"{"metadata":{"name":"a","labels":null}}"#;
        assert!(ObjectSummary::read(text).unwrap().labels.is_empty());
    }

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
