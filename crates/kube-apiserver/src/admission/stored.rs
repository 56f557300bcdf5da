//! Other objects for admission, read from the store so that a plugin never decides by an old state.

use std::{sync::Arc, time::Duration};

use kubewright_machinery::{Status, status};
use kubewright_store::{Entry, Key, Range, Store};
use serde::de::DeserializeOwned;

/// A store of objects. Clones share it.
#[derive(Clone)]
pub(crate) struct Stored(pub(crate) Arc<dyn Store>);

impl Stored {
    /// Returns an object, decoded into `T`.
    pub(crate) async fn get<T: DeserializeOwned>(
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

    /// Returns an object as soon as it exists, or `None` after a time.
    pub(crate) async fn get_within<T: DeserializeOwned>(
        &self,
        collection: &str,
        path: &str,
        wait: Duration,
    ) -> Result<Option<T>, Status> {
        let revision = self.0.current().await.map_err(status::internal)?;
        if let Some(found) = self.get(collection, path).await? {
            return Ok(Some(found));
        }
        let mut changes = self
            .0
            .watch(collection, path, revision)
            .await
            .map_err(status::internal)?;
        let appears = async {
            // A change of an object whose path only begins so is looked at in vain.
            while changes.next().await.is_ok() {
                if let Some(found) = self.get(collection, path).await? {
                    return Ok(Some(found));
                }
            }
            Ok(None)
        };
        tokio::time::timeout(wait, appears)
            .await
            .unwrap_or(Ok(None))
    }

    /// Returns the entries whose path has this prefix; all entries if it is empty.
    pub(crate) async fn entries(
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
    pub(crate) async fn list<T: DeserializeOwned>(
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
pub(crate) fn decode<T: DeserializeOwned>(entry: &Entry) -> Result<T, Status> {
    serde_json::from_slice(&entry.bytes).map_err(status::internal)
}
