//! Encodes objects into bytes, as the Go server writes them.
//!
//! The value is what Go would print: zero values that are not printed are absent. On the wire they are written
//! nevertheless: every field that is not a pointer, a list or a map stands in every message.
//!
//! Invariant: the bytes of a normal object equal those of the Go server. Where Go keeps JSON text as it was sent
//! (`RawExtension`), the value does not know the text, and the bytes hold the same JSON in compact form with sorted keys.

mod leaf;

use kubewright_machinery::limits::DOCUMENT_DEPTH;
use serde_json::{Map, Value};

use crate::{
    EncodeError, MAGIC,
    layout::{Content, Lookup, Message, MessageId, Parts, Shape, message, message_of_kind},
    wire::{LENGTH, Writer},
};

/// Encodes an object, a list, a `Status` or any other value with `kind` and `apiVersion`, in its envelope.
///
/// # Errors
///
/// Returns an error if the kind is unknown, or the value does not fit its type.
pub fn encode(value: &Value) -> Result<Vec<u8>, EncodeError> {
    let mut encoder = Encoder::new();
    encoder.envelope(value)?;
    Ok(encoder.out.finish())
}

/// Encodes one frame of a watch: a length of four bytes, big endian, and an event of that type (`ADDED`, `ERROR`)
/// with the
/// object in its envelope.
///
/// # Errors
///
/// Returns an error if the object cannot be encoded.
pub fn encode_watch_event(kind: &str, object: &Value) -> Result<Vec<u8>, EncodeError> {
    let mut encoder = Encoder::new();
    encoder.envelope(object)?;
    let out = &mut encoder.out;
    out.close(1, 0);
    out.close(2, 0);
    out.bytes_field(1, kind.as_bytes());
    // A frame of 4 GiB or more has no length, but no object is that large.
    let length = u32::try_from(out.len()).map_err(|_| EncodeError::Mismatch {
        field: "object",
        expected: "frame",
    })?;
    out.bytes(&length.to_be_bytes());
    Ok(encoder.out.finish())
}

struct Encoder<'a> {
    out: Writer,
    /// The values of the fields of the messages being written, innermost last.
    slots: Vec<Option<&'a Value>>,
}

/// A field being written.
#[derive(Clone, Copy)]
struct At {
    number: u32,
    json: &'static str,
    depth: usize,
}

impl At {
    fn mismatch(self, expected: &'static str) -> EncodeError {
        EncodeError::Mismatch {
            field: self.json,
            expected,
        }
    }

    fn numbered(self, number: u32) -> Self {
        At { number, ..self }
    }
}

impl<'a> Encoder<'a> {
    fn new() -> Self {
        Encoder {
            out: Writer::with_capacity(4096),
            slots: Vec::with_capacity(256),
        }
    }

    fn envelope(&mut self, value: &'a Value) -> Result<(), EncodeError> {
        let text = |key| value.get(key).and_then(Value::as_str).unwrap_or("");
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let Lookup::Found(layout) = message_of_kind(api_version, kind) else {
            return Err(EncodeError::NoType {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
            });
        };
        // Content encoding and content type, both empty.
        self.out.bytes_field(4, b"");
        self.out.bytes_field(3, b"");
        let mark = self.out.len();
        self.fields(layout, value.as_object(), 0)?;
        self.out.close(2, mark);
        let mark = self.out.len();
        self.out.bytes_field(2, kind.as_bytes());
        self.out.bytes_field(1, api_version.as_bytes());
        self.out.close(1, mark);
        self.out.bytes(&MAGIC);
        Ok(())
    }

    /// The fields of a message, without tag and length.
    fn fields(
        &mut self,
        layout: &'static Message,
        object: Option<&'a Map<String, Value>>,
        depth: usize,
    ) -> Result<(), EncodeError> {
        if depth > DOCUMENT_DEPTH {
            return Err(EncodeError::TooDeep);
        }
        let base = self.slots.len();
        self.slots.resize(base + layout.slots(), None);
        let mut hint = 0;
        for (key, value) in object.into_iter().flatten() {
            if !value.is_null()
                && let Some(slot) = layout.slot(key, &mut hint)
            {
                self.slots[base + slot] = Some(value);
            }
        }
        self.parts(&layout.parts, base, depth)?;
        self.slots.truncate(base);
        Ok(())
    }

    fn parts(
        &mut self,
        parts: &'static Parts,
        base: usize,
        depth: usize,
    ) -> Result<(), EncodeError> {
        for part in parts.descending() {
            match &part.content {
                Content::Field {
                    json, slot, shape, ..
                } => {
                    let value = self.slots[base + usize::from(*slot)];
                    let at = At {
                        number: part.number,
                        json,
                        depth: depth + 1,
                    };
                    self.field(at, shape, value)?;
                }
                Content::Embedded(inner) => {
                    let mark = self.out.len();
                    self.parts(inner, base, depth)?;
                    self.out.close(part.number, mark);
                }
            }
        }
        Ok(())
    }

    /// A field of a message: as many values as it has, none where an absent value is not written.
    fn field(
        &mut self,
        at: At,
        shape: &'static Shape,
        value: Option<&'a Value>,
    ) -> Result<(), EncodeError> {
        match (shape, value) {
            (
                Shape::Optional(_) | Shape::List(_) | Shape::Map(_) | Shape::Bytes | Shape::Strings,
                None,
            ) => Ok(()),
            (Shape::Optional(inner), value) => self.field(at, inner, value),
            (Shape::List(item), Some(Value::Array(values))) => {
                for value in values.iter().rev() {
                    self.single(at, item, present(value))?;
                }
                Ok(())
            }
            (Shape::Map(item), Some(Value::Object(entries))) => self.map(at, item, entries),
            (Shape::List(_), _) => Err(at.mismatch("list")),
            (Shape::Map(_), _) => Err(at.mismatch("map")),
            (shape, value) => self.single(at, shape, value),
        }
    }

    fn map(
        &mut self,
        at: At,
        item: &'static Shape,
        entries: &'a Map<String, Value>,
    ) -> Result<(), EncodeError> {
        // Maps are sorted unless a feature of serde_json keeps their order.
        if entries.keys().is_sorted() {
            for (key, value) in entries.iter().rev() {
                self.entry(at, item, key, value)?;
            }
        } else {
            let mut sorted: Vec<_> = entries.iter().collect();
            sorted.sort_unstable_by_key(|(key, _)| *key);
            for (key, value) in sorted.into_iter().rev() {
                self.entry(at, item, key, value)?;
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        at: At,
        item: &'static Shape,
        key: &str,
        value: &'a Value,
    ) -> Result<(), EncodeError> {
        let mark = self.out.len();
        let value = present(value);
        if !(value.is_none() && matches!(item, Shape::Bytes)) {
            self.single(at.numbered(2), item, value)?;
        }
        self.out.bytes_field(1, key.as_bytes());
        self.out.close(at.number, mark);
        Ok(())
    }

    /// Writes one value with its tag; the zero value if there is none.
    fn single(
        &mut self,
        at: At,
        shape: &'static Shape,
        value: Option<&'a Value>,
    ) -> Result<(), EncodeError> {
        let mark = self.out.len();
        match shape {
            Shape::Message(id) => self.message(at, *id, value)?,
            Shape::SchemaOrBool(schema) => match value {
                Some(Value::Object(_)) => {
                    self.message(at.numbered(2), *schema, value)?;
                    self.out.close(2, mark);
                    self.out.varint_field(1, 1);
                }
                Some(Value::Bool(allows)) => self.out.varint_field(1, u64::from(*allows)),
                None => self.out.varint_field(1, 0),
                Some(_) => return Err(at.mismatch("boolean or JSON schema")),
            },
            Shape::SchemaOrArray(schema) => {
                self.schema_or(at, *schema, &Shape::Message(*schema), value)?
            }
            Shape::SchemaOrStrings(schema) => self.schema_or(at, *schema, &Shape::String, value)?,
            leaf => return self.leaf(at, leaf, value),
        }
        self.out.close(at.number, mark);
        Ok(())
    }

    fn message(
        &mut self,
        at: At,
        id: MessageId,
        value: Option<&'a Value>,
    ) -> Result<(), EncodeError> {
        let layout = message(id);
        match value {
            None => self.fields(layout, None, at.depth),
            Some(Value::Object(object)) => self.fields(layout, Some(object), at.depth),
            Some(_) => Err(at.mismatch(layout.name)),
        }
    }

    /// A schema as field 1, or a list as field 2.
    fn schema_or(
        &mut self,
        at: At,
        schema: MessageId,
        item: &Shape,
        value: Option<&'a Value>,
    ) -> Result<(), EncodeError> {
        let Some(value) = value else { return Ok(()) };
        match value {
            Value::Array(values) => {
                for value in values.iter().rev() {
                    let mark = self.out.len();
                    match item {
                        Shape::Message(id) => self.message(at, *id, present(value))?,
                        _ => self
                            .out
                            .bytes(value.as_str().ok_or(at.mismatch("string"))?.as_bytes()),
                    }
                    self.out.varint((self.out.len() - mark) as u64);
                    self.out.tag(2, LENGTH);
                }
                Ok(())
            }
            Value::Object(_) => {
                let mark = self.out.len();
                self.message(at, schema, Some(value))?;
                self.out.close(1, mark);
                Ok(())
            }
            _ => Err(at.mismatch("JSON schema or list")),
        }
    }
}

fn present(value: &Value) -> Option<&Value> {
    (!value.is_null()).then_some(value)
}
