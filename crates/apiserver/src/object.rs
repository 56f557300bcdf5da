//! Objects as bytes, with a summary that selectors use.
//!
//! Invariant: the bytes are one complete JSON object that carries `kind`, `apiVersion` and, if it is stored,
//! `metadata.resourceVersion`. Nothing on a read path decodes them.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use bytes::Bytes;
use kubewright_machinery::{Status, status};
use kubewright_store::Entry;
use serde::Serialize;
use serde_json::Value;

use crate::registry::NoOp;

/// The parts of an object that selectors and keys need. It is made once, when the object is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// `metadata.name`
    pub name: Box<str>,
    /// `metadata.namespace`, or empty.
    pub namespace: Box<str>,
    /// `metadata.labels`
    pub labels: Box<[(Box<str>, Box<str>)]>,
    /// The values of the selectable fields, in the order of [`Selectable`].
    pub fields: Box<[Box<str>]>,
    /// The hash of those selectable fields: a kind that is served in two forms has two.
    pub view: u64,
    /// The mark of the writer, or 0. Readers with the same mark serve the bytes unchanged.
    pub mark: u64,
    /// The lengths of the object in protobuf, once they are known.
    pub(crate) lengths: Lengths,
    /// The last change that left the object as it is.
    pub(crate) no_op: NoOp,
}

/// The lengths of an object as an item of a list in protobuf. Not part of the object's equality.
#[derive(Debug, Default)]
pub(crate) struct Lengths {
    /// The whole object.
    pub(crate) object: Length,
    /// Its metadata.
    pub(crate) metadata: Length,
}

/// A length that is computed once; 0 if it is not known.
#[derive(Debug, Default)]
pub(crate) struct Length(AtomicU32);

impl Length {
    /// Returns the length, and computes it if necessary.
    pub(crate) fn get_or<E>(&self, compute: impl FnOnce() -> Result<usize, E>) -> Result<usize, E> {
        // Nothing else depends on it, and two that compute it get the same.
        match self.0.load(Ordering::Relaxed) {
            0 => {
                let length = compute()?;
                let known = u32::try_from(length).unwrap_or_default();
                self.0.store(known, Ordering::Relaxed);
                Ok(length)
            }
            known => Ok(known as usize),
        }
    }
}

impl Clone for Lengths {
    /// A clone may become the summary of another object, so it knows nothing.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Lengths {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Lengths {}

/// An encoded object.
///
/// ```
/// use kubewright_apiserver::Object;
/// use serde_json::json;
///
/// let comet = json!({"kind": "Comet", "metadata": {"name": "halley", "labels": {"periodic": "yes"}}});
/// let object = Object::from_value(&comet);
/// assert_eq!(&*object.summary.name, "halley");
/// assert_eq!(object.summary.label("periodic"), Some("yes"));
/// assert_eq!(object.to_value().unwrap(), comet);
/// ```
#[derive(Clone, Debug)]
pub struct Object {
    /// The encoded object.
    pub bytes: Bytes,
    /// The parts that selectors need.
    pub summary: Arc<Summary>,
}

/// A field label and the paths of its value.
///
/// ```
/// use kubewright_apiserver::{Selectable, SelectableField, Summary};
/// use serde_json::{Value, json};
///
/// let selectable = Selectable::new([SelectableField {
///     label: "spec.visible".into(),
///     paths: ["spec.visible".into()].into(),
///     default: "false".into(),
/// }]);
/// let value = |comet: Value| Summary::of(&comet, &selectable).fields[0].to_string();
/// assert_eq!(value(json!({"spec": {"visible": true}})), "true");
/// assert_eq!(value(json!({"spec": {}})), "false");
/// ```
#[derive(Clone, Debug)]
pub struct SelectableField {
    /// The label, such as `spec.nodeName`.
    pub label: Box<str>,
    /// Dotted paths; the first that has a value wins.
    pub paths: Box<[Box<str>]>,
    /// The value if no path has one.
    pub default: Box<str>,
}

/// The fields of a resource that selectors may name.
///
/// ```
/// use kubewright_apiserver::{Selectable, SelectableField};
///
/// let selectable = Selectable::new([SelectableField {
///     label: "spec.nodeName".into(),
///     paths: ["spec.nodeName".into()].into(),
///     default: "".into(),
/// }]);
/// assert_eq!(selectable.position("spec.nodeName"), Some(0));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Selectable {
    fields: Box<[SelectableField]>,
    view: u64,
}

impl Selectable {
    /// Returns a list of these fields.
    pub fn new(fields: impl IntoIterator<Item = SelectableField>) -> Self {
        let fields: Box<[SelectableField]> = fields.into_iter().collect();
        let mut hasher = DefaultHasher::new();
        for field in &fields {
            (&field.label, &field.paths, &field.default).hash(&mut hasher);
        }
        let view = if fields.is_empty() {
            0
        } else {
            hasher.finish()
        };
        Self { fields, view }
    }

    /// Returns the labels in order.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|field| &*field.label)
    }

    /// Returns the position of a label's value in [`Summary::fields`].
    pub fn position(&self, label: &str) -> Option<usize> {
        self.fields.iter().position(|f| &*f.label == label)
    }
}

impl Summary {
    /// Extracts the summary of an object.
    pub fn of(object: &Value, selectable: &Selectable) -> Self {
        let metadata = &object["metadata"];
        let text = |key: &str| metadata[key].as_str().unwrap_or_default().into();
        let labels = metadata["labels"].as_object().into_iter().flatten();
        Self {
            name: text("name"),
            namespace: text("namespace"),
            labels: labels
                .map(|(k, v)| (k.as_str().into(), v.as_str().unwrap_or_default().into()))
                .collect(),
            fields: selectable.fields.iter().map(|f| f.read(object)).collect(),
            view: selectable.view,
            mark: 0,
            lengths: Lengths::default(),
            no_op: NoOp::default(),
        }
    }

    /// Returns the value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels
            .iter()
            .find(|(k, _)| &**k == key)
            .map(|(_, v)| &**v)
    }
}

impl SelectableField {
    fn read(&self, object: &Value) -> Box<str> {
        for path in &self.paths {
            let found = path
                .split('.')
                .try_fold(object, |value, part| value.get(part));
            let text = match found {
                Some(Value::String(s)) => s.clone(),
                Some(Value::Bool(b)) => b.to_string(),
                Some(Value::Number(n)) => n.to_string(),
                _ => continue,
            };
            if !text.is_empty() {
                return text.into();
            }
        }
        self.default.clone()
    }
}

/// Decodes stored bytes. Bytes that are not JSON are logged, and decode to null.
pub(crate) fn stored_value(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_else(|error| {
        tracing::error!(%error, "a stored object cannot be read");
        Value::Null
    })
}

impl Object {
    /// Encodes a value that serializes to a Kubernetes object.
    ///
    /// # Errors
    ///
    /// Fails with 500 if the value cannot be serialized.
    pub fn new(object: &impl Serialize) -> Result<Self, Status> {
        serde_json::to_value(object)
            .map(|v| Self::from_value(&v))
            .map_err(status::internal)
    }

    /// Encodes a JSON object.
    pub fn from_value(value: &Value) -> Self {
        Self {
            bytes: value.to_string().into(),
            summary: Arc::new(Summary::of(value, &Selectable::default())),
        }
    }

    /// Returns a stored entry with the summary of its writer, or with one that is decoded if the store has dropped it.
    pub fn from_entry(entry: &Entry, selectable: &Selectable) -> Self {
        Self::remembered(entry, selectable).unwrap_or_else(|| {
            let value = stored_value(&entry.bytes);
            Self {
                bytes: entry.bytes.clone(),
                summary: Arc::new(Summary::of(&value, selectable)),
            }
        })
    }

    /// Returns a stored entry with the summary of its writer, if the store still has it.
    pub fn remembered(entry: &Entry, selectable: &Selectable) -> Option<Self> {
        let summary = entry.decoded.clone()?.downcast::<Summary>().ok()?;
        (summary.view == selectable.view).then(|| Self {
            bytes: entry.bytes.clone(),
            summary,
        })
    }

    /// Decodes the object.
    ///
    /// # Errors
    ///
    /// Fails with 500 if the bytes are not JSON.
    pub fn to_value(&self) -> Result<Value, Status> {
        serde_json::from_slice(&self.bytes).map_err(status::internal)
    }
}
