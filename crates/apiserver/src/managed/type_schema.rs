//! The shape tables of the catalog, as `kubewright-merge` looks at types.

use kubewright_catalog::types::{Field, ListType, PatchStrategy, StructType, Type};
use kubewright_merge::{
    schema::{ListMerge, Scalar, Schema, Shape as Kind},
    strategic::{Holder, PatchField, PatchSchema, Strategy},
};
use serde_json::Value;

use crate::registry::Shape;

/// A handle to the type of one value.
#[derive(Clone, Copy, Debug)]
pub enum TypeSchema {
    /// A whole object.
    Object(&'static StructType),
    /// The value of a field.
    Field(&'static Field),
    /// An item of a list, or a value of a map.
    Item(&'static Type),
    /// Nothing is known.
    Deduced,
}

static STRING: Type = Type::String("string");

impl TypeSchema {
    /// The type of objects of that shape.
    pub fn of(shape: Shape) -> Self {
        match shape {
            Shape::Typed(ty) => Self::Object(ty),
            Shape::Untyped => Self::Deduced,
        }
    }

    fn ty(&self) -> Option<&'static Type> {
        let mut ty = match self {
            Self::Object(_) | Self::Deduced => return None,
            Self::Field(field) => &field.ty,
            Self::Item(ty) => *ty,
        };
        while let Type::Optional(inner) = ty {
            ty = inner;
        }
        Some(ty)
    }

    fn struct_type(&self) -> Option<&'static StructType> {
        match self {
            Self::Object(ty) => Some(ty),
            _ => match self.ty()? {
                Type::Struct(ty) => Some(ty),
                _ => None,
            },
        }
    }

    fn list_type(&self) -> ListType {
        match self {
            Self::Field(field) if field.list_declared => field.list,
            _ => ListType::Atomic,
        }
    }

    fn declared_atomic(&self) -> bool {
        matches!(self, Self::Field(field) if field.atomic)
    }

    fn declared_granular(&self) -> bool {
        matches!(self, Self::Field(field) if field.granular)
    }
}

impl Schema for TypeSchema {
    fn shape(&self) -> Kind<Self> {
        if let Some(ty) = self.struct_type() {
            let atomic = (ty.atomic || self.declared_atomic()) && !self.declared_granular();
            return Kind::Struct {
                atomic,
                element: None,
            };
        }
        let Some(ty) = self.ty() else {
            return Kind::Deduced;
        };
        match ty {
            Type::Bool => Kind::Scalar(Scalar::Boolean),
            Type::Int32 | Type::Int64 | Type::Uint32 | Type::Float64 => {
                Kind::Scalar(Scalar::Numeric)
            }
            Type::String(_) | Type::Bytes | Type::Duration => Kind::Scalar(Scalar::String),
            Type::Quantity | Type::IntOrString | Type::Time | Type::MicroTime => {
                Kind::Scalar(Scalar::Any)
            }
            Type::List(item) => {
                let merge = match self.list_type() {
                    ListType::Atomic => ListMerge::Atomic,
                    ListType::Set => ListMerge::Set,
                    ListType::Map(_) => ListMerge::Map,
                };
                Kind::List {
                    merge,
                    item: Self::Item(item),
                }
            }
            Type::StringsMessage(_) => Kind::List {
                merge: ListMerge::Atomic,
                item: Self::Item(&STRING),
            },
            Type::Map(item) => Kind::Map {
                atomic: self.declared_atomic(),
                item: Self::Item(item),
            },
            Type::RawExtension | Type::FieldsV1 => Kind::Deduced,
            Type::Json
            | Type::SchemaOrBool(_)
            | Type::SchemaOrArray(_)
            | Type::SchemaOrStrings(_) => Kind::Untyped,
            Type::Struct(_) | Type::Optional(_) => Kind::Deduced,
        }
    }

    fn field(&self, name: &str) -> Option<Self> {
        self.struct_type()?.field(name).map(Self::Field)
    }

    fn key(&self, index: usize) -> Option<&str> {
        match self.list_type() {
            ListType::Map(keys) => keys.get(index).copied(),
            _ => None,
        }
    }

    fn key_default(&self, key: &str) -> Option<Value> {
        let Type::List(item) = self.ty()? else {
            return None;
        };
        let field = Self::Item(item).struct_type()?.field(key)?;
        serde_json::from_str(field.default?).ok()
    }
}

impl PatchSchema for TypeSchema {
    fn holder(&self) -> Holder<'_> {
        if let Some(ty) = self.struct_type() {
            return Holder::Struct(ty.name);
        }
        match self.ty() {
            Some(Type::Map(_)) => Holder::Other("map"),
            Some(Type::List(_) | Type::StringsMessage(_)) => Holder::Other("slice"),
            Some(Type::Bool) => Holder::Other("bool"),
            Some(Type::Int32) => Holder::Other("int32"),
            Some(Type::Int64) => Holder::Other("int64"),
            _ => Holder::Other("string"),
        }
    }

    fn patch_field(&self, name: &str) -> Option<PatchField<Self>> {
        if let Some(Type::Map(item)) = self.ty() {
            return Some(PatchField {
                schema: Self::Item(item),
                strategy: Strategy::Default,
                retain_keys: false,
                merge_key: None,
            });
        }
        let field = self.struct_type()?.field(name)?;
        let (strategy, retain_keys, merge_key) = match field.patch {
            PatchStrategy::None => (Strategy::Default, false, None),
            PatchStrategy::Merge(key) => (Strategy::Merge, false, key),
            PatchStrategy::Replace => (Strategy::Replace, false, None),
            PatchStrategy::RetainKeys => (Strategy::Default, true, None),
            PatchStrategy::MergeRetainKeys(key) => (Strategy::Merge, true, key),
        };
        Some(PatchField {
            schema: Self::Field(field),
            strategy,
            retain_keys,
            merge_key,
        })
    }

    fn item(&self) -> Option<Self> {
        match self.ty()? {
            Type::List(item) => Some(Self::Item(item)),
            Type::StringsMessage(_) => Some(Self::Item(&STRING)),
            _ => None,
        }
    }
}
