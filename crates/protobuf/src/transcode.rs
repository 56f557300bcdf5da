//! Transcodes JSON text to protobuf without a tree of values.
//!
//! A server keeps objects as JSON and sends many of them in protobuf. A [`Transcoder`] turns the text of one object into
//! its bytes; it keeps its buffers, so transcoding many objects allocates next to nothing. The bytes are those of
//! [`encode()`](crate::encode()), except that JSON inside of an object (`RawExtension`, `FieldsV1`) is copied as it is written.
//!
//! A list is streamed object by object. Its envelope begins with the length of everything in it, so the lengths of all
//! items are needed before the first byte is sent: [`ListType::item_len`] computes one, at about the cost of transcoding
//! the object. Callers that send the same objects repeatedly keep the lengths.

use serde_json::Value;

use crate::{
    EncodeError,
    encode::{ENVELOPE_END, envelope, envelope_start, frame, layout_of, write_message},
    input::{Tape, Tree},
    layout::Message,
    wire::{Counter, LENGTH, Sink, Writer},
};

/// A kind that has a protobuf form.
///
/// With `PartialObjectMetadata` of `meta.k8s.io/v1` as the type, the JSON of any object is transcoded to its metadata,
/// and what follows it is not read.
///
/// ```
/// use kubewright_protobuf::{EncodeError, ObjectType};
///
/// let pod = ObjectType::of("v1", "Pod")?;
/// assert_eq!((pod.api_version(), pod.kind()), ("v1", "Pod"));
/// let custom = ObjectType::of("example.com/v1", "Widget");
/// assert!(matches!(custom, Err(EncodeError::NoType { .. })));
/// # Ok::<(), EncodeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ObjectType {
    layout: &'static Message,
    api_version: Box<str>,
    kind: Box<str>,
}

/// A list kind that has a protobuf form, such as `PodList`.
///
/// ```
/// use kubewright_protobuf::{ListType, Transcoder};
/// use serde_json::json;
///
/// let objects = [
///     br#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{"x":"y"}}"#.as_slice(),
///     br#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"b"}}"#,
/// ];
/// let list = ListType::of("v1", "ConfigMapList")?;
/// let mut transcoder = Transcoder::new();
/// let mut length = 0;
/// for json in objects {
///     length += list.item_len(&mut transcoder, json)?;
/// }
///
/// let mut out = Vec::new();
/// list.start(&json!({"resourceVersion": "7"}), length, &mut out)?;
/// for json in objects {
///     list.item(&mut transcoder, json, &mut out)?;
/// }
/// out.extend(ListType::END);
///
/// let decoded = kubewright_protobuf::decode(&out, ("v1", "ConfigMapList"))?;
/// assert_eq!(decoded.value["items"][1]["metadata"]["name"], "b");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ListType {
    list: ObjectType,
    /// The protobuf number of `items`.
    number: u32,
    item: &'static Message,
}

/// Turns JSON text into protobuf, object by object.
///
/// ```
/// use kubewright_protobuf::{ObjectType, Transcoder};
///
/// let json = br#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{"x":"y"}}"#;
/// let mut transcoder = Transcoder::new();
/// let mut out = Vec::new();
/// transcoder.object(&ObjectType::of("v1", "ConfigMap")?, json, &mut out)?;
/// assert_eq!(out, kubewright_protobuf::encode(&serde_json::from_slice(json)?)?);
///
/// // Only the metadata:
/// let mut metadata = Vec::new();
/// let partial = ObjectType::of("meta.k8s.io/v1", "PartialObjectMetadata")?;
/// transcoder.object(&partial, json, &mut metadata)?;
/// assert!(metadata.len() < out.len() + partial.kind().len() + partial.api_version().len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct Transcoder {
    tape: Tape,
    out: Writer,
}

impl ObjectType {
    /// Returns the type of a kind.
    ///
    /// # Errors
    ///
    /// Returns [`EncodeError::NoType`] if the kind is not built in or has no protobuf form.
    pub fn of(api_version: &str, kind: &str) -> Result<Self, EncodeError> {
        Ok(ObjectType {
            layout: layout_of(api_version, kind)?,
            api_version: api_version.into(),
            kind: kind.into(),
        })
    }

    /// Returns the `apiVersion`, which the envelope names.
    pub fn api_version(&self) -> &str {
        &self.api_version
    }

    /// Returns the `kind`, which the envelope names.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Returns the type of a kind with this message.
    pub(crate) fn declared(layout: &'static Message, api_version: &str, kind: &str) -> Self {
        ObjectType {
            layout,
            api_version: api_version.into(),
            kind: kind.into(),
        }
    }

    pub(crate) fn layout(&self) -> &'static Message {
        self.layout
    }

    fn type_meta(&self) -> (&str, &str) {
        (&self.api_version, &self.kind)
    }
}

impl ListType {
    /// The bytes behind the last item.
    pub const END: [u8; 4] = ENVELOPE_END;

    /// Returns the type of a list kind.
    ///
    /// # Errors
    ///
    /// Returns [`EncodeError::NoType`] if the kind is not a built-in list, or has no protobuf form.
    pub fn of(api_version: &str, kind: &str) -> Result<Self, EncodeError> {
        let list = ObjectType::of(api_version, kind)?;
        match list.layout.items() {
            Some((number, item)) => Ok(ListType { list, number, item }),
            None => Err(EncodeError::NoType {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
            }),
        }
    }

    /// Returns the list type of a declared kind.
    pub(crate) fn declared(list: ObjectType, number: u32, item: &'static Message) -> Self {
        ListType { list, number, item }
    }

    /// Appends the envelope and the metadata of a list. `items` is the sum of the lengths of its items, which must
    /// follow, and then [`ListType::END`].
    ///
    /// # Errors
    ///
    /// Returns an error if the metadata does not fit its type.
    pub fn start(
        &self,
        metadata: &Value,
        items: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let mut head = Writer::with_capacity(256);
        let list = Value::Object(
            [("metadata".to_owned(), metadata.clone())]
                .into_iter()
                .collect(),
        );
        write_message(self.list.layout, (Tree::default(), &list), &mut head)?;
        head.varint(head.len().saturating_add(items) as u64);
        head.tag(2, LENGTH);
        envelope_start(self.list.type_meta(), &mut head);
        out.extend_from_slice(head.written());
        Ok(())
    }

    /// Appends an item of the list, from the JSON of an object.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not JSON or does not fit the type; nothing is appended.
    pub fn item(
        &self,
        transcoder: &mut Transcoder,
        json: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        transcoder.out.clear();
        write_item(self, json, &mut transcoder.tape, &mut transcoder.out)?;
        out.extend_from_slice(transcoder.out.written());
        Ok(())
    }

    /// Returns the number of bytes that [`ListType::item`] appends.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not JSON or does not fit the type.
    pub fn item_len(&self, transcoder: &mut Transcoder, json: &[u8]) -> Result<usize, EncodeError> {
        let mut counter = Counter::default();
        write_item(self, json, &mut transcoder.tape, &mut counter)?;
        Ok(counter.len())
    }
}

impl Transcoder {
    /// Creates a transcoder without buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends an object in its envelope. The envelope names the kind of the type, not the one in the JSON.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not JSON or does not fit the type; nothing is appended.
    pub fn object(
        &mut self,
        ty: &ObjectType,
        json: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        self.envelope(ty, json)?;
        out.extend_from_slice(self.out.written());
        Ok(())
    }

    /// Appends one frame of a watch, as [`encode_watch_event`](crate::encode_watch_event) does.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not JSON or does not fit the type; nothing is appended.
    pub fn watch_event(
        &mut self,
        event: &str,
        ty: &ObjectType,
        json: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        self.envelope(ty, json)?;
        frame(event, &mut self.out)?;
        out.extend_from_slice(self.out.written());
        Ok(())
    }

    fn envelope(&mut self, ty: &ObjectType, json: &[u8]) -> Result<(), EncodeError> {
        self.out.clear();
        let value = self.tape.scan(json, ty.layout)?;
        envelope(ty.layout, ty.type_meta(), value, &mut self.out)
    }
}

fn write_item(
    list: &ListType,
    json: &[u8],
    tape: &mut Tape,
    out: &mut impl Sink,
) -> Result<(), EncodeError> {
    let value = tape.scan(json, list.item)?;
    write_message(list.item, value, out)?;
    out.close(list.number, 0);
    Ok(())
}
