//! Compiles declared messages.
//!
//! Layouts are referred to for the life of the program, and a server declares as many messages as its Rust types have. So
//! they are never freed; a message that was declared before is found again.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{LazyLock, Mutex, MutexGuard, OnceLock, PoisonError},
};

use kubewright_catalog::{
    generated::meta_v1::{LIST_META, OBJECT_META},
    types::StructType,
};

use super::{
    Content, Empty, Index, LAYOUTS, Message, MessageId, Name, Part, Parts, Shape, address,
};
use crate::declared::{MessageType, ValueType};

static DECLARED: LazyLock<Mutex<HashMap<MessageType, &'static Message>>> =
    LazyLock::new(Mutex::default);

fn known() -> MutexGuard<'static, HashMap<MessageType, &'static Message>> {
    // A map that a panic left behind is complete: entries are inserted whole.
    DECLARED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the layout of a message, whose fields have different names and numbers.
pub(crate) fn declare(ty: &MessageType) -> &'static Message {
    if let Some(message) = known().get(ty) {
        return message;
    }
    let fields = ty.fields.iter().map(|field| Declared {
        json: kept(&field.json),
        number: field.number,
        shape: shape(&field.value),
        empty: match (&field.value, field.required) {
            (ValueType::List(_), true) => Some(Empty::List),
            (ValueType::Map(_), true) => Some(Empty::Map),
            _ => None,
        },
    });
    let message = compile(kept(&ty.name), fields.collect());
    known().entry(ty.clone()).or_insert(message)
}

/// A field to compile.
struct Declared {
    json: &'static str,
    number: u16,
    shape: Shape,
    empty: Option<Empty>,
}

fn compile(name: &'static str, fields: Vec<Declared>) -> &'static Message {
    let mut names = Vec::new();
    let mut collections = Vec::new();
    let mut parts = BTreeMap::new();
    for (field, slot) in fields.into_iter().zip(0..) {
        names.push(Name {
            json: field.json,
            slot,
            shape: Some(field.shape.clone()),
        });
        collections.extend(field.empty.map(|empty| (field.json, empty)));
        let part = Part {
            number: field.number.into(),
            go_name: field.json.into(),
            content: Content::Field {
                json: field.json,
                slot,
                omit_zero: false,
                shape: field.shape,
            },
            absent: OnceLock::new(),
        };
        parts.insert(field.number, part);
    }
    let highest = parts.keys().next_back().copied().unwrap_or(0);
    let mut by_number = vec![0; usize::from(highest) + 1];
    for (number, place) in parts.keys().zip(1..) {
        by_number[usize::from(*number)] = place;
    }
    Box::leak(Box::new(Message {
        name,
        parts: Parts {
            list: parts.into_values().collect(),
            by_number: by_number.into(),
        },
        names: Index::new(names),
        collections: collections.into(),
    }))
}

/// Returns the shape of a field. Absent values are not written, so that they differ from zero values.
fn shape(value: &ValueType) -> Shape {
    match value {
        ValueType::List(item) => Shape::List(element(item).into()),
        ValueType::Map(item) => Shape::Map(element(item).into()),
        value => Shape::Optional(element(value).into()),
    }
}

/// Returns the shape of a single value. There are no lists of lists: they are JSON.
fn element(value: &ValueType) -> Shape {
    match value {
        ValueType::Bool => Shape::Bool,
        ValueType::Int32 => Shape::Int32,
        ValueType::Int64 => Shape::Int64,
        ValueType::Double => Shape::Number,
        ValueType::String => Shape::String,
        ValueType::IntOrString => Shape::Int64OrString,
        ValueType::ObjectMeta => built_in(&OBJECT_META),
        ValueType::ListMeta => built_in(&LIST_META),
        ValueType::Message(ty) => Shape::Message(MessageId::Declared(declare(ty))),
        ValueType::Json | ValueType::List(_) | ValueType::Map(_) => Shape::Raw,
    }
}

fn built_in(ty: &'static StructType) -> Shape {
    match LAYOUTS.by_type.get(&address(ty)) {
        Some(&id) => Shape::Message(id),
        // Every type of the catalog is compiled.
        None => Shape::Raw,
    }
}

fn kept(text: &str) -> &'static str {
    Box::leak(text.into())
}
