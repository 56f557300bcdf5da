//! [`Snapshot`]: one state of the cache.

use std::collections::BTreeSet;
use std::sync::Arc;

use kubewright_machinery::labels::LabelSelector;

use super::index::{Index, IndexError, IndexFn};
use super::trie::Trie;
use crate::key::Key;
use crate::object::StoredObject;

/// One state of the cache: objects, indices and resourceVersion that belong together. It never changes; cloning is cheap.
#[derive(Clone, Default)]
pub struct Snapshot {
    objects: Trie<Arc<StoredObject>>,
    indices: Vec<Index>,
    resource_version: Option<Arc<str>>,
    bytes: usize,
}

impl Snapshot {
    /// The object under that key.
    pub fn get(&self, key: &str) -> Option<&Arc<StoredObject>> {
        self.objects.get(key)
    }

    /// All objects, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<StoredObject>> {
        self.objects.iter()
    }

    /// The objects whose labels match.
    pub fn select(&self, selector: &LabelSelector) -> Vec<Arc<StoredObject>> {
        if selector.is_nothing() {
            return Vec::new();
        }
        self.iter()
            .filter(|object| matches(selector, object))
            .cloned()
            .collect()
    }

    /// The objects under a value of an index.
    pub fn by_index(&self, name: &str, value: &str) -> Result<Vec<Arc<StoredObject>>, IndexError> {
        let bucket = self.index(name)?.bucket(value);
        let keys = bucket.into_iter().flat_map(|bucket| bucket.keys.iter());
        Ok(keys
            .filter_map(|key| self.get(key.as_str()))
            .cloned()
            .collect())
    }

    /// The keys under a value of an index, sorted.
    pub fn index_keys(&self, name: &str, value: &str) -> Result<Vec<Key>, IndexError> {
        let bucket = self.index(name)?.bucket(value);
        let mut keys: Vec<_> = bucket
            .into_iter()
            .flat_map(|bucket| bucket.keys.iter().cloned())
            .collect();
        keys.sort();
        Ok(keys)
    }

    /// The objects that share a value of an index with `object`.
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

    /// The values under which an index has objects, sorted.
    pub fn index_values(&self, name: &str) -> Result<Vec<String>, IndexError> {
        let mut values: Vec<_> = self.index(name)?.values().map(str::to_owned).collect();
        values.sort();
        Ok(values)
    }

    /// Whether there is an index of that name.
    pub fn has_index(&self, name: &str) -> bool {
        self.index(name).is_ok()
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The bytes of all objects' JSON as they are kept.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The revision this state shows. `None` before the first list.
    pub fn resource_version(&self) -> Option<&str> {
        self.resource_version.as_deref()
    }

    /// Puts an object in place of its old state, which is returned.
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

    /// Nothing, with the same indices.
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

/// Whether an object's labels match.
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
