//! Objects on their way through the server: bytes that are served as they are, and a summary to select by.
//!
//! Invariant: the bytes are one complete JSON object that carries its own `kind`, `apiVersion` and (if stored)
//! `metadata.resourceVersion`. Nothing on a read path decodes them.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use bytes::Bytes;
use kubewright_machinery::{Status, status};
use kubewright_merge::managed::expand_text_forms;
use kubewright_store::Entry;
use serde::Serialize;
use serde_json::Value;

/// What selectors and keys need of an object. Made once, when the object is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// `metadata.name`
    pub name: Box<str>,
    /// `metadata.namespace`, or empty.
    pub namespace: Box<str>,
    /// `metadata.labels`
    pub labels: Box<[(Box<str>, Box<str>)]>,
    /// The values of the resource's field labels, in the order of its table.
    pub fields: Box<[Box<str>]>,
    /// Which table that is: a kind that is served in two forms has two.
    pub view: u64,
    /// What the writer marked it with, 0 where it did not: readers of the same mark serve the bytes as they are.
    pub mark: u64,
}

/// An object: bytes and summary.
#[derive(Clone, Debug)]
pub struct Object {
    /// The encoded object.
    pub bytes: Bytes,
    /// What selectors need of it.
    pub summary: Arc<Summary>,
}

/// A field label and the paths its value is found at, as a resource declares it.
#[derive(Clone, Debug)]
pub struct SelectableField {
    /// `spec.nodeName`
    pub label: Box<str>,
    /// Dotted paths; the first that holds a value wins.
    pub paths: Box<[Box<str>]>,
    /// The value where no path holds one.
    pub default: Box<str>,
}

/// The fields that selectors may name, for one resource.
#[derive(Clone, Debug, Default)]
pub struct Selectable {
    fields: Box<[SelectableField]>,
    view: u64,
}

impl Selectable {
    /// These fields.
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

    /// The labels, in order.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|field| &*field.label)
    }

    /// Where in a summary the value of a label is.
    pub fn position(&self, label: &str) -> Option<usize> {
        self.fields.iter().position(|f| &*f.label == label)
    }
}

impl Summary {
    /// Reads an object.
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
        }
    }

    /// The value of a label.
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

/// What stored bytes hold. Bytes that are no JSON are the store's fault: they are reported, and select nothing.
pub(crate) fn stored_value(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_else(|error| {
        tracing::error!(%error, "a stored object cannot be read");
        Value::Null
    })
}

impl Object {
    /// Encodes anything that serializes to a Kubernetes object.
    pub fn new(object: &impl Serialize) -> Result<Self, Status> {
        serde_json::to_value(object)
            .map(|v| Self::from_value(&v))
            .map_err(status::internal)
    }

    /// Encodes a JSON object. The fields of managers may be held as text, as they are in a new object.
    pub fn from_value(value: &Value) -> Self {
        let summary = Arc::new(Summary::of(value, &Selectable::default()));
        let managed = value["metadata"].get("managedFields").is_some();
        let bytes = match managed {
            false => value.to_string(),
            true => {
                let mut value = value.clone();
                expand_text_forms(&mut value);
                value.to_string()
            }
        };
        Self {
            bytes: bytes.into(),
            summary,
        }
    }

    /// A stored entry, with the summary the writer handed over, or read anew where the store forgot it.
    pub fn from_entry(entry: &Entry, selectable: &Selectable) -> Self {
        Self::remembered(entry, selectable).unwrap_or_else(|| {
            let value = stored_value(&entry.bytes);
            Self {
                bytes: entry.bytes.clone(),
                summary: Arc::new(Summary::of(&value, selectable)),
            }
        })
    }

    /// A stored entry with the summary the writer handed over, if the store has it still.
    pub fn remembered(entry: &Entry, selectable: &Selectable) -> Option<Self> {
        let summary = entry.companion.clone()?.downcast::<Summary>().ok()?;
        (summary.view == selectable.view).then(|| Self {
            bytes: entry.bytes.clone(),
            summary,
        })
    }

    /// Decodes the object.
    pub fn to_value(&self) -> Result<Value, Status> {
        serde_json::from_slice(&self.bytes).map_err(status::internal)
    }
}
