//! [`Cached`]: a stored object as a `K`.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::stored::{DecodeFailure, StoredObject};

/// A cached object of type `K`. Its metadata is available without decoding (the methods of [`StoredObject`] work here);
/// [`get`](Self::get) decodes the value and shares it with all its other users.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::core::ApiResource;
/// use kubewright_informer::{Cached, Compression, Ingest, ObjectKind};
///
/// let kind = ObjectKind::new(ApiResource::erase::<ConfigMap>(&()), Compression::None);
/// let json = br#"{"metadata":{"name":"colours","namespace":"shop","resourceVersion":"5"},"data":{"sky":"blue"}}"#;
/// let map = Cached::<ConfigMap>::new(Ingest::new(kind).object(json).unwrap());
/// // Without decoding.
/// assert_eq!(map.key().as_str(), "shop/colours");
/// let decoded = map.get().unwrap();
/// assert_eq!(decoded.data.as_ref().unwrap()["sky"], "blue");
/// ```
pub struct Cached<K> {
    object: Arc<StoredObject>,
    kind: PhantomData<fn() -> K>,
}

impl<K> Cached<K> {
    /// Wraps `object` as a `K`.
    pub fn new(object: Arc<StoredObject>) -> Self {
        Self {
            object,
            kind: PhantomData,
        }
    }

    /// Returns the stored object.
    pub fn stored(&self) -> &Arc<StoredObject> {
        &self.object
    }

    /// Returns the same object as another type, such as a pod as its metadata.
    pub fn cast<T>(self) -> Cached<T> {
        Cached::new(self.object)
    }
}

impl<K: DeserializeOwned + Send + Sync + 'static> Cached<K> {
    /// Returns the decoded object. To change a copy of it, use [`Arc::make_mut`].
    ///
    /// # Errors
    ///
    /// Fails if the object cannot be decoded as a `K`.
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
