//! Reads a patch body: its outer shape, and in checked mode the members of each operation.

use super::{DecodeError, Decoding, MAX_OPERATIONS, Member, Operation, Patch};
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::fmt;

pub(super) fn decode(body: &[u8], decoding: Decoding) -> Result<Patch, DecodeError> {
    let text = std::str::from_utf8(body).map_err(|_| not_text())?;
    let list = match kind_of(serde_json::from_str::<&RawValue>(text)?.get()) {
        "array" => serde_json::from_str::<Vec<&RawValue>>(text)?,
        "null" => Vec::new(),
        kind => {
            return Err(wrong_shape(
                kind,
                decoding,
                "[]handlers.jsonPatchOp",
                "jsonpatch.Patch",
            ));
        }
    };
    let mut patch = Patch::default();
    for (i, item) in list.iter().enumerate() {
        let members = match kind_of(item.get()) {
            "object" => serde_json::from_str::<Members<'_>>(item.get())?.0,
            "null" => Vec::new(),
            kind => {
                let (checked, lenient) = ("handlers.jsonPatchOp", "jsonpatch.Operation");
                return Err(wrong_shape(kind, decoding, checked, lenient));
            }
        };
        if decoding == Decoding::Checked {
            check(i, &members, &mut patch.strict_errors)?;
        }
        patch.operations.push(operation(members));
    }
    if patch.operations.len() > MAX_OPERATIONS {
        return Err(DecodeError::TooManyOperations(patch.operations.len()));
    }
    Ok(patch)
}

fn operation(members: Vec<(String, &RawValue)>) -> Operation {
    let mut operation = Operation::default();
    for (name, raw) in members {
        match name.as_str() {
            "op" => operation.op = member(raw),
            "path" => operation.path = member(raw),
            "from" => operation.from = member(raw),
            "value" => {
                operation.value = Some(raw.to_owned()).filter(|raw| kind_of(raw.get()) != "null");
            }
            _ => {}
        }
    }
    operation
}

fn member(raw: &RawValue) -> Member {
    match kind_of(raw.get()) {
        "string" => match serde_json::from_str(raw.get()) {
            Ok(text) => Member::Text(text),
            Err(_) => Member::Wrong("string"),
        },
        "null" => Member::Missing,
        kind => Member::Wrong(kind),
    }
}

/// Checks types, and lists unknown and repeated members.
fn check(
    index: usize,
    members: &[(String, &RawValue)],
    strict: &mut Vec<String>,
) -> Result<(), DecodeError> {
    let mut seen = BTreeSet::new();
    for (name, raw) in members {
        match name.as_str() {
            "op" | "path" | "from" => {
                let kind = kind_of(raw.get());
                if !matches!(kind, "string" | "null") {
                    return Err(DecodeError::Shape(format!(
                        "error decoding patch: json: cannot unmarshal {kind} into Go struct field jsonPatchOp.{name} of type string"
                    )));
                }
            }
            "value" => {
                let mut path = format!("[{index}].value");
                let seed = Repeats {
                    path: &mut path,
                    found: strict,
                };
                // A value that nests too deep is rejected when the operation runs.
                _ = seed.deserialize(&mut serde_json::Deserializer::from_str(raw.get()));
            }
            _ => {
                strict.push(format!("json patch unknown field \"[{index}].{name}\""));
                continue;
            }
        }
        if !seen.insert(name.as_str()) {
            strict.push(format!("json patch duplicate field \"[{index}].{name}\""));
        }
    }
    Ok(())
}

/// The JSON type of a text, as Go names it.
fn kind_of(json: &str) -> &'static str {
    match json.trim_start().as_bytes().first() {
        Some(b'{') => "object",
        Some(b'[') => "array",
        Some(b'"') => "string",
        Some(b't' | b'f') => "bool",
        Some(b'n') => "null",
        _ => "number",
    }
}

fn wrong_shape(kind: &str, decoding: Decoding, checked: &str, lenient: &str) -> DecodeError {
    DecodeError::Shape(match decoding {
        Decoding::Checked => format!(
            "error decoding patch: json: cannot unmarshal {kind} into Go value of type {checked}"
        ),
        Decoding::Lenient => {
            format!("json: cannot unmarshal {kind} into Go value of type {lenient}")
        }
    })
}

fn not_text() -> DecodeError {
    DecodeError::Shape("error decoding patch: invalid UTF-8".into())
}

/// The members of an object in order, repeated ones included.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> serde::Deserialize<'de> for Members<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs<'a>(std::marker::PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Pairs<'a> {
            type Value = Members<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an operation")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'a>, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry::<String, &'de RawValue>()? {
                    pairs.push((pair.0, pair.1));
                }
                Ok(Members(pairs))
            }
        }
        deserializer.deserialize_map(Pairs(std::marker::PhantomData))
    }
}

/// Finds repeated keys inside a value.
struct Repeats<'p> {
    path: &'p mut String,
    found: &'p mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Repeats<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Repeats<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = BTreeSet::new();
        while let Some(name) = map.next_key::<String>()? {
            let outer = self.path.len();
            self.path.push('.');
            self.path.push_str(&name);
            if !seen.insert(name) {
                self.found
                    .push(format!("json patch duplicate field \"{}\"", self.path));
            }
            map.next_value_seed(Repeats {
                path: self.path,
                found: self.found,
            })?;
            self.path.truncate(outer);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        for i in 0_usize.. {
            let outer = self.path.len();
            self.path.push_str(&format!("[{i}]"));
            let more = items.next_element_seed(Repeats {
                path: self.path,
                found: self.found,
            })?;
            self.path.truncate(outer);
            if more.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}
