//! Compiles the catalog's tables into layouts.

use std::{
    collections::{BTreeMap, HashMap},
    sync::OnceLock,
};

use kubewright_catalog::{
    generated::{TYPES, meta_v1},
    types::{Field, StructType, Type},
};

use super::{
    Content, Index, Layouts, Message, MessageId, Name, Part, Parts, Shape, address,
    names::{embedded_name, go_name},
    omits_zero,
};

/// Compiles every type of the catalog.
pub(super) fn compile() -> Layouts {
    let mut compiler = Compiler::default();
    for ty in TYPES {
        compiler.id(ty);
    }
    let mut messages = Vec::new();
    // Compiling a type may find types that are not listed.
    while let Some(&ty) = compiler.found.get(messages.len()) {
        messages.push(compiler.message(ty, |field| field.proto));
    }
    let old_metadata_list =
        compiler.message(
            &meta_v1::PARTIAL_OBJECT_METADATA_LIST,
            |field| match field.proto {
                1 => 2,
                2 => 1,
                other => other,
            },
        );
    Layouts {
        messages,
        by_type: compiler.ids,
        old_metadata_list,
    }
}

#[derive(Default)]
struct Compiler {
    found: Vec<&'static StructType>,
    ids: HashMap<usize, MessageId>,
}

/// A level of a message in the making.
#[derive(Default)]
struct Level {
    parts: BTreeMap<u16, Slot>,
}

enum Slot {
    Field(Part),
    Embedded(Level),
}

impl Compiler {
    fn id(&mut self, ty: &'static StructType) -> MessageId {
        *self.ids.entry(address(ty)).or_insert_with(|| {
            self.found.push(ty);
            MessageId::BuiltIn(self.found.len() - 1)
        })
    }

    fn message(&mut self, ty: &'static StructType, number: fn(&Field) -> u16) -> Message {
        let mut root = Level::default();
        let mut names = Vec::new();
        for (field, slot) in ty.fields.iter().zip(0..) {
            let number = number(field);
            let shape = (number != 0).then(|| self.shape(&field.ty));
            names.push(Name {
                json: field.json,
                slot,
                shape: shape.clone(),
            });
            let Some(shape) = shape else {
                continue;
            };
            let part = Part {
                number: number.into(),
                go_name: go_name(ty.name, field).into(),
                content: Content::Field {
                    json: field.json,
                    slot,
                    omit_zero: omits_zero(field.omit),
                    shape,
                },
                absent: OnceLock::new(),
            };
            root.insert(field.embedded, number, part);
        }
        Message {
            name: ty.name,
            parts: root.finish(),
            names: Index::new(names),
            collections: Box::default(),
        }
    }

    fn shape(&mut self, ty: &'static Type) -> Shape {
        match ty {
            Type::Bool => Shape::Bool,
            Type::Int32 => Shape::Int32,
            Type::Int64 => Shape::Int64,
            Type::Uint32 => Shape::Uint32,
            Type::Float64 => Shape::Float64,
            Type::String(_) => Shape::String,
            Type::Bytes => Shape::Bytes,
            Type::Struct(ty) => Shape::Message(self.id(ty)),
            Type::Optional(ty) => Shape::Optional(self.shape(ty).into()),
            Type::List(ty) => Shape::List(self.shape(ty).into()),
            Type::Map(ty) => Shape::Map(self.shape(ty).into()),
            Type::StringsMessage(_) => Shape::Strings,
            Type::Quantity => Shape::Quantity,
            Type::IntOrString => Shape::IntOrString,
            Type::Time => Shape::Time,
            Type::MicroTime => Shape::MicroTime,
            Type::Duration => Shape::Duration,
            Type::RawExtension | Type::Json | Type::FieldsV1 => Shape::Raw,
            Type::SchemaOrBool(ty) => Shape::SchemaOrBool(self.id(ty)),
            Type::SchemaOrArray(ty) => Shape::SchemaOrArray(self.id(ty)),
            Type::SchemaOrStrings(ty) => Shape::SchemaOrStrings(self.id(ty)),
        }
    }
}

impl Level {
    fn insert(&mut self, embedded: &[u16], number: u16, part: Part) {
        let Some((&outer, embedded)) = embedded.split_first() else {
            self.parts.insert(number, Slot::Field(part));
            return;
        };
        let slot = self
            .parts
            .entry(outer)
            .or_insert_with(|| Slot::Embedded(Level::default()));
        if let Slot::Embedded(inner) = slot {
            inner.insert(embedded, number, part);
        }
    }

    fn finish(self) -> Parts {
        let highest = self.parts.keys().next_back().copied().unwrap_or(0);
        let mut by_number = vec![0; usize::from(highest) + 1];
        let mut list = Vec::with_capacity(self.parts.len());
        for ((number, slot), place) in self.parts.into_iter().zip(1..) {
            by_number[usize::from(number)] = place;
            list.push(match slot {
                Slot::Field(part) => part,
                Slot::Embedded(level) => {
                    let parts = level.finish();
                    Part {
                        number: number.into(),
                        go_name: embedded_name(&parts).into(),
                        content: Content::Embedded(parts),
                        absent: OnceLock::new(),
                    }
                }
            });
        }
        Parts {
            list: list.into(),
            by_number: by_number.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Lookup, message_of_kind};
    use super::*;

    fn pod() -> &'static Message {
        match message_of_kind("v1", "Pod") {
            Lookup::Found(message) => message,
            _ => panic!("pods are built in"),
        }
    }

    #[test]
    fn parts_ascend_and_are_found_by_number() {
        for message in &compile().messages {
            let numbers: Vec<_> = message.parts.list.iter().map(|part| part.number).collect();
            assert!(numbers.is_sorted(), "{}", message.name);
            for part in &message.parts.list {
                let found = message.parts.get(part.number).expect("it is listed");
                assert!(std::ptr::eq(found, part), "{}", message.name);
            }
            assert!(message.parts.get(0).is_none() && message.parts.get(u32::MAX).is_none());
        }
    }

    #[test]
    fn names_are_found_in_any_order() {
        for name in [
            "apiVersion",
            "kind",
            "metadata",
            "spec",
            "status",
            "kind",
            "apiVersion",
        ] {
            assert!(pod().name(name.as_bytes()).is_some(), "{name}");
        }
        assert!(pod().name(b"nope").is_none());
        assert!(pod().name(b"zzz").is_none());
    }

    #[test]
    fn options_have_one_form_under_every_version() {
        for api_version in ["v1", "apps/v1", "example.com/v7", "meta.k8s.io/v1"] {
            assert!(matches!(
                message_of_kind(api_version, "DeleteOptions"),
                Lookup::Found(_)
            ));
        }
        assert!(matches!(
            message_of_kind("meta.k8s.io/v1", "Table"),
            Lookup::NoForm("Table")
        ));
        assert!(matches!(
            message_of_kind("example.com/v1", "Pod"),
            Lookup::NoKind
        ));
    }
}
