//! Decodes bytes into objects, accepting everything that Go accepts.
//!
//! Fields may come in any order; unknown ones are skipped; of repeated scalars the last counts; repeated messages
//! merge. The result is the JSON form of the message: times and quantities as text, bytes in base64. Whether Go
//! would print a field that was not sent is left to `kubewright_schema::normalize_typed`.
//!
//! Invariants: nothing is read past the end of a message; values nest no deeper than
//! [`DOCUMENT_DEPTH`]; allocations are proportional to the size of the input.

mod leaf;

use kubewright_machinery::limits::DOCUMENT_DEPTH;
use serde_json::{Map, Value};

use crate::{
    DecodeError, MAGIC,
    layout::{
        Content, Empty, Lookup, Message, MessageId, Part, Parts, Shape, message, message_of_kind,
    },
    wire::{FIXED64, LENGTH, Reader, Tag, VARINT},
};

/// A decoded object.
///
/// ```
/// use kubewright_protobuf::{decode, encode};
/// use serde_json::json;
///
/// let bytes = encode(&json!({"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "token"}}))?;
/// // The envelope names a kind, so the caller's does not count.
/// let decoded = decode(&bytes, ("v1", "ConfigMap"))?;
/// assert_eq!(decoded.kind, "Secret");
/// assert_eq!(decoded.value["metadata"]["name"], "token");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The API version: the envelope's, or the caller's where the envelope has none.
    pub api_version: String,
    /// The kind: the envelope's, or the caller's where the envelope has none.
    pub kind: String,
    /// The object, with `apiVersion` and `kind` set.
    pub value: Value,
}

/// Reads an object in its envelope. `default` is the API version and the kind to assume where the envelope names none.
///
/// # Errors
///
/// Returns an error if the bytes are not an object of a known kind.
///
/// ```
/// let object = serde_json::json!({"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "shop"}});
/// let bytes = kubewright_protobuf::encode(&object)?;
/// let decoded = kubewright_protobuf::decode(&bytes, ("v1", "Namespace"))?;
/// assert_eq!(decoded.value["metadata"]["name"], "shop");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn decode(bytes: &[u8], default: (&str, &str)) -> Result<Decoded, DecodeError> {
    decode_kind(bytes, default, message_of_kind)
}

/// Reads an object as [`decode`] does, also in versions that are not known: `same_fields` returns the API version whose objects
/// have the same fields. The decoded object has the version of its envelope.
///
/// # Errors
///
/// Returns an error if the bytes are not an object of a known kind.
///
/// ```
/// use kubewright_protobuf::{MAGIC, decode, decode_versions};
///
/// // Written by an older server: the API version, the kind, and an object without fields.
/// let text = |field: u8, text: &str| [&[field << 3 | 2, text.len() as u8], text.as_bytes()].concat();
/// let meta = [text(1, "networking.k8s.io/v1beta1"), text(2, "ServiceCIDR")].concat();
/// let bytes = [&MAGIC[..], &[0x0a, meta.len() as u8], &meta, &[0x12, 0]].concat();
///
/// assert!(decode(&bytes, ("", "")).is_err());
/// let decoded = decode_versions(&bytes, ("", ""), |version, _| {
///     (version == "networking.k8s.io/v1beta1").then(|| "networking.k8s.io/v1".to_owned())
/// })?;
/// assert_eq!(decoded.value["apiVersion"], "networking.k8s.io/v1beta1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn decode_versions(
    bytes: &[u8],
    default: (&str, &str),
    same_fields: impl FnOnce(&str, &str) -> Option<String>,
) -> Result<Decoded, DecodeError> {
    decode_kind(bytes, default, |api_version, kind| {
        match message_of_kind(api_version, kind) {
            Lookup::NoKind => match same_fields(api_version, kind) {
                Some(known) => message_of_kind(&known, kind),
                None => Lookup::NoKind,
            },
            found => found,
        }
    })
}

/// Reads an object in its envelope. `find` returns the message of a kind.
pub(crate) fn decode_kind(
    bytes: &[u8],
    default: (&str, &str),
    find: impl FnOnce(&str, &str) -> Lookup,
) -> Result<Decoded, DecodeError> {
    let envelope = Envelope::read(bytes).map_err(DecodeError::Envelope)?;
    let (mut api_version, mut kind) = (envelope.api_version.clone(), envelope.kind.clone());
    // A version with two slashes is invalid.
    if api_version.is_empty() || api_version.matches('/').count() > 1 {
        api_version = default.0.to_owned();
    }
    if kind.is_empty() {
        kind = default.1.to_owned();
    }
    for (part, what) in [(&kind, "Kind"), (&api_version, "apiVersion")] {
        if part.is_empty() {
            return Err(DecodeError::Missing {
                what,
                api_version: envelope.api_version,
                kind: envelope.kind,
            });
        }
    }
    let body = |message| DecodeError::Body {
        api_version: api_version.clone(),
        kind: kind.clone(),
        message,
    };
    let layout = match find(&api_version, &kind) {
        Lookup::Found(layout) => layout,
        Lookup::NoKind => return Err(DecodeError::NoKind { api_version, kind }),
        Lookup::NoForm(name) => {
            return Err(body(format!(
                "object *v1.{name} does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message"
            )));
        }
    };
    let mut object = Map::new();
    fields(layout, envelope.raw, &mut object, 0).map_err(body)?;
    object.insert("apiVersion".to_owned(), api_version.clone().into());
    object.insert("kind".to_owned(), kind.clone().into());
    Ok(Decoded {
        api_version,
        kind,
        value: Value::Object(object),
    })
}

/// `runtime.Unknown`, as far as it matters.
#[derive(Default)]
struct Envelope<'b> {
    api_version: String,
    kind: String,
    raw: &'b [u8],
}

impl<'b> Envelope<'b> {
    fn read(bytes: &'b [u8]) -> Result<Self, String> {
        if bytes.is_empty() {
            return Err("empty data".into());
        }
        let Some(bytes) = bytes.strip_prefix(&MAGIC) else {
            return Err(format!(
                "provided data does not appear to be a protobuf message, expected prefix [{}]",
                MAGIC.map(|byte| byte.to_string()).join(" ")
            ));
        };
        if bytes.is_empty() {
            return Err("empty body".into());
        }
        let mut envelope = Envelope::default();
        let mut reader = Reader::new(bytes);
        while !reader.is_empty() {
            let tag = reader.tag("Unknown")?;
            match tag.number {
                1 => {
                    tag.expect(LENGTH, "TypeMeta")?;
                    envelope.type_meta(reader.block()?)?;
                }
                2 => {
                    tag.expect(LENGTH, "Raw")?;
                    envelope.raw = reader.block()?;
                }
                3 | 4 => {
                    let name = if tag.number == 3 {
                        "ContentEncoding"
                    } else {
                        "ContentType"
                    };
                    tag.expect(LENGTH, name)?;
                    reader.block()?;
                }
                _ => reader.skip(tag.wire)?,
            }
        }
        Ok(envelope)
    }

    fn type_meta(&mut self, bytes: &[u8]) -> Result<(), String> {
        let mut reader = Reader::new(bytes);
        while !reader.is_empty() {
            let tag = reader.tag("TypeMeta")?;
            let (into, name) = match tag.number {
                1 => (&mut self.api_version, "APIVersion"),
                2 => (&mut self.kind, "Kind"),
                _ => {
                    reader.skip(tag.wire)?;
                    continue;
                }
            };
            tag.expect(LENGTH, name)?;
            *into = leaf::text(reader.block()?);
        }
        Ok(())
    }
}

impl Tag {
    fn expect(self, wire: u8, field: &str) -> Result<(), String> {
        if self.wire == wire {
            Ok(())
        } else {
            Err(format!(
                "proto: wrong wireType = {} for field {field}",
                self.wire
            ))
        }
    }
}

/// Reads the fields of a message into an object that may hold what earlier occurrences of the message left.
fn fields(
    layout: &'static Message,
    bytes: &[u8],
    object: &mut Map<String, Value>,
    depth: usize,
) -> Result<(), String> {
    if depth > DOCUMENT_DEPTH {
        return Err("exceeded max depth".into());
    }
    let fresh = object.is_empty();
    parts(&layout.parts, layout.name, bytes, object, fresh, depth)?;
    for (json, empty) in &layout.collections {
        if !object.contains_key(*json) {
            let empty = match empty {
                Empty::List => Value::Array(Vec::new()),
                Empty::Map => Value::Object(Map::new()),
            };
            object.insert((*json).to_owned(), empty);
        }
    }
    Ok(())
}

/// Reads one level of a message. `fresh` says that the object holds none of its fields yet.
fn parts(
    parts: &'static Parts,
    name: &str,
    bytes: &[u8],
    object: &mut Map<String, Value>,
    fresh: bool,
    depth: usize,
) -> Result<(), String> {
    let mut reader = Reader::new(bytes);
    // Writers ascend. A number above all before it cannot have been seen.
    let mut highest = 0;
    while !reader.is_empty() {
        let tag = reader.tag(name)?;
        let Some(part) = parts.get(tag.number) else {
            reader.skip(tag.wire)?;
            continue;
        };
        let fresh = fresh && tag.number > highest;
        highest = highest.max(tag.number);
        match &part.content {
            Content::Embedded(inner) => {
                tag.expect(LENGTH, &part.go_name)?;
                self::parts(inner, &part.go_name, reader.block()?, object, fresh, depth)?;
            }
            Content::Field {
                json,
                omit_zero,
                shape,
                ..
            } => {
                let mut field = FieldReader {
                    part,
                    tag,
                    json,
                    omit_zero: *omit_zero,
                    fresh,
                    depth: depth + 1,
                };
                field.read(shape, &mut reader, object)?;
            }
        }
    }
    Ok(())
}

/// An occurrence of a field.
struct FieldReader {
    part: &'static Part,
    tag: Tag,
    json: &'static str,
    omit_zero: bool,
    fresh: bool,
    depth: usize,
}

impl FieldReader {
    fn read(
        &mut self,
        shape: &'static Shape,
        reader: &mut Reader<'_>,
        object: &mut Map<String, Value>,
    ) -> Result<(), String> {
        match shape {
            Shape::Optional(inner) => {
                // A pointer to zero is not zero.
                self.omit_zero = false;
                self.read(inner, reader, object)
            }
            Shape::List(item) => {
                let mut values = Vec::new();
                if item.wire() == VARINT && self.tag.wire == LENGTH {
                    let mut packed = Reader::new(reader.block()?);
                    while !packed.is_empty() {
                        values.push(leaf::number(item, packed.varint()?));
                    }
                } else {
                    self.tag.expect(item.wire(), &self.part.go_name)?;
                    values.push(single(item, reader, None, self.depth)?);
                }
                self.extend(object, Value::Array(Vec::new()), |list| {
                    if let Value::Array(list) = list {
                        list.append(&mut values);
                    }
                });
                Ok(())
            }
            Shape::Map(item) => {
                self.tag.expect(LENGTH, &self.part.go_name)?;
                let (key, value) = entry(item, reader.block()?, self.depth)?;
                self.extend(object, Value::Object(Map::new()), |map| {
                    if let Value::Object(map) = map {
                        map.insert(key, value);
                    }
                });
                Ok(())
            }
            shape => {
                self.tag.expect(shape.wire(), &self.part.go_name)?;
                let earlier = if self.fresh {
                    None
                } else {
                    object.remove(self.json)
                };
                let value = single(shape, reader, earlier, self.depth)?;
                if !(self.omit_zero && leaf::is_zero(&value)) {
                    object.insert(self.json.to_owned(), value);
                }
                Ok(())
            }
        }
    }

    /// Hands what earlier occurrences left, or `empty`, to `add`.
    fn extend<T>(
        &self,
        object: &mut Map<String, Value>,
        empty: Value,
        add: impl FnOnce(&mut Value) -> T,
    ) -> T {
        if !self.fresh
            && let Some(earlier) = object.get_mut(self.json)
        {
            return add(earlier);
        }
        let mut value = empty;
        let added = add(&mut value);
        object.insert(self.json.to_owned(), value);
        added
    }
}

/// Reads an entry of a map. The wire types within are not checked.
fn entry(item: &'static Shape, bytes: &[u8], depth: usize) -> Result<(String, Value), String> {
    let mut reader = Reader::new(bytes);
    let mut key = String::new();
    let mut value = None;
    while !reader.is_empty() {
        let text = reader.varint()?;
        match (text >> 3) as i32 {
            1 => key = leaf::text(reader.block()?),
            2 => value = Some(single(item, &mut reader, None, depth)?),
            _ => reader.skip((text & 7) as u8)?,
        }
    }
    let value = match value {
        Some(value) => value,
        None if item.wire() == LENGTH => single(item, &mut Reader::new(&[0]), None, depth)?,
        None => leaf::number(item, 0),
    };
    Ok((key, value))
}

/// Reads one value. `earlier` is what a message is merged into.
fn single(
    shape: &'static Shape,
    reader: &mut Reader<'_>,
    earlier: Option<Value>,
    depth: usize,
) -> Result<Value, String> {
    match shape {
        Shape::Message(id) => merge(*id, reader.block()?, earlier, depth),
        Shape::SchemaOrBool(schema) => {
            let mut choice =
                Choice::read(*schema, reader.block()?, depth, "JSONSchemaPropsOrBool")?;
            Ok(choice.schema.take().unwrap_or(Value::Bool(choice.allows)))
        }
        Shape::SchemaOrArray(schema) => {
            let choice = Choice::read(*schema, reader.block()?, depth, "JSONSchemaPropsOrArray")?;
            Ok(choice.list_or_schema())
        }
        Shape::SchemaOrStrings(schema) => {
            let choice = Choice::read(
                *schema,
                reader.block()?,
                depth,
                "JSONSchemaPropsOrStringArray",
            )?;
            Ok(choice.list_or_schema())
        }
        leaf => leaf::read(leaf, reader, earlier),
    }
}

fn merge(
    id: MessageId,
    bytes: &[u8],
    earlier: Option<Value>,
    depth: usize,
) -> Result<Value, String> {
    let mut object = match earlier {
        Some(Value::Object(object)) => object,
        _ => Map::new(),
    };
    fields(message(id), bytes, &mut object, depth)?;
    Ok(Value::Object(object))
}

/// A schema, or what may stand in its place.
#[derive(Default)]
struct Choice {
    schema: Option<Value>,
    allows: bool,
    list: Vec<Value>,
}

impl Choice {
    fn read(schema: MessageId, bytes: &[u8], depth: usize, name: &str) -> Result<Self, String> {
        let bool_form = name == "JSONSchemaPropsOrBool";
        let mut choice = Choice::default();
        let mut reader = Reader::new(bytes);
        while !reader.is_empty() {
            let tag = reader.tag(name)?;
            match (tag.number, bool_form) {
                (1, true) => {
                    tag.expect(VARINT, "Allows")?;
                    choice.allows = reader.varint()? != 0;
                }
                (1, false) | (2, true) => {
                    tag.expect(LENGTH, "Schema")?;
                    let earlier = choice.schema.take();
                    choice.schema = Some(merge(schema, reader.block()?, earlier, depth)?);
                }
                (2, false) if name == "JSONSchemaPropsOrArray" => {
                    tag.expect(LENGTH, "JSONSchemas")?;
                    choice
                        .list
                        .push(merge(schema, reader.block()?, None, depth)?);
                }
                (2, false) => {
                    tag.expect(LENGTH, "Property")?;
                    choice.list.push(leaf::text(reader.block()?).into());
                }
                _ => reader.skip(tag.wire)?,
            }
        }
        Ok(choice)
    }

    fn list_or_schema(self) -> Value {
        if self.list.is_empty() {
            self.schema.unwrap_or(Value::Null)
        } else {
            Value::Array(self.list)
        }
    }
}

impl Shape {
    /// The wire type of one value.
    fn wire(&self) -> u8 {
        match self {
            Shape::Bool | Shape::Int32 | Shape::Int64 | Shape::Uint32 => VARINT,
            Shape::Float64 | Shape::Number => FIXED64,
            _ => LENGTH,
        }
    }
}
