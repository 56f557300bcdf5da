//! [`ObjectKind`]: what all objects of one cache share.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use kube::core::ApiResource;
use parking_lot::Mutex;

use super::stored::{DecodeFailure, StoredObject};

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
#[derive(Debug)]
pub struct ObjectKind {
    pub(crate) resource: ApiResource,
    pub(crate) compression: Compression,
    /// The start of an object's JSON that contains its type.
    pub(crate) head: String,
    pub(crate) dictionary: OnceLock<Box<[u8]>>,
    decode_failures: AtomicU64,
    last_failure: Mutex<Option<DecodeFailure>>,
    remembered: Mutex<VecDeque<Weak<StoredObject>>>,
}

/// A decoded value of any type, while somebody holds it.
pub(crate) type Remembered = Weak<dyn Any + Send + Sync>;

impl ObjectKind {
    /// Creates the kind of a resource.
    pub fn new(resource: ApiResource, compression: Compression) -> Arc<Self> {
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
            remembered: Mutex::new(VecDeque::new()),
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

    /// Notes that `object` remembers its decoded value, and makes others drop values that nobody holds any more,
    /// because a weak reference keeps the value's memory.
    pub(crate) fn remember(&self, object: &Arc<StoredObject>) {
        let mut remembered = self.remembered.lock();
        remembered.push_back(Arc::downgrade(object));
        for _ in 0..2 {
            let Some(oldest) = remembered.pop_front() else {
                break;
            };
            if oldest
                .upgrade()
                .is_some_and(|object| !object.forget_if_dead())
            {
                remembered.push_back(oldest);
            }
        }
    }
}
