//! Indented JSON, as Go's `MarshalIndent` writes it, for people: fields come in the order of their types.

use kubewright_catalog::types::{StructType, Type};

use kubewright_machinery::scan::{string_end, value_end};

use super::scan;

/// A line break and spaces for many levels.
const LINE: &[u8; 129] = &{
    let mut line = [b' '; 129];
    line[0] = b'\n';
    line
};

/// The spaces of a level.
const STEP: usize = 2;

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
            _ => {
                let end = value_end(json, at).unwrap_or(json.len());
                out.extend_from_slice(&json[at..end]);
                at = end;
                continue;
            }
        }
        at += 1;
    }
}

/// Appends the JSON of an object with its fields in the order in which their types declare them. Stored bytes have them in
/// another order.
pub(crate) fn indent_typed(out: &mut Vec<u8>, json: &[u8], depth: usize, ty: &StructType) {
    let members = Vec::with_capacity(32);
    Typed { out, members }.fields(json, depth, ty);
}

/// Writes JSON in the order of types.
struct Typed<'a, 'o> {
    out: &'o mut Vec<u8>,
    /// The members of the objects that are being written, innermost last.
    members: Vec<Member<'a>>,
}

/// A member of an object, with its place in the type.
#[derive(Clone, Copy)]
struct Member<'a> {
    place: usize,
    key: &'a [u8],
    value: &'a [u8],
}

impl<'a> Typed<'a, '_> {
    fn fields(&mut self, json: &'a [u8], depth: usize, ty: &StructType) {
        let place = |key: &[u8]| ty.fields.iter().position(|f| f.json.as_bytes() == key);
        let base = self.members.len();
        let members = scan::members(json).map(|(key, value)| Member {
            place: place(key).unwrap_or(usize::MAX),
            key,
            value,
        });
        self.members.extend(members);
        self.members[base..].sort_by_key(|member| member.place);
        self.out.push(b'{');
        let end = self.members.len();
        for index in base..end {
            let member = self.members[index];
            let ty = ty.fields.get(member.place).map(|field| &field.ty);
            self.next(index == base, depth + 1);
            self.member(member.key, member.value, depth + 1, ty);
        }
        self.members.truncate(base);
        self.close(base == end, b'}', depth);
    }

    fn value(&mut self, json: &'a [u8], depth: usize, ty: Option<&Type>) {
        match (ty, json.first()) {
            (_, Some(b'"' | b'0'..=b'9')) => self.out.extend_from_slice(json),
            (Some(Type::Optional(inner)), _) => self.value(json, depth, Some(*inner)),
            (
                Some(
                    Type::Struct(ty)
                    | Type::SchemaOrBool(ty)
                    | Type::SchemaOrArray(ty)
                    | Type::SchemaOrStrings(ty),
                ),
                Some(b'{'),
            ) => self.fields(json, depth, ty),
            (Some(Type::Map(item)), Some(b'{')) => {
                self.out.push(b'{');
                let mut first = true;
                for (key, value) in scan::members(json) {
                    self.next(std::mem::take(&mut first), depth + 1);
                    self.member(key, value, depth + 1, Some(*item));
                }
                self.close(first, b'}', depth);
            }
            (Some(Type::List(item)), Some(b'[')) => {
                self.out.push(b'[');
                let mut first = true;
                for value in scan::elements(json) {
                    self.next(std::mem::take(&mut first), depth + 1);
                    self.value(value, depth + 1, Some(*item));
                }
                self.close(first, b']', depth);
            }
            _ => indent(self.out, json, depth),
        }
    }

    fn member(&mut self, key: &[u8], value: &'a [u8], depth: usize, ty: Option<&Type>) {
        self.out.push(b'"');
        self.out.extend_from_slice(key);
        self.out.extend_from_slice(b"\": ");
        self.value(value, depth, ty);
    }

    /// Starts the line of a member or element.
    fn next(&mut self, first: bool, depth: usize) {
        if !first {
            self.out.push(b',');
        }
        line(self.out, depth);
    }

    /// Ends an object or array.
    fn close(&mut self, empty: bool, bracket: u8, depth: usize) {
        if !empty {
            line(self.out, depth);
        }
        self.out.push(bracket);
    }
}

/// Starts a line at a depth.
pub(crate) fn line(out: &mut Vec<u8>, depth: usize) {
    match LINE.get(..1 + depth * STEP) {
        Some(line) => out.extend_from_slice(line),
        None => {
            out.push(b'\n');
            out.resize(out.len() + depth * STEP, b' ');
        }
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
