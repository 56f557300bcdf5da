//! [`ObjectKind`]: what all objects of one cache share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use kube::core::ApiResource;
use parking_lot::Mutex;

use super::decoded::{Decoded, DecodedLimits};
use super::stored::DecodeFailure;

/// The compression of cached objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Uncompressed.
    #[default]
    None,
    /// Compressed with LZ4, with the first object as the dictionary of all. The metadata stays readable.
    Lz4,
}

/// The properties that all objects of one cache share: type, compression, and decode failures.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::core::ApiResource;
/// use kubewright_informer::{Compression, Ingest, ObjectKind};
///
/// let kind = ObjectKind::new(ApiResource::erase::<ConfigMap>(&()), Compression::None);
/// assert_eq!(kind.resource().plural, "configmaps");
/// let json = br#"{"metadata":{"name":"colours","resourceVersion":"5"},"data":"blue"}"#;
/// let object = Ingest::new(kind.clone()).object(json).unwrap();
/// assert!(object.decode::<ConfigMap>().is_err());
/// assert_eq!(kind.decode_failures(), 1);
/// ```
#[derive(Debug)]
pub struct ObjectKind {
    pub(crate) resource: ApiResource,
    pub(crate) compression: Compression,
    /// The start of an object's JSON that contains its type.
    pub(crate) head: String,
    pub(crate) dictionary: OnceLock<Box<[u8]>>,
    decode_failures: AtomicU64,
    last_failure: Mutex<Option<DecodeFailure>>,
    pub(super) decoded: Decoded,
}

impl ObjectKind {
    /// Creates the kind of a resource, with the default [`DecodedLimits`].
    pub fn new(resource: ApiResource, compression: Compression) -> Arc<Self> {
        Self::with_limits(resource, compression, DecodedLimits::default())
    }

    /// Creates the kind of a resource.
    pub fn with_limits(
        resource: ApiResource,
        compression: Compression,
        decoded: DecodedLimits,
    ) -> Arc<Self> {
        let head = format!(
            "{{\"apiVersion\":\"{}\",\"kind\":\"{}\",",
            resource.api_version, resource.kind
        );
        Arc::new(Self {
            resource,
            head,
            compression,
            dictionary: OnceLock::new(),
            decode_failures: AtomicU64::new(0),
            last_failure: Mutex::new(None),
            decoded: Decoded::new(decoded),
        })
    }

    /// Returns the resource.
    pub fn resource(&self) -> &ApiResource {
        &self.resource
    }

    /// Returns how often an object could not be decoded into a requested type.
    pub fn decode_failures(&self) -> u64 {
        self.decode_failures.load(Ordering::Relaxed)
    }

    /// Returns the last object that could not be decoded, with the reason.
    pub fn last_decode_failure(&self) -> Option<DecodeFailure> {
        self.last_failure.lock().clone()
    }

    pub(crate) fn failed(&self, failure: &DecodeFailure) {
        self.decode_failures.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(
            kind = self.resource.kind,
            key = %failure.key,
            error = failure.message,
            "object cannot be decoded"
        );
        *self.last_failure.lock() = Some(failure.clone());
    }
}
