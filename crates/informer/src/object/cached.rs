//! [`Cached`]: a stored object seen as a `K`.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::stored::{DecodeFailure, StoredObject};

/// A cached object that is a `K`. Its metadata is at hand ([`StoredObject`]'s methods work here); the value itself is
/// decoded when [`get`](Self::get) asks for it, and shared with all others who ask while it is held.
pub struct Cached<K> {
    object: Arc<StoredObject>,
    kind: PhantomData<fn() -> K>,
}

impl<K> Cached<K> {
    /// Sees `object` as a `K`.
    pub fn new(object: Arc<StoredObject>) -> Self {
        Self {
            object,
            kind: PhantomData,
        }
    }

    /// The stored object itself.
    pub fn stored(&self) -> &Arc<StoredObject> {
        &self.object
    }

    /// The stored object itself.
    pub fn into_stored(self) -> Arc<StoredObject> {
        self.object
    }

    /// The same object seen as another type: a pod as its metadata.
    pub fn seen_as<T>(self) -> Cached<T> {
        Cached::new(self.object)
    }
}

impl<K: DeserializeOwned + Send + Sync + 'static> Cached<K> {
    /// The object's value. To change a copy of it, use [`Arc::make_mut`].
    pub fn get(&self) -> Result<Arc<K>, DecodeFailure> {
        self.object.decode()
    }
}

impl<K> Deref for Cached<K> {
    type Target = StoredObject;

    fn deref(&self) -> &StoredObject {
        &self.object
    }
}

impl<K> Clone for Cached<K> {
    fn clone(&self) -> Self {
        Self::new(self.object.clone())
    }
}

impl<K> fmt::Debug for Cached<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.object.fmt(f)
    }
}
