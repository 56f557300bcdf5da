//! Indented JSON, as Go's `MarshalIndent` writes it, for people: fields come in the order of their types.

use kubewright_catalog::types::{StructType, Type};

use super::scan::{self, string_end};

const STEP: &[u8] = b"  ";

/// Appends JSON with one member or element a line. `depth` is the depth of the value in the document.
pub(crate) fn indent(out: &mut Vec<u8>, json: &[u8], depth: usize) {
    let mut depth = depth;
    let mut at = 0;
    while let Some(&byte) = json.get(at) {
        match byte {
            b'"' => {
                let end = string_end(json, at).unwrap_or(json.len());
                out.extend_from_slice(&json[at..end]);
                at = end;
                continue;
            }
            b'{' | b'[' => {
                out.push(byte);
                let next = at + 1 + space(&json[at + 1..]);
                if matches!(json.get(next), Some(b'}' | b']')) {
                    out.push(json[next]);
                    at = next + 1;
                    continue;
                }
                depth += 1;
                line(out, depth);
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                line(out, depth);
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                line(out, depth);
            }
            b':' => out.extend_from_slice(b": "),
            _ if byte.is_ascii_whitespace() => {}
            _ => out.push(byte),
        }
        at += 1;
    }
}

/// Appends the JSON of an object with its fields in the order in which their types declare them. Stored bytes have them in
/// another order.
pub(crate) fn indent_typed(out: &mut Vec<u8>, json: &[u8], depth: usize, ty: &StructType) {
    let place = |key: &[u8]| ty.fields.iter().position(|f| f.json.as_bytes() == key);
    let mut members: Vec<_> = scan::members(json)
        .map(|(key, value)| (place(key).unwrap_or(usize::MAX), key, value))
        .collect();
    members.sort_by_key(|(place, _, _)| *place);
    let members = members.into_iter().map(|(place, key, value)| {
        let ty = ty.fields.get(place).map(|field| &field.ty);
        (Some(key), value, ty)
    });
    container(out, *b"{}", members, depth);
}

fn indent_as(out: &mut Vec<u8>, json: &[u8], depth: usize, ty: Option<&Type>) {
    match (ty, json.first()) {
        (Some(Type::Optional(inner)), _) => indent_as(out, json, depth, Some(*inner)),
        (
            Some(
                Type::Struct(ty)
                | Type::SchemaOrBool(ty)
                | Type::SchemaOrArray(ty)
                | Type::SchemaOrStrings(ty),
            ),
            Some(b'{'),
        ) => indent_typed(out, json, depth, ty),
        (Some(Type::Map(item)), Some(b'{')) => {
            let members = scan::members(json).map(|(key, value)| (Some(key), value, Some(*item)));
            container(out, *b"{}", members, depth);
        }
        (Some(Type::List(item)), Some(b'[')) => {
            let items = scan::elements(json).map(|value| (None, value, Some(*item)));
            container(out, *b"[]", items, depth);
        }
        _ => indent(out, json, depth),
    }
}

/// Appends members or elements between brackets.
fn container<'a>(
    out: &mut Vec<u8>,
    [open, close]: [u8; 2],
    items: impl Iterator<Item = (Option<&'a [u8]>, &'a [u8], Option<&'a Type>)>,
    depth: usize,
) {
    out.push(open);
    let mut empty = true;
    for (key, value, ty) in items {
        if !std::mem::take(&mut empty) {
            out.push(b',');
        }
        line(out, depth + 1);
        if let Some(key) = key {
            out.push(b'"');
            out.extend_from_slice(key);
            out.extend_from_slice(b"\": ");
        }
        indent_as(out, value, depth + 1, ty);
    }
    if !empty {
        line(out, depth);
    }
    out.push(close);
}

/// Starts a line at a depth.
pub(crate) fn line(out: &mut Vec<u8>, depth: usize) {
    out.push(b'\n');
    for _ in 0..depth {
        out.extend_from_slice(STEP);
    }
}

fn space(json: &[u8]) -> usize {
    json.iter().take_while(|b| b.is_ascii_whitespace()).count()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_indented_as_by_serde() {
        for value in [
            json!({"a": [1, {"b": {}, "c": []}, "x,:{}[]\"\\"], "d": null, "e": {"f": -1.5}}),
            json!([]),
            json!({}),
            json!("text"),
            json!([[[]], [{}]]),
        ] {
            let mut out = Vec::new();
            indent(&mut out, value.to_string().as_bytes(), 0);
            assert_eq!(
                String::from_utf8(out).unwrap(),
                serde_json::to_string_pretty(&value).unwrap()
            );
        }
    }

    #[test]
    fn indented_json_is_indented_again() {
        let value = json!({"a": [1, {}], "b": []});
        let mut out = Vec::new();
        let once = serde_json::to_string_pretty(&value).unwrap();
        indent(&mut out, once.as_bytes(), 0);
        assert_eq!(out, once.as_bytes());
    }

    #[test]
    fn fields_come_in_the_order_of_their_types() {
        use kubewright_catalog::generated::core_v1::POD;
        let pod = br#"{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"1","annotations":{"b":"1","a":"2"},"name":"n","managedFields":[{"apiVersion":"v1","manager":"m","fieldsV1":{"f:b":{},"f:a":{}}}]},"spec":{"containers":[{"image":"i","name":"c","env":[]}],"nodeSelector":{}},"unknown":1,"status":{}}"#;
        let mut out = Vec::new();
        indent_typed(&mut out, pod, 0, &POD);
        let text = String::from_utf8(out).unwrap();
        let order = [
            "kind",
            "apiVersion",
            "metadata",
            "name",
            "resourceVersion",
            "annotations",
            "b",
            "a",
            "managedFields",
            "manager",
            "apiVersion",
            "fieldsV1",
            "f:b",
            "f:a",
            "spec",
            "containers",
            "name",
            "image",
            "env",
            "nodeSelector",
            "status",
            "unknown",
        ];
        let keys: Vec<&str> = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix('"')?.split('"').next())
            .collect();
        assert_eq!(keys, order);
        let mut again = Vec::new();
        indent(&mut again, text.as_bytes(), 0);
        assert_eq!(again, text.as_bytes(), "the layout is the same");
    }

    #[test]
    fn a_value_may_be_deep_in_a_document() {
        let mut out = Vec::new();
        indent(&mut out, br#"{"a":1}"#, 2);
        assert_eq!(out, b"{\n      \"a\": 1\n    }");
    }
}
