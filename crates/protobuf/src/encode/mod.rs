//! Encodes objects into bytes, as the Go server writes them.
//!
//! The value is what Go would print: zero values that are not printed are absent. On the wire they are written
//! nevertheless: every field that is not a pointer, a list or a map stands in every message.
//!
//! Invariant: the bytes of a normal object equal those of the Go server. Where Go keeps JSON text as it was sent
//! (`RawExtension`), the value does not know the text, and the bytes hold the same JSON in compact form with sorted keys.

mod leaf;

use kubewright_machinery::limits::DOCUMENT_DEPTH;
use serde_json::Value;

use crate::{
    EncodeError, MAGIC,
    input::{Form, Json, Source, Tree},
    layout::{Content, Lookup, Message, MessageId, Part, Parts, Shape, message, message_of_kind},
    wire::{LENGTH, Sink, Writer},
};

/// Encodes an object, a list, a `Status` or any other value with `kind` and `apiVersion`, in its envelope.
///
/// # Errors
///
/// Returns an error if the kind is unknown, or the value does not fit its type.
pub fn encode(value: &Value) -> Result<Vec<u8>, EncodeError> {
    let mut out = Writer::with_capacity(4096);
    envelope_of(value, &mut out)?;
    Ok(out.finish())
}

/// Encodes one frame of a watch: a length of four bytes, big endian, and an event of that type (`ADDED`, `ERROR`)
/// with the object in its envelope.
///
/// # Errors
///
/// Returns an error if the object cannot be encoded.
///
/// ```
/// use serde_json::json;
///
/// let pod = json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}});
/// let frame = kubewright_protobuf::encode_watch_event("ADDED", &pod)?;
/// let length = u32::from_be_bytes([frame[0], frame[1], frame[2], frame[3]]);
/// assert_eq!(length as usize, frame.len() - 4);
/// # Ok::<(), kubewright_protobuf::EncodeError>(())
/// ```
pub fn encode_watch_event(kind: &str, object: &Value) -> Result<Vec<u8>, EncodeError> {
    let mut out = Writer::with_capacity(4096);
    envelope_of(object, &mut out)?;
    frame(kind, &mut out)?;
    Ok(out.finish())
}

fn envelope_of(value: &Value, out: &mut Writer) -> Result<(), EncodeError> {
    let text = |key| value.get(key).and_then(Value::as_str).unwrap_or("");
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let layout = layout_of(api_version, kind)?;
    envelope(layout, (api_version, kind), (Tree::default(), value), out)
}

/// The message of a kind.
pub(crate) fn layout_of(api_version: &str, kind: &str) -> Result<&'static Message, EncodeError> {
    match message_of_kind(api_version, kind) {
        Lookup::Found(layout) => Ok(layout),
        _ => Err(EncodeError::NoType {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
        }),
    }
}

/// Writes an object in its envelope.
pub(crate) fn envelope<'a, S: Source<'a>>(
    layout: &'static Message,
    type_meta: (&str, &str),
    value: (S, S::Value),
    out: &mut Writer,
) -> Result<(), EncodeError> {
    // Content encoding and content type, both empty.
    out.bytes(&ENVELOPE_END);
    let mark = out.len();
    write_message(layout, value, out)?;
    out.close(2, mark);
    envelope_start(type_meta, out);
    Ok(())
}

/// The end of an envelope: empty content encoding and content type.
pub(crate) const ENVELOPE_END: [u8; 4] = [0x1a, 0, 0x22, 0];

/// Writes the start of an envelope, up to the object.
pub(crate) fn envelope_start((api_version, kind): (&str, &str), out: &mut Writer) {
    let mark = out.len();
    out.bytes_field(2, kind.as_bytes());
    out.bytes_field(1, api_version.as_bytes());
    out.close(1, mark);
    out.bytes(&MAGIC);
}

/// Writes the fields of an object.
pub(crate) fn write_message<'a, S: Source<'a>>(
    layout: &'static Message,
    (source, value): (S, S::Value),
    out: &mut impl Sink,
) -> Result<(), EncodeError> {
    let mut encoder = Encoder { out, source };
    let object = Some(value).filter(|value| value.form() == Form::Object);
    encoder.fields(layout, object, 0)
}

/// Makes the frame of a watch event of an envelope.
pub(crate) fn frame(kind: &str, out: &mut Writer) -> Result<(), EncodeError> {
    out.close(1, 0);
    out.close(2, 0);
    out.bytes_field(1, kind.as_bytes());
    // A frame of 4 GiB or more has no length, but no object is that large.
    let length = u32::try_from(out.len()).map_err(|_| EncodeError::Mismatch {
        field: "object",
        expected: "frame",
    })?;
    out.bytes(&length.to_be_bytes());
    Ok(())
}

/// Computes the bytes of a field that is absent: those of the zero value, unless an absent value is not written.
#[cold]
fn absent(
    part: &'static Part,
    at: At,
    shape: &'static Shape,
) -> Result<&'static [u8], EncodeError> {
    let mut out = Writer::with_capacity(16);
    let mut encoder = Encoder {
        out: &mut out,
        source: Tree::default(),
    };
    encoder.field(at, shape, None)?;
    Ok(part.absent.get_or_init(|| out.finish().into()))
}

struct Encoder<'w, S, W> {
    out: &'w mut W,
    source: S,
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

impl<'a, S: Source<'a>, W: Sink> Encoder<'_, S, W> {
    /// The fields of a message, without tag and length.
    fn fields(
        &mut self,
        layout: &'static Message,
        object: Option<S::Value>,
        depth: usize,
    ) -> Result<(), EncodeError> {
        if depth > DOCUMENT_DEPTH {
            return Err(EncodeError::TooDeep);
        }
        let fields = self.source.open(layout, object);
        self.parts(&layout.parts, fields, depth)?;
        self.source.close(fields);
        Ok(())
    }

    fn parts(
        &mut self,
        parts: &'static Parts,
        fields: S::Fields,
        depth: usize,
    ) -> Result<(), EncodeError> {
        for part in parts.descending() {
            match &part.content {
                Content::Field {
                    json, slot, shape, ..
                } => {
                    let value = self.source.get(fields, *slot);
                    // Most fields that are present are strings.
                    if let (Shape::String, Some(text)) = (shape, value.and_then(Json::plain)) {
                        self.out.bytes_field(part.number, text);
                        continue;
                    }
                    let at = At {
                        number: part.number,
                        json,
                        depth: depth + 1,
                    };
                    match part.absent.get().filter(|_| value.is_none()) {
                        Some(bytes) if bytes.is_empty() => {}
                        Some(bytes) => self.out.bytes(bytes),
                        None if value.is_none() => self.out.bytes(absent(part, at, shape)?),
                        None => self.field(at, shape, value)?,
                    }
                }
                Content::Embedded(inner) => {
                    let mark = self.out.len();
                    self.parts(inner, fields, depth)?;
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
        value: Option<S::Value>,
    ) -> Result<(), EncodeError> {
        match (shape, value) {
            (
                Shape::Optional(_) | Shape::List(_) | Shape::Map(_) | Shape::Bytes | Shape::Strings,
                None,
            ) => Ok(()),
            (Shape::Optional(inner), value) => self.field(at, inner, value),
            (Shape::List(item), Some(values)) if values.form() == Form::Array => {
                for value in values.items_reversed() {
                    self.single(at, item, value.present())?;
                }
                Ok(())
            }
            (Shape::Map(item), Some(map)) if map.form() == Form::Object => self.map(at, item, map),
            (Shape::List(_), _) => Err(at.mismatch("list")),
            (Shape::Map(_), _) => Err(at.mismatch("map")),
            (shape, value) => self.single(at, shape, value),
        }
    }

    /// The entries of a map, sorted by key. The last one of equal keys counts.
    fn map(&mut self, at: At, item: &'static Shape, map: S::Value) -> Result<(), EncodeError> {
        if map.ascends() {
            for (key, value) in map.entries_reversed() {
                self.entry(at, item, &key, value)?;
            }
            return Ok(());
        }
        let mut sorted: Vec<_> = map.entries_reversed().collect();
        // Of equal keys the last one comes first, and is kept.
        sorted.sort_by(|(a, _), (b, _)| a.cmp(b));
        sorted.dedup_by(|(a, _), (b, _)| a == b);
        for (key, value) in sorted.into_iter().rev() {
            self.entry(at, item, &key, value)?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        at: At,
        item: &'static Shape,
        key: &[u8],
        value: S::Value,
    ) -> Result<(), EncodeError> {
        let mark = self.out.len();
        let value = value.present();
        if !(value.is_none() && matches!(item, Shape::Bytes)) {
            self.single(at.numbered(2), item, value)?;
        }
        self.out.bytes_field(1, key);
        self.out.close(at.number, mark);
        Ok(())
    }

    /// Writes one value with its tag; the zero value if there is none.
    fn single(
        &mut self,
        at: At,
        shape: &'static Shape,
        value: Option<S::Value>,
    ) -> Result<(), EncodeError> {
        if let (Shape::String, Some(text)) = (shape, value.and_then(Json::plain)) {
            self.out.bytes_field(at.number, text);
            return Ok(());
        }
        let mark = self.out.len();
        match shape {
            Shape::Message(id) => self.message(at, *id, value)?,
            Shape::SchemaOrBool(schema) => match value.map(Json::form) {
                Some(Form::Object) => {
                    self.message(at.numbered(2), *schema, value)?;
                    self.out.close(2, mark);
                    self.out.varint_field(1, 1);
                }
                Some(Form::Bool(allows)) => self.out.varint_field(1, u64::from(allows)),
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
        value: Option<S::Value>,
    ) -> Result<(), EncodeError> {
        let layout = message(id);
        match value.map(Json::form) {
            None | Some(Form::Object) => self.fields(layout, value, at.depth),
            Some(_) => Err(at.mismatch(layout.name)),
        }
    }

    /// A schema as field 1, or a list as field 2.
    fn schema_or(
        &mut self,
        at: At,
        schema: MessageId,
        item: &Shape,
        value: Option<S::Value>,
    ) -> Result<(), EncodeError> {
        let Some(value) = value else { return Ok(()) };
        match value.form() {
            Form::Array => {
                for value in value.items_reversed() {
                    let mark = self.out.len();
                    match item {
                        Shape::Message(id) => self.message(at, *id, value.present())?,
                        _ => self.out.bytes(&value.text().ok_or(at.mismatch("string"))?),
                    }
                    self.out.varint((self.out.len() - mark) as u64);
                    self.out.tag(2, LENGTH);
                }
                Ok(())
            }
            Form::Object => {
                let mark = self.out.len();
                self.message(at, schema, Some(value))?;
                self.out.close(1, mark);
                Ok(())
            }
            _ => Err(at.mismatch("JSON schema or list")),
        }
    }
}
