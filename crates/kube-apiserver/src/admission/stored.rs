//! Other objects for admission, read from the store so that a plugin never decides by an old state.

use std::sync::Arc;

use kubewright_machinery::{Status, status};
use kubewright_store::{Entry, Key, Range, Store};
use serde::de::DeserializeOwned;

/// A store of objects. Clones share it.
#[derive(Clone)]
pub(crate) struct Stored(pub(crate) Arc<dyn Store>);

impl Stored {
    /// Returns an object, decoded into `T`.
    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        collection: &str,
        path: &str,
    ) -> Result<Option<T>, Status> {
        let entry = self
            .0
            .get(&Key::new(collection, path))
            .await
            .map_err(status::internal)?;
        entry.as_ref().map(decode).transpose()
    }

    /// Returns the entries whose path has this prefix; all entries if it is empty.
    pub(super) async fn entries(
        &self,
        collection: &str,
        prefix: String,
    ) -> Result<Vec<Entry>, Status> {
        let snapshot = self.0.snapshot(None).await.map_err(status::internal)?;
        let range = Range {
            prefix,
            ..Range::default()
        };
        Ok(snapshot
            .range(collection, range)
            .await
            .map_err(status::internal)?
            .entries)
    }

    /// Returns the objects whose path has this prefix, decoded into `T`.
    pub(super) async fn list<T: DeserializeOwned>(
        &self,
        collection: &str,
        prefix: String,
    ) -> Result<Vec<T>, Status> {
        self.entries(collection, prefix)
            .await?
            .iter()
            .map(decode)
            .collect()
    }
}

/// Decodes a stored object into `T`.
pub(super) fn decode<T: DeserializeOwned>(entry: &Entry) -> Result<T, Status> {
    serde_json::from_slice(&entry.bytes).map_err(status::internal)
}
