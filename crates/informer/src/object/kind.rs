//! [`ObjectKind`]: what all objects of one cache share.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use kube::core::ApiResource;
use parking_lot::Mutex;

use super::stored::{DecodeFailure, StoredObject};

/// How the bytes of cached objects are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Compression {
    /// As they are.
    #[default]
    None,
    /// Packed with LZ4, the first object serving as dictionary for all. The metadata stays readable.
    Lz4,
}

/// What all objects of one cache share: their type, how they are packed, what went wrong with them.
#[derive(Debug)]
pub struct ObjectKind {
    pub(crate) resource: ApiResource,
    pub(crate) compression: Compression,
    /// What the JSON of such an object begins with where it has its type.
    pub(crate) head: String,
    pub(crate) dictionary: OnceLock<Box<[u8]>>,
    decode_failures: AtomicU64,
    last_failure: Mutex<Option<DecodeFailure>>,
    remembered: Mutex<VecDeque<Weak<StoredObject>>>,
}

/// A decoded value of any type, while somebody holds it.
pub(crate) type Remembered = Weak<dyn Any + Send + Sync>;

impl ObjectKind {
    /// Objects of that resource.
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

    /// The resource.
    pub fn resource(&self) -> &ApiResource {
        &self.resource
    }

    /// How often an object could not be decoded into the type that somebody asked for.
    pub fn decode_failures(&self) -> u64 {
        self.decode_failures.load(Ordering::Relaxed)
    }

    /// The last object that could not be decoded, and why.
    pub fn last_decode_failure(&self) -> Option<DecodeFailure> {
        self.last_failure.lock().clone()
    }

    pub(crate) fn failed(&self, failure: &DecodeFailure) {
        self.decode_failures.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(
            kind = self.resource.kind,
            key = %failure.key,
            error = failure.message,
            "an object cannot be decoded"
        );
        *self.last_failure.lock() = Some(failure.clone());
    }

    /// Notes that `object` remembers its decoded value, and lets others forget values that nobody holds any more: a weak
    /// reference keeps the value's memory.
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
