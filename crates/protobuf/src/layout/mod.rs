//! The tables of the catalog, compiled for the wire.
//!
//! The catalog lists the fields of a struct in declaration order under their JSON names, with embedded structs
//! flattened. On the wire they are ordered by number, with embedded structs as separate messages. A [`Message`] holds
//! both views. All are compiled at first use and refer to each other by [`MessageId`].
//!
//! Messages of other types are declared at run time (`declared`).
//!
//! Invariants: the parts of a message ascend by number; each name of a message has a slot below [`Message::slots`].

mod compile;
mod declared;
mod index;
mod names;

use std::{
    collections::HashMap,
    sync::{LazyLock, OnceLock},
};

use kubewright_catalog::{
    kind_type,
    types::{Omit, StructType},
};

pub(crate) use declared::declare;
use index::Index;

/// A message: one struct of the catalog, or a declared one.
pub(crate) struct Message {
    /// The struct's name, for errors.
    pub(crate) name: &'static str,
    /// The fields as protobuf nests them.
    pub(crate) parts: Parts,
    /// The fields by JSON name.
    names: Index,
    /// The lists and maps that are empty, and not absent, in an object without them.
    pub(crate) collections: Box<[(&'static str, Empty)]>,
}

/// An empty list or map.
#[derive(Clone, Copy)]
pub(crate) enum Empty {
    List,
    Map,
}

/// A field by its JSON name.
pub(crate) struct Name {
    /// The JSON name.
    pub(crate) json: &'static str,
    /// The index among the fields of the struct.
    pub(crate) slot: u16,
    /// The type; `None` if the field is not on the wire.
    pub(crate) shape: Option<Shape>,
}

/// The fields of one level of a message.
#[derive(Default)]
pub(crate) struct Parts {
    list: Box<[Part]>,
    /// For each number, one more than its index in `list`, or 0.
    by_number: Box<[u16]>,
}

/// A numbered part of a message.
pub(crate) struct Part {
    /// The protobuf number.
    pub(crate) number: u32,
    /// The name of the field in Go, for errors.
    pub(crate) go_name: Box<str>,
    /// The content of the field.
    pub(crate) content: Content,
    /// The bytes of the field if it is absent, once they are known.
    pub(crate) absent: OnceLock<Box<[u8]>>,
}

/// The content of a field.
pub(crate) enum Content {
    /// A field.
    Field {
        /// The JSON name.
        json: &'static str,
        /// The index among the fields of the struct.
        slot: u16,
        /// `true` if the zero value is not printed.
        omit_zero: bool,
        /// The type.
        shape: Shape,
    },
    /// An embedded struct, whose fields JSON has in the outer one.
    Embedded(Parts),
}

/// The type of a value: the catalog's `Type` with references resolved.
#[derive(Clone)]
pub(crate) enum Shape {
    Bool,
    Int32,
    Int64,
    Uint32,
    Float64,
    /// A `Float64` that is an integer in JSON if it has no fraction, as declared types have.
    Number,
    String,
    Bytes,
    Message(MessageId),
    Optional(Box<Shape>),
    List(Box<Shape>),
    Map(Box<Shape>),
    Strings,
    Quantity,
    IntOrString,
    /// An `IntOrString` of 64 bits, which declared types have.
    Int64OrString,
    Time,
    MicroTime,
    Duration,
    /// JSON text in a message: `RawExtension`, `JSON` and `FieldsV1` look the same.
    Raw,
    SchemaOrBool(MessageId),
    SchemaOrArray(MessageId),
    SchemaOrStrings(MessageId),
}

/// A reference to a message.
#[derive(Clone, Copy)]
pub(crate) enum MessageId {
    /// The place among those of the catalog.
    BuiltIn(usize),
    Declared(&'static Message),
}

/// The message of a kind, if it is built in and has a protobuf form.
pub(crate) fn message_of_kind(api_version: &str, kind: &str) -> Lookup {
    let (group, version) = match (api_version, kind) {
        // The discovery documents of the core group name no version.
        ("", "APIVersions" | "APIResourceList") => ("", "v1"),
        _ => api_version.split_once('/').unwrap_or(("", api_version)),
    };
    let ty = kind_type(group, version, kind).or_else(|| {
        // Options may be sent under any group and version, and metadata under an older one.
        let options = matches!(
            kind,
            "CreateOptions"
                | "DeleteOptions"
                | "GetOptions"
                | "ListOptions"
                | "PatchOptions"
                | "UpdateOptions"
        );
        let metadata = kind.starts_with("PartialObjectMetadata")
            && (group, version) == ("meta.k8s.io", "v1beta1");
        (options || metadata)
            .then(|| kind_type("meta.k8s.io", "v1", kind))
            .flatten()
    });
    let Some(ty) = ty else {
        return Lookup::NoKind;
    };
    let message = match (version, kind) {
        ("v1beta1", "PartialObjectMetadataList") => Some(&LAYOUTS.old_metadata_list),
        _ => LAYOUTS.by_type.get(&address(ty)).map(|&id| message(id)),
    };
    match message {
        Some(message) if !message.parts.list.is_empty() => Lookup::Found(message),
        _ => Lookup::NoForm(ty.name),
    }
}

/// The result of [`message_of_kind`].
pub(crate) enum Lookup {
    Found(&'static Message),
    /// The kind exists, but not in protobuf. Holds the struct's name.
    NoForm(&'static str),
    NoKind,
}

/// The message of that id.
pub(crate) fn message(id: MessageId) -> &'static Message {
    match id {
        // Ids are handed out by the compiler alone, each for a message that it adds.
        MessageId::BuiltIn(place) => &LAYOUTS.messages[place],
        MessageId::Declared(message) => message,
    }
}

impl std::fmt::Debug for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Message").field(&self.name).finish()
    }
}

impl Message {
    /// The number of fields of the struct.
    pub(crate) fn slots(&self) -> usize {
        self.names.len()
    }

    /// The field of a JSON name.
    #[inline]
    pub(crate) fn name(&self, json: &[u8]) -> Option<&Name> {
        self.names.get(json)
    }

    /// The number of fields that are on the wire.
    pub(crate) fn carried(&self) -> usize {
        self.names.carried()
    }

    /// The number and message of the items, if it is a list of objects.
    pub(crate) fn items(&self) -> Option<(u32, &'static Message)> {
        self.parts.list.iter().find_map(|part| match &part.content {
            Content::Field {
                json: "items",
                shape: Shape::List(item),
                ..
            } => match **item {
                Shape::Message(id) => Some((part.number, message(id))),
                _ => None,
            },
            _ => None,
        })
    }
}

impl Parts {
    /// The part of that number.
    pub(crate) fn get(&self, number: u32) -> Option<&Part> {
        let place = *self.by_number.get(usize::try_from(number).ok()?)?;
        self.list.get(usize::from(place).checked_sub(1)?)
    }

    /// The parts, the highest number first, as they are written.
    pub(crate) fn descending(&self) -> impl Iterator<Item = &Part> {
        self.list.iter().rev()
    }
}

struct Layouts {
    messages: Vec<Message>,
    by_type: HashMap<usize, MessageId>,
    /// `PartialObjectMetadataList` of `meta.k8s.io/v1beta1`, which numbers its two fields the other way round.
    old_metadata_list: Message,
}

static LAYOUTS: LazyLock<Layouts> = LazyLock::new(compile::compile);

/// Types are statics, so their address identifies them.
fn address(ty: &'static StructType) -> usize {
    std::ptr::from_ref(ty).addr()
}

fn omits_zero(omit: Omit) -> bool {
    !matches!(omit, Omit::Never)
}
