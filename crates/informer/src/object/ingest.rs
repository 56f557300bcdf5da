//! [`Ingest`]: from bytes on the wire to a [`StoredObject`].
//!
//! One pass over the start of the object finds its key, its metadata and its managedFields; then the bytes are copied
//! once, without the managedFields and with the type, which items of a list lack. An object that is cached already in
//! that version is not copied at all.

use std::ops::Range;
use std::sync::Arc;

use kubewright_client::stream::scan::{ObjectReader, text};
use parking_lot::Mutex;

use super::kind::{Compression, ObjectKind};
use super::spans::Layout;
use super::stored::{Body, StoredObject};
use crate::key::Key;
use crate::transform::Transform;

/// An object that cannot be cached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {why}")]
pub struct Rejected {
    /// The object, as far as it can be identified.
    pub what: String,
    /// The reason.
    pub why: String,
}

/// Converts JSON into [`StoredObject`]s of one kind.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::core::ApiResource;
/// use kubewright_informer::{Compression, Ingest, ObjectKind};
///
/// let kind = ObjectKind::new(ApiResource::erase::<ConfigMap>(&()), Compression::None);
/// let json = br#"{"metadata":{"name":"colours","namespace":"shop","resourceVersion":"5"}}"#;
/// let object = Ingest::new(kind).object(json).unwrap();
/// assert_eq!(object.key().as_str(), "shop/colours");
/// assert_eq!(object.resource_version(), "5");
/// ```
#[derive(Clone)]
pub struct Ingest {
    kind: Arc<ObjectKind>,
    keep_managed_fields: bool,
    transform: Option<Transform>,
    /// The kind of the objects in the stream if it is not their own: `PartialObjectMetadata`.
    wire_kind: String,
}

/// Already cached objects, by key.
pub(crate) trait Known {
    fn known(&self, key: &str) -> Option<Arc<StoredObject>>;
}

impl Ingest {
    /// Accepts objects of that kind, and drops managedFields.
    pub fn new(kind: Arc<ObjectKind>) -> Self {
        Self {
            wire_kind: kind.resource.kind.clone(),
            kind,
            keep_managed_fields: false,
            transform: None,
        }
    }

    /// Sets whether managedFields are kept.
    #[must_use]
    pub fn keep_managed_fields(mut self, keep: bool) -> Self {
        self.keep_managed_fields = keep;
        self
    }

    /// Transforms every object before it is cached.
    #[must_use]
    pub fn transform(mut self, transform: Option<Transform>) -> Self {
        self.transform = transform;
        self
    }

    /// Expects objects of another kind in the stream, as in metadata-only responses.
    #[must_use]
    pub fn wire_kind(mut self, kind: impl Into<String>) -> Self {
        self.wire_kind = kind.into();
        self
    }

    /// Returns what all these objects share.
    pub fn kind(&self) -> &Arc<ObjectKind> {
        &self.kind
    }

    /// Converts an object from its JSON.
    ///
    /// # Errors
    ///
    /// Fails if it has no name or is of another kind, or if the transform fails.
    pub fn object(&self, json: &[u8]) -> Result<Arc<StoredObject>, Rejected> {
        self.object_unless_known(json, &Nothing)
    }

    /// Converts an object from its JSON, or returns the one that is known already in that version.
    pub(crate) fn object_unless_known(
        &self,
        json: &[u8],
        known: &dyn Known,
    ) -> Result<Arc<StoredObject>, Rejected> {
        let layout = Layout::read(json, self.keep_managed_fields)
            .map_err(|error| rejected(json, error.to_string()))?;
        self.check_kind(json, &layout)?;
        let metadata = Metadata {
            json,
            layout: &layout,
        };
        let key = metadata
            .key()
            .ok_or_else(|| rejected(json, "it has no name"))?;
        let old = known.known(&key);
        if let Some(old) = &old
            && !old.resource_version().is_empty()
            && metadata.text(|s| s.resource_version).as_deref() == Some(old.resource_version())
            && metadata.text(|s| s.uid).as_deref().unwrap_or_default() == old.uid()
        {
            return Ok(old.clone());
        }
        let key = old.map_or_else(|| Key::from_text(&key), |old| old.key.clone());
        let Some(transform) = &self.transform else {
            return Ok(self.store(key, json, &layout));
        };
        let changed = transform.apply(json).map_err(|why| rejected(json, why))?;
        let layout = Layout::read(&changed, self.keep_managed_fields)
            .map_err(|error| rejected(json, format!("after the transform: {error}")))?;
        Ok(self.store(key, &changed, &layout))
    }

    fn check_kind(&self, json: &[u8], layout: &Layout) -> Result<(), Rejected> {
        let Some(kind) = layout.kind.clone().and_then(|kind| text(&json[kind])) else {
            return Ok(());
        };
        if *kind == *self.wire_kind || *kind == *self.kind.resource.kind {
            return Ok(());
        }
        Err(rejected(
            json,
            format!("it is a {kind}, not a {}", self.wire_kind),
        ))
    }

    fn store(&self, key: Key, json: &[u8], layout: &Layout) -> Arc<StoredObject> {
        // Replaces the opening bracket.
        let (open, rest) = if has_type(json, layout) {
            (&b""[..], 0)
        } else {
            (self.kind.head.as_bytes(), 1)
        };
        let (head, tail) = (
            &json[rest..layout.cut.start.max(rest)],
            &json[layout.cut.end.max(rest)..],
        );
        let whole = [open, head, tail].concat();
        let metadata_at = layout.metadata.start + open.len() - rest;
        let metadata_length = layout.metadata.len() - layout.cut.len();
        let body = match self.kind.compression {
            Compression::None => Body::Plain(whole.into_boxed_slice()),
            Compression::Lz4 => self.pack(&whole, metadata_at..metadata_at + metadata_length),
        };
        Arc::new(StoredObject {
            key,
            kind: self.kind.clone(),
            body,
            metadata_at: u32::try_from(metadata_at).unwrap_or(0),
            metadata_length: u32::try_from(metadata_length).unwrap_or(0),
            spans: layout.spans,
            typed: Mutex::default(),
        })
    }

    fn pack(&self, whole: &[u8], metadata: Range<usize>) -> Body {
        let rest = [&whole[..metadata.start], &whole[metadata.end..]].concat();
        let metadata: Box<[u8]> = whole[metadata].into();
        let dictionary = self.kind.dictionary.get_or_init(|| {
            // LZ4 looks back at most 64 KiB, and a long dictionary slows every object down.
            rest.get(..8192).unwrap_or(&rest).into()
        });
        let packed = lz4_flex::block::compress_with_dict(&rest, dictionary);
        Body::Packed {
            metadata,
            rest_length: u32::try_from(rest.len()).unwrap_or(0),
            rest: packed.into_boxed_slice(),
        }
    }
}

/// Reports whether an object contains its type. If the type does not precede the metadata, it hardly ever comes later:
/// only where there is a `kind` at all the rest is examined.
fn has_type(json: &[u8], layout: &Layout) -> bool {
    if layout.kind.is_some() || layout.has_api_version || json.first() != Some(&b'{') {
        return true;
    }
    let rest = json.get(layout.metadata.end..).unwrap_or_default();
    memchr::memmem::find(rest, b"\"kind\"").is_some() && names_its_type(json)
}

fn names_its_type(json: &[u8]) -> bool {
    let Ok(mut reader) = ObjectReader::new(json, 0) else {
        return true;
    };
    while let Ok(Some(key)) = reader.next_key() {
        if key == b"kind" || key == b"apiVersion" {
            return true;
        }
        if reader.skip().is_err() {
            return true;
        }
    }
    false
}

struct Nothing;

impl Known for Nothing {
    fn known(&self, _: &str) -> Option<Arc<StoredObject>> {
        None
    }
}

/// The metadata before it is stored; positions still include managedFields.
struct Metadata<'a> {
    json: &'a [u8],
    layout: &'a Layout,
}

impl<'a> Metadata<'a> {
    fn text(
        &self,
        field: impl Fn(&super::spans::Spans) -> super::spans::Span,
    ) -> Option<std::borrow::Cow<'a, str>> {
        text(field(&self.layout.spans).within(self.json, self.layout))
    }

    fn key(&self) -> Option<String> {
        let name = self.text(|s| s.name).filter(|name| !name.is_empty())?;
        match self.text(|s| s.namespace) {
            Some(namespace) if !namespace.is_empty() => Some([&*namespace, "/", &*name].concat()),
            _ => Some(name.into_owned()),
        }
    }
}

fn rejected(json: &[u8], why: impl Into<String>) -> Rejected {
    let start = String::from_utf8_lossy(json.get(..120).unwrap_or(json)).into_owned();
    Rejected {
        what: start,
        why: why.into(),
    }
}
