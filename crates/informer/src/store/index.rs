//! [`IndexFn`]: the values under which objects are found.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::trie::{Keyed, Trie};
use crate::key::Key;
use crate::object::StoredObject;
use crate::object::field_path::FieldPath;

/// Computes the values under which an object is found: none, one or many. An empty string is a value too.
///
/// ```
/// use kubewright_informer::IndexFn;
///
/// // By a field, without decoding anything.
/// let by_node = IndexFn::field("spec.nodeName");
/// // By a function of the metadata.
/// let by_finalizer = IndexFn::new(|object| object.finalizers());
/// # let _ = (by_node, by_finalizer);
/// ```
#[derive(Clone)]
pub struct IndexFn(Arc<Values>);

type Values = dyn Fn(&Arc<StoredObject>) -> Vec<String> + Send + Sync;

/// An index does not exist, or exists already.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// There is no index of that name.
    #[error("index with name {0} does not exist")]
    Unknown(String),
    /// There is an index of that name already.
    #[error("indexer conflict: {0} exists already")]
    Exists(String),
}

/// An index of one snapshot.
#[derive(Clone)]
pub(super) struct Index {
    pub(super) name: Arc<str>,
    function: IndexFn,
    buckets: Trie<Bucket>,
}

/// The objects under one value.
#[derive(Clone)]
pub(super) struct Bucket {
    value: Arc<str>,
    pub(super) keys: Trie<Key>,
}

impl IndexFn {
    /// Indexes by a function of the stored object: its labels, owners, fields.
    pub fn new(function: impl Fn(&StoredObject) -> Vec<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(move |object| function(object)))
    }

    /// Indexes by a function of the decoded value. Every object is decoded once for it; one that cannot be decoded is
    /// reported and has no values.
    pub fn typed<K>(function: impl Fn(&K) -> Vec<String> + Send + Sync + 'static) -> Self
    where
        K: DeserializeOwned + Send + Sync + 'static,
    {
        Self(Arc::new(move |object| {
            object
                .decode::<K>()
                .map_or_else(|_| Vec::new(), |value| function(&value))
        }))
    }

    /// Indexes by a field such as `spec.nodeName`, without decoding the object.
    pub fn field(path: &str) -> Self {
        let path = FieldPath::new(path);
        Self(Arc::new(move |object| {
            let json = object.json();
            path.values(&json)
                .into_iter()
                .map(|v| v.into_owned())
                .collect()
        }))
    }

    /// Indexes by the value of a label.
    pub fn label(name: impl Into<String>) -> Self {
        let name = name.into();
        Self::new(move |object| {
            object
                .label(&name)
                .map(|v| v.into_owned())
                .into_iter()
                .collect()
        })
    }

    /// Indexes by the UIDs of the owners.
    pub fn owner_uid() -> Self {
        Self::new(|object| object.owners().into_iter().map(|owner| owner.uid).collect())
    }

    /// Indexes by the namespace; empty for cluster-scoped objects.
    pub fn namespace() -> Self {
        Self::new(|object| vec![object.namespace().unwrap_or_default().to_owned()])
    }

    /// Computes the values of an object. A function that panics yields none, and the cache continues.
    pub(super) fn values(&self, object: &Arc<StoredObject>) -> Vec<String> {
        catch_unwind(AssertUnwindSafe(|| (self.0)(object))).unwrap_or_else(|_| {
            tracing::error!(key = %object.key(), "index function panicked");
            Vec::new()
        })
    }
}

impl fmt::Debug for IndexFn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IndexFn")
    }
}

impl Index {
    pub(super) fn new(name: &str, function: IndexFn) -> Self {
        Self {
            name: name.into(),
            function,
            buckets: Trie::default(),
        }
    }

    /// Moves an object from the values of its old state to those of its new one.
    pub(super) fn update(
        &mut self,
        old: Option<&Arc<StoredObject>>,
        new: Option<&Arc<StoredObject>>,
    ) {
        let before = old
            .map(|object| self.function.values(object))
            .unwrap_or_default();
        let after = new
            .map(|object| self.function.values(object))
            .unwrap_or_default();
        if before == after {
            return;
        }
        if let Some(old) = old {
            for value in before.iter().filter(|value| !after.contains(value)) {
                self.remove(value, old.key().as_str());
            }
        }
        if let Some(new) = new {
            for value in after.iter().filter(|value| !before.contains(value)) {
                self.add(value, new.key());
            }
        }
    }

    pub(super) fn bucket(&self, value: &str) -> Option<&Bucket> {
        self.buckets.get(value)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &str> {
        self.buckets.iter().map(|bucket| &*bucket.value)
    }

    pub(super) fn values_of(&self, object: &Arc<StoredObject>) -> Vec<String> {
        self.function.values(object)
    }

    /// Returns the same index without objects.
    pub(super) fn emptied(&self) -> Self {
        Self {
            name: self.name.clone(),
            function: self.function.clone(),
            buckets: Trie::default(),
        }
    }

    fn add(&mut self, value: &str, key: &Key) {
        let mut bucket = self.buckets.remove(value).unwrap_or_else(|| Bucket {
            value: value.into(),
            keys: Trie::default(),
        });
        bucket.keys.insert(key.clone());
        self.buckets.insert(bucket);
    }

    fn remove(&mut self, value: &str, key: &str) {
        let Some(mut bucket) = self.buckets.remove(value) else {
            return;
        };
        bucket.keys.remove(key);
        if !bucket.keys.is_empty() {
            self.buckets.insert(bucket);
        }
    }
}

impl Keyed for Bucket {
    fn text_key(&self) -> &str {
        &self.value
    }
}

impl Keyed for Key {
    fn text_key(&self) -> &str {
        self.as_str()
    }
}

impl Keyed for Arc<StoredObject> {
    fn text_key(&self) -> &str {
        self.key().as_str()
    }
}
