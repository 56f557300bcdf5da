//! One step of a path, and paths.

use super::order;
use kubewright_machinery::go;
use serde_json::Value;
use smol_str::SmolStr;
use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// One step from a container to an item or field in it.
///
/// ```
/// use kubewright_merge::fieldset::{Path, PathElement};
/// use serde_json::json;
///
/// let port = PathElement::key([("protocol", json!("TCP")), ("port", json!(80))]);
/// let path = Path(vec![PathElement::field("spec"), PathElement::field("ports"), port]);
/// assert_eq!(path.to_string(), r#".spec.ports[port=80,protocol="TCP"]"#);
/// ```
#[derive(Clone, Debug)]
pub enum PathElement {
    /// A field of a struct or an entry of a map.
    FieldName(FieldName),
    /// The item of a list whose key fields have these values; sorted by name.
    Key(Arc<[KeyField]>),
    /// The item of a list that equals this value.
    Value(Arc<Value>),
    /// The item of a list at this position.
    Index(i64),
}

/// The name of a field. Short names need no allocation.
///
/// ```
/// use kubewright_merge::fieldset::FieldName;
///
/// let name = FieldName::from("containerPort");
/// assert_eq!(&*name, "containerPort");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldName(SmolStr);

/// A key field of a list item, and its value.
#[derive(Clone, Debug)]
pub struct KeyField {
    /// The field's name.
    pub name: FieldName,
    /// The field's value.
    pub value: Value,
}

/// A path from an object to a field or item in it. Prints as `.spec.ports[port=80,protocol="TCP"].name`.
///
/// ```
/// use kubewright_merge::fieldset::{Path, PathElement};
/// use serde_json::json;
///
/// let mut path = Path::of_fields(["spec", "ports"]);
/// path.0.push(PathElement::key([("port", json!(80))]));
/// path.0.push(PathElement::field("name"));
/// assert_eq!(path.to_string(), ".spec.ports[port=80].name");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(pub Vec<PathElement>);

impl PathElement {
    /// Creates the element of a field.
    pub fn field(name: &str) -> Self {
        PathElement::FieldName(name.into())
    }

    /// Creates the element of a list item, from its key fields in any order.
    pub fn key(fields: impl IntoIterator<Item = (impl Into<FieldName>, Value)>) -> Self {
        let fields = fields.into_iter().map(|(name, value)| KeyField {
            name: name.into(),
            value,
        });
        let mut fields: Vec<_> = fields.collect();
        fields.sort_by(|a, b| a.name.cmp(&b.name));
        PathElement::Key(fields.into())
    }

    /// Creates the element of a list item, from its value.
    pub fn value(value: Value) -> Self {
        PathElement::Value(Arc::new(value))
    }

    fn rank(&self) -> u8 {
        match self {
            PathElement::FieldName(_) => 0,
            PathElement::Key(_) => 1,
            PathElement::Value(_) => 2,
            PathElement::Index(_) => 3,
        }
    }
}

impl Path {
    /// Creates a path of field names.
    pub fn of_fields<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        Path(names.into_iter().map(PathElement::field).collect())
    }
}

impl From<&str> for FieldName {
    fn from(name: &str) -> Self {
        FieldName(SmolStr::new(name))
    }
}

impl From<String> for FieldName {
    fn from(name: String) -> Self {
        FieldName(name.into())
    }
}

impl Deref for FieldName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FieldName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (PathElement::FieldName(a), PathElement::FieldName(b)) => a.cmp(b),
            (PathElement::Key(a), PathElement::Key(b)) => a.cmp(b),
            (PathElement::Value(a), PathElement::Value(b)) => order::compare(a, b),
            (PathElement::Index(a), PathElement::Index(b)) => a.cmp(b),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for PathElement {}

impl Ord for KeyField {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name
            .cmp(&other.name)
            .then_with(|| order::compare(&self.value, &other.value))
    }
}

impl PartialOrd for KeyField {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for KeyField {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for KeyField {}

impl AsRef<[PathElement]> for Path {
    fn as_ref(&self) -> &[PathElement] {
        &self.0
    }
}

impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathElement::FieldName(name) => write!(f, ".{name}"),
            PathElement::Key(fields) => {
                f.write_str("[")?;
                for (i, field) in fields.iter().enumerate() {
                    let comma = if i > 0 { "," } else { "" };
                    write!(f, "{comma}{}={}", field.name, readable(&field.value))?;
                }
                f.write_str("]")
            }
            PathElement::Value(value) => write!(f, "[={}]", readable(value)),
            PathElement::Index(i) => write!(f, "[{i}]"),
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|element| element.fmt(f))
    }
}

/// A value as paths print it.
fn readable(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(b) => b.to_string(),
        Value::Number(n) => {
            let mut out = String::new();
            match order::Num::of(n) {
                order::Num::Int(i) => out = i.to_string(),
                order::Num::Float(f) => go::write_float(&mut out, f),
            }
            out
        }
        Value::String(s) => go::quote(s),
        Value::Array(items) => {
            format!(
                "[{}]",
                items.iter().map(readable).collect::<Vec<_>>().join(",")
            )
        }
        Value::Object(fields) => fields
            .iter()
            .map(|(name, v)| format!("{name}={}", readable(v)))
            .collect(),
    }
}
