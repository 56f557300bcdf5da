//! Declared types: schemas as rules see them, with the bounds that costs are estimated from.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::escape::escape;
use crate::limits::MAX_REQUEST_BYTES;
use crate::schema::{Schema, SchemaKind};
use crate::types::Type;

/// A type with sizes: the maximum number of elements, the minimum size of its JSON.
#[derive(Debug, Clone)]
pub struct DeclType {
    shape: Shape,
    max_elements: i64,
    min_serialized_size: i64,
}

#[derive(Debug, Clone)]
enum Shape {
    Scalar(Type),
    List(Arc<DeclType>),
    Map(Arc<DeclType>),
    Object {
        /// The name of the type; without one, objects are named by their path.
        name: Option<Arc<str>>,
        /// The fields by the identifiers that rules use.
        fields: BTreeMap<String, Arc<DeclType>>,
    },
}

/// The extent of the values that a schema describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// A whole resource, with `apiVersion`, `kind` and `metadata`.
    Resource,
    /// A value inside a resource.
    Value,
}

impl DeclType {
    /// Returns the type of values of a schema; `None` for values that rules cannot see: preserved fields without a
    /// type, arrays without items.
    ///
    /// ```
    /// use kubewright_cel::{DeclType, Env, Extent, Schema};
    /// use serde_json::json;
    ///
    /// let schema = Schema::from_json(&json!({"type": "object"}));
    /// let resource = DeclType::of(&schema, Extent::Resource).expect("an object has a type");
    /// let env = Env::new().declared("self", "selfType", &resource);
    /// assert!(env.compile("self.metadata.name == 'a'").is_ok());
    /// ```
    pub fn of(schema: &Schema, extent: Extent) -> Option<Arc<Self>> {
        if schema.int_or_string {
            let max = match schema.max_length {
                Some(max) => characters(max),
                None => MAX_REQUEST_BYTES - 2,
            };
            return Some(Self::sized(Type::Dyn, max, 1));
        }
        if extent == Extent::Resource && !schema.embedded_resource {
            return Self::of_kind(&schema.clone().with_object_meta());
        }
        Self::of_kind(schema)
    }

    /// Declares a type without a schema, of unknown size.
    pub fn scalar(scalar: Type) -> Arc<Self> {
        Self::sized(scalar, 0, 1)
    }

    /// Declares an object with fields, by the identifiers that expressions use.
    pub fn object(fields: impl IntoIterator<Item = (String, Arc<DeclType>)>) -> Arc<Self> {
        Arc::new(Self {
            shape: Shape::Object {
                name: None,
                fields: fields.into_iter().collect(),
            },
            max_elements: 0,
            min_serialized_size: 2,
        })
    }

    /// Declares an object type with a name, which messages show.
    pub fn named_object<'a>(
        name: &str,
        fields: impl IntoIterator<Item = (&'a str, Arc<DeclType>)>,
    ) -> Arc<Self> {
        let fields = fields.into_iter();
        Arc::new(Self {
            shape: Shape::Object {
                name: Some(name.into()),
                fields: fields.map(|(name, of)| (name.to_owned(), of)).collect(),
            },
            max_elements: 0,
            min_serialized_size: 2,
        })
    }

    /// Declares a list of any length.
    pub fn list(element: Arc<DeclType>) -> Arc<Self> {
        Arc::new(Self {
            shape: Shape::List(element),
            max_elements: MAX_REQUEST_BYTES,
            min_serialized_size: 2,
        })
    }

    /// Declares a map from strings with at most `max_elements` entries.
    pub fn map(value: Arc<DeclType>, max_elements: i64) -> Arc<Self> {
        Arc::new(Self {
            shape: Shape::Map(value),
            max_elements,
            min_serialized_size: 2,
        })
    }

    /// Declares a type without a schema, whose values have at most `max_elements` elements, characters or bytes.
    pub fn bounded(scalar: Type, max_elements: i64) -> Arc<Self> {
        Self::sized(scalar, max_elements, 1)
    }

    /// Returns the maximum number of elements, characters or bytes of a value.
    pub fn max_elements(&self) -> i64 {
        self.max_elements
    }

    /// Returns the minimum number of bytes of a value as JSON.
    pub fn min_serialized_size(&self) -> i64 {
        self.min_serialized_size
    }

    /// Returns the maximum number of values of this type in one request, for rules under unbounded lists and maps.
    pub fn max_cardinality(&self) -> u64 {
        (MAX_REQUEST_BYTES / (self.min_serialized_size + 1)) as u64
    }

    /// Returns the type of the elements of a list or map.
    pub fn element(&self) -> Option<&Arc<DeclType>> {
        match &self.shape {
            Shape::List(element) | Shape::Map(element) => Some(element),
            _ => None,
        }
    }

    /// Returns the type of a field of an object, by its identifier.
    pub fn field(&self, ident: &str) -> Option<&Arc<DeclType>> {
        match &self.shape {
            Shape::Object { fields, .. } => fields.get(ident),
            _ => None,
        }
    }

    /// Returns the type of the values of a map whose values are of type [`Type::Any`].
    pub(crate) fn attribute(&self) -> Option<&Arc<DeclType>> {
        let element = self.element()?;
        matches!(element.shape, Shape::Scalar(Type::Any)).then_some(element)
    }

    /// The type for the checker; objects in it are called by their path from `name`.
    pub(crate) fn cel_type(&self, name: &str) -> Type {
        match &self.shape {
            Shape::Scalar(scalar) => scalar.clone(),
            Shape::List(element) => Type::list(element.cel_type(&format!("{name}.@idx"))),
            Shape::Map(element) => {
                Type::map(Type::String, element.cel_type(&format!("{name}.@elem")))
            }
            Shape::Object { name: own, .. } => Type::object(own.as_deref().unwrap_or(name)),
        }
    }

    /// Returns the type at a path of names that [`DeclType::cel_type`] built.
    pub(crate) fn at_type_path(self: &Arc<Self>, path: &str) -> Option<&Arc<Self>> {
        path.split('.')
            .filter(|name| !name.is_empty())
            .try_fold(self, |at, name| match name {
                "@idx" | "@elem" => at.element(),
                field => at.field(field),
            })
    }

    /// Finds the object type with a name, here or below.
    pub(crate) fn named(self: &Arc<Self>, wanted: &str) -> Option<&Arc<Self>> {
        match &self.shape {
            Shape::Scalar(_) => None,
            Shape::List(element) | Shape::Map(element) => element.named(wanted),
            Shape::Object { name, .. } if name.as_deref() == Some(wanted) => Some(self),
            Shape::Object { fields, .. } => fields.values().find_map(|field| field.named(wanted)),
        }
    }

    pub(crate) fn is_object(&self) -> bool {
        matches!(self.shape, Shape::Object { .. })
    }

    pub(crate) fn is_map(&self) -> bool {
        matches!(self.shape, Shape::Map(_))
    }

    fn of_kind(schema: &Schema) -> Option<Arc<Self>> {
        let scalar = match schema.kind {
            SchemaKind::Any => return None,
            SchemaKind::Boolean => Self::sized(Type::Bool, 0, 4),
            SchemaKind::Number => Self::sized(Type::Double, 0, 1),
            SchemaKind::Integer => Self::sized(Type::Int, 0, 1),
            SchemaKind::String => Self::string(schema),
            SchemaKind::Array => {
                let items = schema.items.as_deref()?;
                let element = Self::of(items, items.extent())?;
                let most = (MAX_REQUEST_BYTES - 2) / (element.min_serialized_size + 1);
                Arc::new(Self {
                    shape: Shape::List(element),
                    max_elements: schema.max_items.map_or(most, |max| max.max(0)),
                    min_serialized_size: 2,
                })
            }
            SchemaKind::Object => match schema.additional_properties.as_deref() {
                Some(values) => {
                    let element = Self::of(values, values.extent())?;
                    let most = (MAX_REQUEST_BYTES - 2) / (element.min_serialized_size + 6);
                    Arc::new(Self {
                        shape: Shape::Map(element),
                        max_elements: schema.max_properties.map_or(most, |max| max.max(0)),
                        min_serialized_size: 2,
                    })
                }
                None => Self::fields(schema),
            },
        };
        Some(scalar)
    }

    fn string(schema: &Schema) -> Arc<Self> {
        match schema.format.as_str() {
            "byte" => {
                let max = schema
                    .max_length
                    .map_or(MAX_REQUEST_BYTES - 2, |max| max.max(0));
                Self::sized(Type::Bytes, max, 2)
            }
            "duration" => Self::sized(Type::Duration, 32, 3),
            "date" => Self::sized(Type::Timestamp, 12, 12),
            "date-time" => Self::sized(Type::Timestamp, 32, 21),
            _ => {
                let max = match (schema.max_length, schema.longest_enum) {
                    (Some(max), _) => characters(max),
                    (None, Some(longest)) => longest,
                    (None, None) => MAX_REQUEST_BYTES - 2,
                };
                Self::sized(Type::String, max, 2)
            }
        }
    }

    fn fields(schema: &Schema) -> Arc<Self> {
        let mut fields = BTreeMap::new();
        let mut size = 2;
        for (name, property) in &schema.properties {
            let Some(field) = Self::of(property, property.extent()) else {
                continue;
            };
            if schema.required.contains(name) && !property.has_default {
                size += name.len() as i64 + field.min_serialized_size + 4;
            }
            if let Some(ident) = escape(name) {
                fields.insert(ident, field);
            }
        }
        Arc::new(Self {
            shape: Shape::Object { name: None, fields },
            max_elements: 0,
            min_serialized_size: size,
        })
    }

    fn sized(scalar: Type, max_elements: i64, min_serialized_size: i64) -> Arc<Self> {
        Arc::new(Self {
            shape: Shape::Scalar(scalar),
            max_elements,
            min_serialized_size,
        })
    }
}

/// `maxLength` counts characters, which take up to four bytes each.
fn characters(max_length: i64) -> i64 {
    max_length.max(0).saturating_mul(4)
}
