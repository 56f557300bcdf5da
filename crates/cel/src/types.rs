//! Types as the checker knows them.

use std::fmt;
use std::sync::Arc;

/// A type of CEL.
///
/// ```
/// use kubewright_cel::{Env, Type};
///
/// let checked = Env::new().compile("[1, 2].map(x, string(x))")?;
/// assert_eq!(checked.output_type(), &Type::list(Type::String));
/// # Ok::<(), kubewright_cel::Issues>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Type {
    /// A type that is known only at run time.
    Dyn,
    /// A value whose type is known only at run time and that cannot be iterated over.
    Any,
    /// The type of an expression that does not check.
    Error,
    /// The type of `null`.
    Null,
    /// `bool`
    Bool,
    /// `int`, 64 bits.
    Int,
    /// `uint`, 64 bits.
    Uint,
    /// `double`
    Double,
    /// `string`
    String,
    /// `bytes`
    Bytes,
    /// A span of time.
    Duration,
    /// A point in time.
    Timestamp,
    /// A list of one type of elements.
    List(Arc<Type>),
    /// A map from one type of keys to one type of values.
    Map(Arc<Type>, Arc<Type>),
    /// The type of types, with the type it represents if known.
    Type(Option<Arc<Type>>),
    /// A type variable of an overload's signature, or a type that is not yet inferred.
    Param(Arc<str>),
    /// An object with declared fields, or one of the Kubernetes types, by name.
    Object(Arc<str>),
    /// Any other type, by name and parameters: `optional_type(T)`, `net.IP`.
    Opaque(Arc<str>, Arc<[Type]>),
}

impl Type {
    /// A list of `element`.
    pub fn list(element: Type) -> Self {
        Self::List(Arc::new(element))
    }

    /// A map from `key` to `value`.
    pub fn map(key: Type, value: Type) -> Self {
        Self::Map(Arc::new(key), Arc::new(value))
    }

    /// An optional `value`.
    pub fn optional(value: Type) -> Self {
        Self::Opaque("optional_type".into(), Arc::new([value]))
    }

    /// The object type called `name`.
    pub fn object(name: &str) -> Self {
        Self::Object(name.into())
    }

    pub(crate) fn opaque(name: &str) -> Self {
        Self::Opaque(name.into(), Arc::new([]))
    }

    pub(crate) fn param(name: &str) -> Self {
        Self::Param(name.into())
    }

    /// Returns the type of the value of an optional.
    pub(crate) fn optional_value(&self) -> Option<&Type> {
        match self {
            Self::Opaque(name, params) if &**name == "optional_type" => params.first(),
            _ => None,
        }
    }

    pub(crate) fn is_dyn(&self) -> bool {
        matches!(self, Self::Dyn | Self::Any)
    }

    pub(crate) fn is_dyn_or_error(&self) -> bool {
        matches!(self, Self::Dyn | Self::Any | Self::Error)
    }

    /// Returns the type as it is named in declarations, which differs from `Display` for a few types: `null_type`,
    /// `google.protobuf.Timestamp`.
    pub fn declared_name(&self) -> String {
        let params: Vec<String> = match self {
            Self::List(element) => vec![element.declared_name()],
            Self::Map(key, value) => vec![key.declared_name(), value.declared_name()],
            Self::Type(Some(of)) => vec![of.declared_name()],
            Self::Opaque(_, params) => params.iter().map(Self::declared_name).collect(),
            _ => Vec::new(),
        };
        match params.is_empty() {
            true => self.name().to_owned(),
            false => format!("{}({})", self.name(), params.join(", ")),
        }
    }

    /// The name of the type without its parameters.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Dyn => "dyn",
            Self::Any => "google.protobuf.Any",
            Self::Error => "error",
            Self::Null => "null_type",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Duration => "google.protobuf.Duration",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::List(_) => "list",
            Self::Map(..) => "map",
            Self::Type(_) => "type",
            Self::Param(name) | Self::Object(name) | Self::Opaque(name, _) => name,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error => f.write_str("!error!"),
            Self::Any => f.write_str("any"),
            Self::Null => f.write_str("null"),
            Self::Duration => f.write_str("duration"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::List(element) => write!(f, "list({element})"),
            Self::Map(key, value) => write!(f, "map({key}, {value})"),
            Self::Type(Some(of)) => write!(f, "type({of})"),
            Self::Opaque(name, params) if !params.is_empty() => {
                write!(f, "{name}(")?;
                for (i, param) in params.iter().enumerate() {
                    write!(f, "{}{param}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str(")")
            }
            other => f.write_str(other.name()),
        }
    }
}
