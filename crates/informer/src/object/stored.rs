//! [`StoredObject`]: one object as it is cached, of any kind.
//!
//! It keeps the JSON without managedFields, plain or compressed, and the position of the metadata in it: names, labels
//! and owners are read from the bytes on demand. A decoded value is shared while it is in use, and kept within the
//! limits of `decoded`.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use kubewright_client::stream::scan::{ObjectReader, text};
use parking_lot::Mutex;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::decoded::Typed;
use super::kind::ObjectKind;
use super::spans::{Span, Spans};
use crate::key::Key;

/// One cached object, immutable and shared by all readers.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::core::ApiResource;
/// use kubewright_informer::{Compression, Ingest, ObjectKind};
///
/// let kind = ObjectKind::new(ApiResource::erase::<ConfigMap>(&()), Compression::None);
/// let object = Ingest::new(kind)
///     .object(br#"{"metadata":{"name":"sky","uid":"1","resourceVersion":"7","labels":{"a":"b"}},"data":{"is":"blue"}}"#)
///     .unwrap();
/// // Metadata is read without decoding the object.
/// assert_eq!((object.resource_version(), object.label("a").as_deref()), ("7", Some("b")));
/// assert_eq!(object.decode::<ConfigMap>().unwrap().data.as_ref().unwrap()["is"], "blue");
/// ```
pub struct StoredObject {
    pub(super) key: Key,
    pub(super) kind: Arc<ObjectKind>,
    pub(super) body: Body,
    /// The start of the metadata in the whole JSON.
    pub(super) metadata_at: u32,
    pub(super) metadata_length: u32,
    pub(super) spans: Spans,
    pub(super) typed: Mutex<Typed>,
}

/// The JSON of an object.
pub(super) enum Body {
    /// Uncompressed.
    Plain(Box<[u8]>),
    /// The metadata as it is, everything around it compressed.
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
    /// The API version: `apps/v1`.
    pub api_version: String,
    /// The kind: `ReplicaSet`.
    pub kind: String,
    /// The name.
    pub name: String,
    /// The UID.
    pub uid: String,
    /// True if it is the managing controller.
    #[serde(default)]
    pub controller: bool,
    /// True if the owner's foreground deletion waits for this object.
    #[serde(default)]
    pub block_owner_deletion: bool,
}

/// An object that cannot be decoded into the requested type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} cannot be decoded: {message}")]
pub struct DecodeFailure {
    /// The object.
    pub key: Key,
    /// The reason.
    pub message: String,
}

impl StoredObject {
    /// Returns the object's key.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// Returns the object's name.
    pub fn name(&self) -> &str {
        self.key.name()
    }

    /// Returns the object's namespace.
    pub fn namespace(&self) -> Option<&str> {
        self.key.namespace()
    }

    /// Returns what the object shares with all others of its cache.
    pub fn kind(&self) -> &Arc<ObjectKind> {
        &self.kind
    }

    /// Returns the UID; empty if the object has none.
    pub fn uid(&self) -> &str {
        self.plain(self.spans.uid)
    }

    /// Returns the resource version; empty if the object has none.
    pub fn resource_version(&self) -> &str {
        self.plain(self.spans.resource_version)
    }

    /// Returns the generation.
    pub fn generation(&self) -> Option<i64> {
        let digits = self.spans.generation.of(self.metadata());
        std::str::from_utf8(digits).ok()?.parse().ok()
    }

    /// Returns the deletion timestamp as written.
    pub fn deletion_timestamp(&self) -> Option<&str> {
        (!self.spans.deletion.is_empty()).then(|| self.plain(self.spans.deletion))
    }

    /// Returns the value of a label.
    pub fn label(&self, name: &str) -> Option<Cow<'_, str>> {
        self.entry(self.spans.labels, name)
    }

    /// Returns all labels.
    pub fn labels(&self) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
        self.entries(self.spans.labels)
    }

    /// Returns the value of an annotation.
    pub fn annotation(&self, name: &str) -> Option<Cow<'_, str>> {
        self.entry(self.spans.annotations, name)
    }

    /// Returns all annotations.
    pub fn annotations(&self) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
        self.entries(self.spans.annotations)
    }

    /// Returns the owners.
    pub fn owners(&self) -> Vec<Owner> {
        if self.spans.owners.is_empty() {
            return Vec::new();
        }
        serde_json::from_slice(self.spans.owners.of(self.metadata())).unwrap_or_default()
    }

    /// Returns the owner that is the managing controller.
    pub fn controller(&self) -> Option<Owner> {
        self.owners().into_iter().find(|owner| owner.controller)
    }

    /// Returns the finalizers.
    pub fn finalizers(&self) -> Vec<String> {
        if self.spans.finalizers.is_empty() {
            return Vec::new();
        }
        serde_json::from_slice(self.spans.finalizers.of(self.metadata())).unwrap_or_default()
    }

    /// Returns the JSON of the metadata.
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

    /// Returns the whole JSON as it arrived, without the removed parts. Items of a list, which come without `kind` and
    /// `apiVersion`, have them here.
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

    /// Returns the number of bytes that the object's JSON takes in memory.
    pub fn stored_bytes(&self) -> usize {
        match &self.body {
            Body::Plain(json) => json.len(),
            Body::Packed { metadata, rest, .. } => metadata.len() + rest.len(),
        }
    }

    /// Decodes the object, or returns the value that is already decoded and in use, or that the cache keeps
    /// within its [`DecodedLimits`](crate::DecodedLimits).
    ///
    /// # Errors
    ///
    /// Fails if the object cannot be decoded as a `K`. The failure is counted and logged.
    pub fn decode<K>(self: &Arc<Self>) -> Result<Arc<K>, DecodeFailure>
    where
        K: DeserializeOwned + Send + Sync + 'static,
    {
        let known = self.typed.lock().value();
        if let Some(value) = known.and_then(|value| value.downcast::<K>().ok()) {
            return Ok(value);
        }
        let value: K = parse(&self.json()).map_err(|error| self.undecodable(&error))?;
        let value = Arc::new(value);
        let any: Arc<dyn Any + Send + Sync> = value.clone();
        let again = !matches!(*self.typed.lock(), Typed::New);
        if !(again && self.kind.decoded.keep(self, &any)) {
            self.share(&any);
        }
        Ok(value)
    }

    /// Reports whether `other` is the same state of the same object.
    pub fn is_same_version(&self, other: &Self) -> bool {
        self.uid() == other.uid()
            && !self.resource_version().is_empty()
            && self.resource_version() == other.resource_version()
    }

    /// Returns the size of the JSON, uncompressed.
    pub(super) fn json_length(&self) -> usize {
        match &self.body {
            Body::Plain(json) => json.len(),
            Body::Packed {
                metadata,
                rest_length,
                ..
            } => metadata.len() + *rest_length as usize,
        }
    }

    /// Shares a value with other readers while it is in use.
    fn share(self: &Arc<Self>, value: &Arc<dyn Any + Send + Sync>) {
        let mut typed = self.typed.lock();
        if matches!(*typed, Typed::Kept { .. }) {
            return;
        }
        *typed = Typed::Held(Arc::downgrade(value));
        drop(typed);
        self.kind.decoded.hold(self);
    }

    fn undecodable(&self, error: &serde_json::Error) -> DecodeFailure {
        let failure = DecodeFailure {
            key: self.key.clone(),
            message: error.to_string(),
        };
        self.kind.failed(&failure);
        failure
    }

    /// Returns a string without escapes, such as a name or a version.
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

impl Drop for StoredObject {
    fn drop(&mut self) {
        if matches!(self.typed.get_mut(), Typed::Kept { .. }) {
            self.kind.decoded.dropped(self.json_length());
        }
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

/// Decodes a field name without its quotes.
fn unquoted(raw: &[u8]) -> Option<Cow<'_, str>> {
    if !raw.contains(&b'\\') {
        return std::str::from_utf8(raw).ok().map(Cow::Borrowed);
    }
    let quoted = [b"\"", raw, b"\""].concat();
    serde_json::from_slice(&quoted).ok().map(Cow::Owned)
}
