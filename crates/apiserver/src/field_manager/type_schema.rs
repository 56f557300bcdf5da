//! Types of the catalog and schemas of custom resources as `kubewright-merge` sees them.

use kubewright_catalog::{
    generated::meta_v1::OBJECT_META,
    types::{Field, ListType, PatchStrategy, StructType, Type},
};
use kubewright_merge::{
    schema::{ListMerge, Scalar, Schema, Shape as Kind},
    strategic::{Holder, PatchField, PatchSchema, Strategy},
};
use kubewright_schema::structural::{
    Additional, Kind as JsonKind, ListType as JsonList, Structural,
};
use serde_json::Value;

use crate::registry::Shape;

/// The type of a value.
#[derive(Clone, Copy, Debug)]
pub enum TypeSchema<'a> {
    /// A whole object.
    Object(&'static StructType),
    /// The value of a field.
    Field(&'static Field),
    /// An item of a list, or a value of a map.
    Item(&'static Type),
    /// A value inside an object of a custom kind. The flag marks a whole object, with type and metadata.
    Custom(&'a Structural, bool),
    /// Unknown; deduced from the value.
    Deduced,
}

static STRING: Type = Type::String("string");

impl TypeSchema<'_> {
    /// Returns the type of objects of that shape.
    pub fn of(shape: Shape) -> Self {
        match shape {
            Shape::Typed(ty) => Self::Object(ty),
            Shape::Untyped => Self::Deduced,
        }
    }

    fn ty(&self) -> Option<&'static Type> {
        let mut ty = match self {
            Self::Object(_) | Self::Deduced | Self::Custom(..) => return None,
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

impl<'a> TypeSchema<'a> {
    /// Returns the type of a value inside an object of a custom kind.
    fn custom(schema: &'a Structural) -> Self {
        Self::Custom(schema, schema.embedded)
    }

    /// Returns how a custom value merges.
    fn custom_shape(schema: &'a Structural, whole: bool) -> Kind<Self> {
        if schema.int_or_string {
            return Kind::Deduced;
        }
        let atomic = schema.atomic;
        let open = match &schema.additional {
            Additional::Schema(item) => Some(Self::custom(item)),
            Additional::Any => Some(Self::Deduced),
            // An object without properties may have any fields. They are pruned later.
            Additional::Unset if schema.properties.is_empty() && !whole => Some(Self::Deduced),
            _ => schema.preserve_unknown.then_some(Self::Deduced),
        };
        match (schema.kind, &schema.items) {
            (JsonKind::Object, _) => match open {
                Some(item)
                    if schema.properties.is_empty() && !whole && !schema.preserve_unknown =>
                {
                    Kind::Map { atomic, item }
                }
                element => Kind::Struct { atomic, element },
            },
            (JsonKind::Array, Some(item)) => Kind::List {
                merge: match schema.list {
                    JsonList::Set => ListMerge::Set,
                    JsonList::Map(_) => ListMerge::Map,
                    JsonList::Unset | JsonList::Atomic => ListMerge::Atomic,
                },
                item: Self::custom(item),
            },
            (JsonKind::Boolean, _) => Kind::Scalar(Scalar::Boolean),
            (JsonKind::String, _) if schema.any_scalar => Kind::Scalar(Scalar::Any),
            (JsonKind::String, _) => Kind::Scalar(Scalar::String),
            (JsonKind::Integer | JsonKind::Number, _) => Kind::Scalar(Scalar::Numeric),
            (JsonKind::Array, None) | (JsonKind::Any, _) => Kind::Deduced,
        }
    }

    /// Returns the type of a field of a custom value.
    fn custom_field(schema: &'a Structural, whole: bool, name: &str) -> Option<Self> {
        match name {
            "metadata" if whole => Some(Self::Object(&OBJECT_META)),
            "kind" | "apiVersion" if whole => Some(Self::Item(&STRING)),
            name => schema.property(name).map(Self::custom),
        }
    }
}

impl<'a> Schema for TypeSchema<'a> {
    fn shape(&self) -> Kind<Self> {
        if let Self::Custom(schema, whole) = *self {
            return Self::custom_shape(schema, whole);
        }
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
            Type::FieldsV1 => Kind::Deduced,
            Type::RawExtension
            | Type::Json
            | Type::SchemaOrBool(_)
            | Type::SchemaOrArray(_)
            | Type::SchemaOrStrings(_) => Kind::Untyped,
            Type::Struct(_) | Type::Optional(_) => Kind::Deduced,
        }
    }

    fn is_enforced(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    fn field(&self, name: &str) -> Option<Self> {
        if let Self::Custom(schema, whole) = *self {
            return Self::custom_field(schema, whole, name);
        }
        self.struct_type()?.field(name).map(Self::Field)
    }

    fn key(&self, index: usize) -> Option<&str> {
        if let Self::Custom(schema, _) = self {
            return match &schema.list {
                JsonList::Map(keys) => keys.get(index).map(|key| &**key),
                _ => None,
            };
        }
        match self.list_type() {
            ListType::Map(keys) => keys.get(index).copied(),
            _ => None,
        }
    }

    fn key_default(&self, key: &str) -> Option<Value> {
        if let Self::Custom(schema, _) = self {
            let item = schema.items.as_deref()?;
            return item.property(key)?.default.as_deref().cloned();
        }
        let Type::List(item) = self.ty()? else {
            return None;
        };
        let field = Self::Item(item).struct_type()?.field(key)?;
        serde_json::from_str(field.default?).ok()
    }
}

impl PatchSchema for TypeSchema<'_> {
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
