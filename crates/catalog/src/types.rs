//! The shape of every built-in type, as the wire sees it.
//!
//! A [`StructType`] lists the fields of an object, with their JSON names, protobuf numbers and
//! [`Type`], when a field is left out of the encoding, and how lists and maps merge. One table serves
//! decoding, defaulting, managed fields, strategic merge, protobuf and OpenAPI.
//!
//! It holds no descriptions, no validation rules and no behaviour. It is generated
//! (`cargo xtask codegen`) and never edited by hand.
//!
//! Invariants: embedded (inlined) structs are flattened into their parent; field order is declaration order; JSON
//! names are unique within a struct; a reference is a plain `&'static`, so recursive types are fine and `Debug`
//! prints names only.

use std::fmt;

/// A struct: an object with named fields.
///
/// ```
/// use kubewright_catalog::{kind_type, types::Type};
///
/// let pod = kind_type("", "v1", "Pod").expect("pods are built in");
/// assert_eq!(pod.name, "Pod");
/// let spec = pod.field("spec").expect("pods have a spec");
/// assert!(matches!(spec.ty, Type::Struct(spec) if spec.name == "PodSpec"));
/// ```
pub struct StructType {
    /// The name without package, as error messages print it: `PodSpec`.
    pub name: &'static str,
    /// The name in OpenAPI documents: `io.k8s.api.core.v1.PodSpec`.
    pub openapi: &'static str,
    /// The fields in declaration order.
    pub fields: &'static [Field],
    /// The whole struct is one value for managed fields (`x-kubernetes-map-type: atomic`).
    pub atomic: bool,
}

/// One field of a [`StructType`].
#[derive(Debug)]
pub struct Field {
    /// The JSON name.
    pub json: &'static str,
    /// The value's type.
    pub ty: Type,
    /// The rule by which the encoder omits the field.
    pub omit: Omit,
    /// The protobuf field number; 0 where the type has no protobuf form.
    pub proto: u16,
    /// The protobuf numbers of the embedded messages around the field, outermost first; empty where the field is
    /// the struct's own. JSON inlines embedded structs, protobuf nests them (`Volume`, `Probe`).
    pub embedded: &'static [u16],
    /// The way a list merges in server-side apply. Meaningful for `Type::List` only.
    pub list: ListType,
    /// The OpenAPI document names the list type; an unnamed one counts as atomic.
    pub list_declared: bool,
    /// A map or struct field that is one value for managed fields.
    pub atomic: bool,
    /// A map or struct field declared to merge field by field, even where its type is atomic as a whole.
    pub granular: bool,
    /// The way a list or map merges in a strategic merge patch.
    pub patch: PatchStrategy,
    /// The default that the OpenAPI document publishes, as JSON text.
    pub default: Option<&'static str>,
    /// `true` for a field that the OpenAPI document lists as required.
    pub required: bool,
    /// The strings that the OpenAPI document lists for the field, or for its items; empty where it lists none.
    pub values: &'static [&'static str],
}

/// The type of a value.
#[derive(Clone, Copy)]
pub enum Type {
    /// `bool`
    Bool,
    /// A signed integer of 32 bits.
    Int32,
    /// A signed integer of 64 bits.
    Int64,
    /// An unsigned integer of 32 bits.
    Uint32,
    /// A 64-bit float.
    Float64,
    /// A string. The name is what Go calls the type in messages: `string`, `v1.PodPhase`.
    String(&'static str),
    /// Bytes, base64 in JSON.
    Bytes,
    /// An object with known fields.
    Struct(&'static StructType),
    /// A value that may be absent (a pointer): `null` and absent differ from the zero value.
    Optional(&'static Type),
    /// A list.
    List(&'static Type),
    /// A map from strings.
    Map(&'static Type),
    /// A list of strings that is a named type (`v1.ExtraValue`). In JSON a list like any other; in protobuf a
    /// message that holds the strings as field 1.
    StringsMessage(&'static str),
    /// A resource quantity: `"500m"`.
    Quantity,
    /// A number or a string.
    IntOrString,
    /// A point in time, to the second: RFC 3339.
    Time,
    /// A point in time, to the microsecond.
    MicroTime,
    /// A duration in Go's notation: `"1h0m0s"`.
    Duration,
    /// Any object, kept as it is (`runtime.RawExtension`).
    RawExtension,
    /// Any JSON value (`apiextensions.JSON`).
    Json,
    /// A JSON schema or a boolean (`JSONSchemaPropsOrBool`); the struct is the schema.
    SchemaOrBool(&'static StructType),
    /// A JSON schema or a list of them (`JSONSchemaPropsOrArray`).
    SchemaOrArray(&'static StructType),
    /// A JSON schema or a list of strings (`JSONSchemaPropsOrStringArray`).
    SchemaOrStrings(&'static StructType),
    /// The field set of a managed-fields entry.
    FieldsV1,
}

/// The rule by which the encoder omits a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Omit {
    /// Never omitted: a nil list is written as `null`, a zero number as `0`.
    Never,
    /// Omitted when empty: false, 0, "", nil, an empty list or map. Structs are never empty.
    Empty,
    /// Omitted when zero, which a struct or a time can be too.
    Zero,
}

/// The way a list merges in server-side apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListType {
    /// The list is one value.
    Atomic,
    /// The list is a set of scalars.
    Set,
    /// The list is a map keyed by these fields.
    Map(&'static [&'static str]),
}

/// The way a field merges in a strategic merge patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchStrategy {
    /// Lists and scalars are replaced, maps merge.
    None,
    /// A list merges, by the key where it holds objects.
    Merge(Option<&'static str>),
    /// A map is replaced.
    Replace,
    /// A map keeps only the keys named by `$retainKeys`.
    RetainKeys,
    /// Both: a list that merges by key, whose items retain keys.
    MergeRetainKeys(Option<&'static str>),
}

impl StructType {
    /// The field of that JSON name.
    pub fn field(&self, json: &str) -> Option<&'static Field> {
        self.fields.iter().find(|f| f.json == json)
    }
}

impl fmt::Debug for StructType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.openapi)
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::String(go) | Type::StringsMessage(go) => f.write_str(go),
            Type::Struct(s) => write!(f, "{}", s.name),
            Type::Optional(t) => write!(f, "*{t:?}"),
            Type::List(t) => write!(f, "[]{t:?}"),
            Type::Map(t) => write!(f, "map[string]{t:?}"),
            other => f.write_str(other.label()),
        }
    }
}

impl Type {
    fn label(&self) -> &'static str {
        match self {
            Type::Bool => "bool",
            Type::Int32 => "int32",
            Type::Int64 => "int64",
            Type::Uint32 => "uint32",
            Type::Float64 => "float64",
            Type::Bytes => "[]uint8",
            Type::Quantity => "resource.Quantity",
            Type::IntOrString => "intstr.IntOrString",
            Type::Time => "v1.Time",
            Type::MicroTime => "v1.MicroTime",
            Type::Duration => "v1.Duration",
            Type::RawExtension => "runtime.RawExtension",
            Type::Json => "v1.JSON",
            Type::FieldsV1 => "v1.FieldsV1",
            Type::SchemaOrBool(_) => "v1.JSONSchemaPropsOrBool",
            Type::SchemaOrArray(_) => "v1.JSONSchemaPropsOrArray",
            Type::SchemaOrStrings(_) => "v1.JSONSchemaPropsOrStringArray",
            Type::String(_)
            | Type::StringsMessage(_)
            | Type::Struct(_)
            | Type::Optional(_)
            | Type::List(_)
            | Type::Map(_) => "",
        }
    }
}
