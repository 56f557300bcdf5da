//! Other objects, as admission reads them: straight from the store, so that a plugin never judges by an old state.

use std::sync::Arc;

use kubewright_machinery::{Status, status};
use kubewright_store::{Entry, Key, Range, Store};
use serde::de::DeserializeOwned;

/// A store of objects. Clones share it.
#[derive(Clone)]
pub struct Stored(pub(crate) Arc<dyn Store>);

impl Stored {
    /// One object, or what `T` keeps of it.
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

    /// The entries whose path begins so; all with an empty `prefix`.
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

    /// The objects whose path begins so, or what `T` keeps of them.
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

/// A stored object, or what `T` keeps of it.
pub(super) fn decode<T: DeserializeOwned>(entry: &Entry) -> Result<T, Status> {
    serde_json::from_slice(&entry.bytes).map_err(status::internal)
}
