//! Values, most of them borrowed.
//!
//! | file | contents |
//! |---|---|
//! | `json` | JSON seen through a schema |
//! | `list`, `map` | the two containers, over JSON or of values |
//! | `equality`, `order` | `==` and `<` |
//! | `time` | points in time and their calendar |
//! | `show` | the text forms: as a literal, and as messages print values |
//!
//! A [`Value`] of the object under validation is a pointer into its JSON beside a pointer into the schema; nothing is
//! converted before it is used.

pub(crate) mod equality;
pub(crate) mod json;
pub(crate) mod list;
pub(crate) mod map;
pub(crate) mod order;
mod show;
pub(crate) mod time;

use core::net::IpAddr;
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::functions::quantity::Quantity;
use serde_json::Value as Json;

use crate::access::Access;
use crate::functions::formats::NamedFormat;
use crate::functions::semver::Semver;
use crate::functions::url::Url;
use crate::program::Message;
use crate::types::Type;

pub use list::List;
pub use map::Map;
pub use time::Timestamp;

/// A value of CEL.
#[derive(Debug, Clone)]
pub enum Value<'a> {
    /// `null`
    Null,
    /// A bool.
    Bool(bool),
    /// An int.
    Int(i64),
    /// A uint.
    Uint(u64),
    /// A double.
    Double(f64),
    /// A string.
    String(Str<'a>),
    /// Bytes.
    Bytes(Arc<[u8]>),
    /// A span of time in nanoseconds.
    Duration(i64),
    /// A point in time.
    Timestamp(Timestamp),
    /// A list.
    List(List<'a>),
    /// A map or an object.
    Map(Map<'a>),
    /// A type.
    Type(Type),
    /// An optional with or without a value.
    Optional(Option<Arc<Value<'a>>>),
    /// A Kubernetes quantity.
    Quantity(Arc<Quantity>),
    /// A URL.
    Url(Arc<Url>),
    /// An IP address.
    Ip(IpAddr),
    /// A network: an address and how many bits of it count.
    Cidr(IpAddr, u8),
    /// A semantic version.
    Semver(Arc<Semver>),
    /// A named format, `format.dns1123Label()`.
    Format(&'static NamedFormat),
    /// A value that `x-kubernetes-preserve-unknown-fields` has kept, which can only be compared.
    Preserved(&'a Json),
    /// A step of an authorization check, from `authorizer` to its decision.
    Access(Access<'a>),
    /// An `Object{}` or a `JSONPatch{}`.
    Message(Arc<Message<'a>>),
    /// The variables of an admission policy. A [`Composition`](crate::Composition) has their values.
    Variables,
}

/// A string, borrowed or shared.
#[derive(Clone)]
pub enum Str<'a> {
    /// Borrowed from the object or the expression.
    Borrowed(&'a str),
    /// Created by an expression.
    Shared(Arc<str>),
}

/// The error of an evaluation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvalError {
    /// The expression failed. `&&`, `||` and the macros built on them may absorb the error.
    Failed(Cow<'static, str>),
    /// The cost limit is exceeded. Nothing absorbs this error.
    CostLimitExceeded,
    /// An authorization check has no decision yet ([`AccessDecisions`](crate::AccessDecisions)). Nothing absorbs this error.
    Undecided,
}

/// The result of an evaluation.
pub type EvalResult<'a> = Result<Value<'a>, EvalError>;

impl EvalError {
    /// The error of arguments that no overload takes, in general.
    pub(crate) const NO_SUCH_OVERLOAD: Self = Self::Failed(Cow::Borrowed("no such overload"));

    pub(crate) fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self::Failed(message.into())
    }

    /// Reports whether the evaluation ends with this error, regardless of the rest of the expression.
    pub(crate) fn ends_evaluation(&self) -> bool {
        !matches!(self, Self::Failed(_))
    }
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(message) => f.write_str(message),
            Self::CostLimitExceeded => {
                f.write_str("operation cancelled: actual cost limit exceeded")
            }
            Self::Undecided => f.write_str("an authorization check has no decision yet"),
        }
    }
}

impl std::error::Error for EvalError {}

impl<'a> Value<'a> {
    /// Creates an owned string.
    pub(crate) fn text(text: impl Into<Arc<str>>) -> Self {
        Self::String(Str::Shared(text.into()))
    }

    pub(crate) fn none() -> Self {
        Self::Optional(None)
    }

    pub(crate) fn some(value: Value<'a>) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    pub(crate) fn strings<S: Into<Arc<str>>>(items: impl IntoIterator<Item = S>) -> Self {
        Self::List(List::new(items.into_iter().map(Self::text).collect()))
    }

    /// The text, if it is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The bool, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(b) => Some(*b),
            _ => None,
        }
    }

    /// The type as `type()` gives it: without parameters.
    pub(crate) fn runtime_type(&self) -> Type {
        match self {
            Self::Null => Type::Null,
            Self::Bool(_) => Type::Bool,
            Self::Int(_) => Type::Int,
            Self::Uint(_) => Type::Uint,
            Self::Double(_) => Type::Double,
            Self::String(_) => Type::String,
            Self::Bytes(_) => Type::Bytes,
            Self::Duration(_) => Type::Duration,
            Self::Timestamp(_) => Type::Timestamp,
            Self::List(_) => Type::opaque("list"),
            Self::Map(_) => Type::opaque("map"),
            Self::Type(_) => Type::opaque("type"),
            Self::Optional(_) => Type::opaque("optional_type"),
            Self::Quantity(_) => Type::object("kubernetes.Quantity"),
            Self::Url(_) => Type::object("kubernetes.URL"),
            Self::Ip(_) => Type::opaque("net.IP"),
            Self::Cidr(..) => Type::opaque("net.CIDR"),
            Self::Semver(_) => Type::object("kubernetes.Semver"),
            Self::Format(_) => Type::object("kubernetes.NamedFormat"),
            Self::Preserved(_) => Type::opaque("unknown"),
            Self::Access(access) => Type::object(access.type_name()),
            Self::Message(message) => Type::object(message.type_name()),
            Self::Variables => Type::object("kubernetes.variables"),
        }
    }

    /// The name of the type, for messages.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Type(_) => "type",
            Self::Optional(_) => "optional_type",
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Url(_) => "kubernetes.URL",
            Self::Ip(_) => "net.IP",
            Self::Cidr(..) => "net.CIDR",
            Self::Semver(_) => "kubernetes.Semver",
            Self::Format(_) => "kubernetes.NamedFormat",
            Self::Preserved(_) => "unknown",
            Self::Access(access) => access.type_name(),
            Self::Message(message) if message.is_json_patch() => "JSONPatch",
            Self::Message(_) => "Object",
            Self::Variables => "kubernetes.variables",
        }
    }

    /// Reports whether the value can be an argument of type `wanted`. Of lists and maps, only the first element is
    /// checked.
    pub(crate) fn is_assignable_to(&self, wanted: &Type) -> bool {
        match (wanted, self) {
            (Type::Dyn | Type::Any | Type::Param(_), _) => true,
            (Type::List(element), Self::List(list)) => match list.get(0) {
                Some(Ok(first)) => first.is_assignable_to(element),
                Some(Err(_)) => false,
                None => true,
            },
            (Type::Map(key, value), Self::Map(map)) => match map.iter().next() {
                Some((k, Ok(v))) => k.is_assignable_to(key) && v.is_assignable_to(value),
                Some((_, Err(_))) => false,
                None => true,
            },
            (Type::Opaque(name, params), Self::Optional(held)) => {
                &**name == "optional_type"
                    && match (held, params.first()) {
                        (Some(held), Some(of)) => held.is_assignable_to(of),
                        _ => true,
                    }
            }
            (wanted, value) => wanted.name() == value.type_name(),
        }
    }

    /// The number of characters, bytes or elements, where there is one.
    pub(crate) fn size(&self) -> Option<u64> {
        let size = match self {
            Self::String(text) => text.chars().count(),
            Self::Bytes(bytes) => bytes.len(),
            Self::List(list) => list.len(),
            Self::Map(map) => map.len(),
            Self::Ip(IpAddr::V4(_)) => 4,
            Self::Ip(IpAddr::V6(_)) => 16,
            Self::Cidr(_, bits) => usize::from(*bits).div_ceil(8),
            _ => return None,
        };
        Some(size as u64)
    }

    /// The size for the cost: 1 for values without a size.
    pub(crate) fn cost_size(&self) -> u64 {
        self.size().unwrap_or(1)
    }
}

impl<'a> Str<'a> {
    pub(crate) fn of(text: impl Into<Arc<str>>) -> Self {
        Self::Shared(text.into())
    }

    /// Returns the string with the lifetime of its owner.
    pub(crate) fn reborrow<'b>(&'b self) -> Str<'b> {
        Str::Borrowed(self)
    }
}

impl Deref for Str<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Shared(text) => text,
        }
    }
}

impl fmt::Debug for Str<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
