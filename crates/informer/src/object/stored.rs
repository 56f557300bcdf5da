//! [`StoredObject`]: one object as it is cached, of any kind.
//!
//! It keeps the JSON without managedFields, in one piece or packed, and knows where in it the metadata lies: names, labels
//! and owners are read from the bytes when asked for. The value decoded from it is remembered while somebody holds it.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use kubewright_client::stream::scan::{ObjectReader, text};
use parking_lot::Mutex;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::kind::{ObjectKind, Remembered};
use super::spans::{Span, Spans};
use crate::key::Key;

/// One cached object. Immutable; all who read it share it.
pub struct StoredObject {
    pub(super) key: Key,
    pub(super) kind: Arc<ObjectKind>,
    pub(super) body: Body,
    /// Where the metadata begins in the whole JSON.
    pub(super) metadata_at: u32,
    pub(super) metadata_length: u32,
    pub(super) spans: Spans,
    pub(super) typed: Mutex<Option<Remembered>>,
}

/// The JSON of an object.
pub(super) enum Body {
    /// As it is.
    Plain(Box<[u8]>),
    /// The metadata as it is, what surrounds it packed.
    Packed {
        metadata: Box<[u8]>,
        rest: Box<[u8]>,
        rest_length: u32,
    },
}

/// One entry of `metadata.ownerReferences`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Owner {
    /// `apps/v1`.
    pub api_version: String,
    /// `ReplicaSet`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Whether it is the managing controller.
    #[serde(default)]
    pub controller: bool,
    /// Whether it cannot be removed before this object.
    #[serde(default)]
    pub block_owner_deletion: bool,
}

/// An object that is not what somebody wanted to decode it into.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} cannot be decoded: {message}")]
pub struct DecodeFailure {
    /// The object.
    pub key: Key,
    /// What does not fit.
    pub message: String,
}

impl StoredObject {
    /// The object's key.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The object's name.
    pub fn name(&self) -> &str {
        self.key.name()
    }

    /// The object's namespace.
    pub fn namespace(&self) -> Option<&str> {
        self.key.namespace()
    }

    /// What the object shares with all others of its cache.
    pub fn kind(&self) -> &Arc<ObjectKind> {
        &self.kind
    }

    /// The uid; empty if the object has none.
    pub fn uid(&self) -> &str {
        self.plain(self.spans.uid)
    }

    /// The resourceVersion; empty if the object has none.
    pub fn resource_version(&self) -> &str {
        self.plain(self.spans.resource_version)
    }

    /// The generation.
    pub fn generation(&self) -> Option<i64> {
        let digits = self.spans.generation.of(self.metadata());
        std::str::from_utf8(digits).ok()?.parse().ok()
    }

    /// When the object was marked for deletion, as it is written.
    pub fn deletion_timestamp(&self) -> Option<&str> {
        (!self.spans.deletion.is_empty()).then(|| self.plain(self.spans.deletion))
    }

    /// The value of a label.
    pub fn label(&self, name: &str) -> Option<Cow<'_, str>> {
        self.entry(self.spans.labels, name)
    }

    /// All labels.
    pub fn labels(&self) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
        self.entries(self.spans.labels)
    }

    /// The value of an annotation.
    pub fn annotation(&self, name: &str) -> Option<Cow<'_, str>> {
        self.entry(self.spans.annotations, name)
    }

    /// All annotations.
    pub fn annotations(&self) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
        self.entries(self.spans.annotations)
    }

    /// The owners.
    pub fn owners(&self) -> Vec<Owner> {
        if self.spans.owners.is_empty() {
            return Vec::new();
        }
        serde_json::from_slice(self.spans.owners.of(self.metadata())).unwrap_or_default()
    }

    /// The owner that manages the object.
    pub fn controller(&self) -> Option<Owner> {
        self.owners().into_iter().find(|owner| owner.controller)
    }

    /// The finalizers.
    pub fn finalizers(&self) -> Vec<String> {
        if self.spans.finalizers.is_empty() {
            return Vec::new();
        }
        serde_json::from_slice(self.spans.finalizers.of(self.metadata())).unwrap_or_default()
    }

    /// The metadata's JSON.
    pub fn metadata(&self) -> &[u8] {
        match &self.body {
            Body::Plain(json) => {
                let start = self.metadata_at as usize;
                json.get(start..start + self.metadata_length as usize)
                    .unwrap_or_default()
            }
            Body::Packed { metadata, .. } => metadata,
        }
    }

    /// The whole JSON, as it came but for what was cut out. Items of a list, which come without them, have `kind` and
    /// `apiVersion` too.
    pub fn json(&self) -> Cow<'_, [u8]> {
        match &self.body {
            Body::Plain(json) => Cow::Borrowed(json),
            Body::Packed {
                metadata,
                rest,
                rest_length,
            } => {
                let dictionary = self.kind.dictionary.get().map_or(&[][..], |d| d);
                let length = *rest_length as usize;
                let rest = lz4_flex::block::decompress_with_dict(rest, length, dictionary)
                    .unwrap_or_default();
                let (before, after) = rest
                    .split_at_checked(self.metadata_at as usize)
                    .unwrap_or((&rest, &[]));
                Cow::Owned([before, metadata, after].concat())
            }
        }
    }

    /// How many bytes the object's JSON takes in memory.
    pub fn stored_bytes(&self) -> usize {
        match &self.body {
            Body::Plain(json) => json.len(),
            Body::Packed { metadata, rest, .. } => metadata.len() + rest.len(),
        }
    }

    /// Decodes the object, or finds the value that somebody else has decoded and still holds. A failure is counted and
    /// logged.
    pub fn decode<K>(self: &Arc<Self>) -> Result<Arc<K>, DecodeFailure>
    where
        K: DeserializeOwned + Send + Sync + 'static,
    {
        if let Some(value) = self.recall().and_then(|value| value.downcast::<K>().ok()) {
            return Ok(value);
        }
        let value: K = parse(&self.json()).map_err(|error| self.undecodable(&error))?;
        let value = Arc::new(value);
        self.remember(value.clone());
        Ok(value)
    }

    /// Whether `other` is the same state of the same object.
    pub fn is_same_version(&self, other: &Self) -> bool {
        self.uid() == other.uid()
            && !self.resource_version().is_empty()
            && self.resource_version() == other.resource_version()
    }

    pub(super) fn forget_if_dead(&self) -> bool {
        let mut typed = self.typed.lock();
        if typed.as_ref().is_some_and(|value| value.strong_count() > 0) {
            return false;
        }
        *typed = None;
        true
    }

    fn recall(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.typed.lock().as_ref()?.upgrade()
    }

    fn remember(self: &Arc<Self>, value: Arc<dyn Any + Send + Sync>) {
        *self.typed.lock() = Some(Arc::downgrade(&value));
        self.kind.remember(self);
    }

    fn undecodable(&self, error: &serde_json::Error) -> DecodeFailure {
        let failure = DecodeFailure {
            key: self.key.clone(),
            message: error.to_string(),
        };
        self.kind.failed(&failure);
        failure
    }

    /// A string without escapes, as names and versions are.
    fn plain(&self, span: Span) -> &str {
        let raw = span.of(self.metadata());
        let inner = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
        std::str::from_utf8(inner).unwrap_or_default()
    }

    fn entry(&self, span: Span, name: &str) -> Option<Cow<'_, str>> {
        let metadata = self.metadata();
        let map = span.of(metadata);
        let mut reader = ObjectReader::new(map, 0).ok()?;
        while let Some(key) = reader.next_key().ok()? {
            let value = reader.skip().ok()?;
            if key == name.as_bytes() {
                return text(&map[value]);
            }
        }
        None
    }

    fn entries(&self, span: Span) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
        let map = span.of(self.metadata());
        let mut entries = Vec::new();
        let Ok(mut reader) = ObjectReader::new(map, 0) else {
            return entries;
        };
        while let Ok(Some(key)) = reader.next_key() {
            let Ok(value) = reader.skip() else {
                break;
            };
            if let (Some(key), Some(value)) = (unquoted(key), text(&map[value])) {
                entries.push((key, value));
            }
        }
        entries
    }
}

impl fmt::Debug for StoredObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredObject")
            .field("kind", &self.kind.resource.kind)
            .field("key", &self.key)
            .field("resource_version", &self.resource_version())
            .finish_non_exhaustive()
    }
}

/// Strings are checked for UTF-8 all at once, which is faster than one by one.
fn parse<K: DeserializeOwned>(json: &[u8]) -> Result<K, serde_json::Error> {
    match std::str::from_utf8(json) {
        Ok(text) => serde_json::from_str(text),
        Err(_) => serde_json::from_slice(json),
    }
}

/// The text of a field name whose quotes are gone already.
fn unquoted(raw: &[u8]) -> Option<Cow<'_, str>> {
    if !raw.contains(&b'\\') {
        return std::str::from_utf8(raw).ok().map(Cow::Borrowed);
    }
    let quoted = [b"\"", raw, b"\""].concat();
    serde_json::from_slice(&quoted).ok().map(Cow::Owned)
}
