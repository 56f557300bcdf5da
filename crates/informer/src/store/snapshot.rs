//! [`Snapshot`]: one state of the cache.

use std::collections::BTreeSet;
use std::sync::Arc;

use kubewright_machinery::labels::LabelSelector;

use super::index::{Index, IndexError, IndexFn};
use super::trie::Trie;
use crate::key::Key;
use crate::object::StoredObject;

/// One state of the cache: objects, indices and resource version that belong together. Immutable, and cheap to clone.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::core::ApiResource;
/// use kubewright_informer::{Compression, Indexer, Ingest, ObjectKind};
///
/// let kind = ObjectKind::new(ApiResource::erase::<ConfigMap>(&()), Compression::None);
/// let json = br#"{"metadata":{"name":"colours","namespace":"shop","resourceVersion":"7"}}"#;
/// let indexer = Indexer::new();
/// indexer.upsert(Ingest::new(kind).object(json).unwrap());
/// let snapshot = indexer.snapshot();
/// indexer.delete("shop/colours");
/// // A snapshot does not change with the cache.
/// assert!(indexer.is_empty());
/// assert!(snapshot.get("shop/colours").is_some());
/// assert_eq!(snapshot.resource_version(), Some("7"));
/// ```
#[derive(Clone, Default)]
pub struct Snapshot {
    objects: Trie<Arc<StoredObject>>,
    indices: Vec<Index>,
    resource_version: Option<Arc<str>>,
    bytes: usize,
}

impl Snapshot {
    /// Returns the object under that key.
    pub fn get(&self, key: &str) -> Option<&Arc<StoredObject>> {
        self.objects.get(key)
    }

    /// Iterates over all objects, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<StoredObject>> {
        self.objects.iter()
    }

    /// Returns the objects whose labels match.
    pub fn select(&self, selector: &LabelSelector) -> Vec<Arc<StoredObject>> {
        if selector.is_nothing() {
            return Vec::new();
        }
        self.iter()
            .filter(|object| matches(selector, object))
            .cloned()
            .collect()
    }

    /// Returns the objects under a value of an index.
    ///
    /// # Errors
    ///
    /// Fails if there is no such index.
    pub fn by_index(&self, name: &str, value: &str) -> Result<Vec<Arc<StoredObject>>, IndexError> {
        let bucket = self.index(name)?.bucket(value);
        let keys = bucket.into_iter().flat_map(|bucket| bucket.keys.iter());
        Ok(keys
            .filter_map(|key| self.get(key.as_str()))
            .cloned()
            .collect())
    }

    /// Returns the keys under a value of an index, sorted.
    ///
    /// # Errors
    ///
    /// Fails if there is no such index.
    pub fn index_keys(&self, name: &str, value: &str) -> Result<Vec<Key>, IndexError> {
        let bucket = self.index(name)?.bucket(value);
        let mut keys: Vec<_> = bucket
            .into_iter()
            .flat_map(|bucket| bucket.keys.iter().cloned())
            .collect();
        keys.sort();
        Ok(keys)
    }

    /// Returns the objects that share a value of an index with `object`.
    ///
    /// # Errors
    ///
    /// Fails if there is no such index.
    pub fn sharing(
        &self,
        name: &str,
        object: &Arc<StoredObject>,
    ) -> Result<Vec<Arc<StoredObject>>, IndexError> {
        let index = self.index(name)?;
        let values = index.values_of(object);
        let keys: BTreeSet<_> = values
            .iter()
            .filter_map(|value| index.bucket(value))
            .flat_map(|bucket| bucket.keys.iter())
            .collect();
        let objects = keys.into_iter().filter_map(|key| self.get(key.as_str()));
        Ok(objects.cloned().collect())
    }

    /// Returns the values under which an index has objects, sorted.
    ///
    /// # Errors
    ///
    /// Fails if there is no such index.
    pub fn index_values(&self, name: &str) -> Result<Vec<String>, IndexError> {
        let mut values: Vec<_> = self.index(name)?.values().map(str::to_owned).collect();
        values.sort();
        Ok(values)
    }

    /// Reports whether there is an index of that name.
    pub fn has_index(&self, name: &str) -> bool {
        self.index(name).is_ok()
    }

    /// Returns the number of objects.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Reports whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Returns the size of all objects' JSON as it is kept, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the resource version of this state; `None` before the first list.
    pub fn resource_version(&self) -> Option<&str> {
        self.resource_version.as_deref()
    }

    /// Adds or replaces an object, and returns its previous state.
    pub(crate) fn insert(&mut self, object: Arc<StoredObject>) -> Option<Arc<StoredObject>> {
        let old = self.objects.insert(object.clone());
        self.bytes += object.stored_bytes();
        self.bytes -= old.as_ref().map_or(0, |old| old.stored_bytes());
        for index in &mut self.indices {
            index.update(old.as_ref(), Some(&object));
        }
        old
    }

    pub(crate) fn remove(&mut self, key: &str) -> Option<Arc<StoredObject>> {
        let old = self.objects.remove(key)?;
        self.bytes -= old.stored_bytes();
        for index in &mut self.indices {
            index.update(Some(&old), None);
        }
        Some(old)
    }

    pub(crate) fn set_resource_version(&mut self, version: Option<&str>) {
        if self.resource_version.as_deref() != version {
            self.resource_version = version.map(Into::into);
        }
    }

    pub(crate) fn add_index(&mut self, name: &str, function: IndexFn) -> Result<(), IndexError> {
        if self.has_index(name) {
            return Err(IndexError::Exists(name.to_owned()));
        }
        let mut index = Index::new(name, function);
        for object in self.objects.iter() {
            index.update(None, Some(object));
        }
        self.indices.push(index);
        Ok(())
    }

    /// Removes all objects, and keeps the indices.
    pub(crate) fn emptied(&self) -> Self {
        Self {
            indices: self.indices.iter().map(Index::emptied).collect(),
            ..Self::default()
        }
    }

    fn index(&self, name: &str) -> Result<&Index, IndexError> {
        self.indices
            .iter()
            .find(|index| *index.name == *name)
            .ok_or_else(|| IndexError::Unknown(name.to_owned()))
    }
}

/// Reports whether an object's labels match.
pub(crate) fn matches(selector: &LabelSelector, object: &StoredObject) -> bool {
    if selector.is_empty() {
        return !selector.is_nothing();
    }
    let labels = object.labels();
    selector.matches(|name| {
        labels
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| &**value)
    })
}
