//! The JSON of events: on one line, and without managed fields if the policy omits them.

use bytes::Bytes;
use kubewright_machinery::scan::string_end;
use serde_json::value::RawValue;

use crate::respond::scan::{elements, members};

/// Returns JSON that a client sent without the space between its parts, or `None` if it is not JSON.
pub(super) fn compact(json: &Bytes) -> Option<Bytes> {
    serde_json::from_slice::<&RawValue>(json).ok()?;
    let is_space = |byte: &u8| byte.is_ascii_whitespace();
    if !json.iter().any(is_space) {
        return Some(json.clone());
    }
    let mut out = Vec::with_capacity(json.len());
    let mut at = 0;
    while let Some(&byte) = json.get(at) {
        let end = match byte {
            b'"' => string_end(json, at).unwrap_or(json.len()),
            _ => at + 1,
        };
        if !is_space(&byte) {
            out.extend_from_slice(&json[at..end]);
        }
        at = end;
    }
    Some(out.into())
}

/// Returns an encoded object, list or table without the managed fields of the objects in it.
pub(super) fn without_managed_fields(json: &Bytes) -> Bytes {
    if memchr::memmem::find(json, b"\"managedFields\"").is_none() {
        return json.clone();
    }
    let mut out = Vec::with_capacity(json.len());
    write(&mut out, json, Part::Document);
    out.into()
}

/// The part of a document that is written.
#[derive(Clone, Copy)]
enum Part {
    /// An object, a list or a table.
    Document,
    /// An item of a list, or the object of a row.
    Item,
    Row,
    Metadata,
}

fn write(out: &mut Vec<u8>, json: &[u8], part: Part) {
    if !json.starts_with(b"{") {
        return out.extend_from_slice(json);
    }
    let start = out.len();
    for (key, value) in members(json) {
        if matches!((part, key), (Part::Metadata, b"managedFields")) {
            continue;
        }
        out.push(if out.len() == start { b'{' } else { b',' });
        out.push(b'"');
        out.extend_from_slice(key);
        out.extend_from_slice(b"\":");
        match (part, key) {
            (Part::Document | Part::Item, b"metadata") => write(out, value, Part::Metadata),
            (Part::Document, b"items") => write_all(out, value, Part::Item),
            (Part::Document, b"rows") => write_all(out, value, Part::Row),
            (Part::Row, b"object") => write(out, value, Part::Item),
            _ => out.extend_from_slice(value),
        }
    }
    if out.len() == start {
        out.push(b'{');
    }
    out.push(b'}');
}

fn write_all(out: &mut Vec<u8>, json: &[u8], part: Part) {
    if !json.starts_with(b"[") {
        return out.extend_from_slice(json);
    }
    let start = out.len();
    for element in elements(json) {
        out.push(if out.len() == start { b'[' } else { b',' });
        write(out, element, part);
    }
    if out.len() == start {
        out.push(b'[');
    }
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn json_is_put_on_one_line_and_strings_stay() {
        let text = "{ \"a\" :\n\t[1, \"b \\\" c\\n\"] }";
        assert_eq!(
            compact(&text.into()).unwrap(),
            "{\"a\":[1,\"b \\\" c\\n\"]}"
        );
        assert_eq!(compact(&"[]".into()).unwrap(), "[]");
        for other in ["", "a: b", "{", "{} {}", "\u{0}"] {
            assert_eq!(compact(&other.into()), None, "{other}");
        }
    }

    #[test]
    fn managed_fields_are_left_out_of_objects_lists_and_tables() {
        let object = |managed: bool| {
            let mut object = json!({"kind": "A", "metadata": {"name": "a", "labels": {"managedFields": "kept"}}});
            if managed {
                object["metadata"]["managedFields"] = json!([{"manager": "]}"}]);
            }
            object
        };
        for document in [
            |o: Value| o,
            |o: Value| json!({"kind": "AList", "metadata": {}, "items": [o.clone(), o]}),
            |o: Value| json!({"kind": "Table", "rows": [{"cells": ["x"], "object": o}, {"object": null}]}),
            |o: Value| json!({"kind": "AList", "items": [], "rows": {}, "data": o.to_string()}),
        ] {
            let with: Bytes = document(object(true)).to_string().into();
            let expected = match with.windows(7).any(|w| w == b"\\\"kind\\") {
                true => document(object(true)),
                false => document(object(false)),
            };
            let without = without_managed_fields(&with);
            let read: Value = serde_json::from_slice(&without).expect("JSON");
            assert_eq!(read, expected);
        }
        let only: Bytes = json!({"metadata": {"managedFields": []}})
            .to_string()
            .into();
        assert_eq!(without_managed_fields(&only), "{\"metadata\":{}}");
    }
}
