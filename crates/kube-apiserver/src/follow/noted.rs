//! [`Noted`]: a store that notifies an index of every write.

use std::sync::Arc;

use async_trait::async_trait;
use kubewright_store::{
    Change, Entry, Key, Payload, ReadError, Revision, Snapshot, Store, Updated, Watch, WriteError,
};

use super::{Following, Index};

/// A store whose writes are noted before they are answered. Also those that failed, since they may have happened.
pub(crate) struct Noted<I: Index> {
    store: Arc<dyn Store>,
    index: Arc<Following<I>>,
}

impl<I: Index> Noted<I> {
    pub(crate) fn new(store: Arc<dyn Store>, index: Arc<Following<I>>) -> Self {
        Self { store, index }
    }
}

#[async_trait]
impl<I: Index + 'static> Store for Noted<I> {
    async fn current(&self) -> Result<Revision, ReadError> {
        self.store.current().await
    }

    async fn snapshot(&self, at: Option<Revision>) -> Result<Arc<dyn Snapshot>, ReadError> {
        self.store.snapshot(at).await
    }

    async fn get(&self, key: &Key) -> Result<Option<Entry>, ReadError> {
        self.store.get(key).await
    }

    async fn create(&self, key: Key, payload: Payload) -> Result<Entry, WriteError> {
        let created = self.store.create(key, payload).await;
        self.index.note();
        created
    }

    async fn update(
        &self,
        key: Key,
        expected: Revision,
        payload: Payload,
    ) -> Result<Updated, WriteError> {
        let updated = self.store.update(key, expected, payload).await;
        self.index.note();
        updated
    }

    async fn delete(&self, key: Key, expected: Revision) -> Result<Entry, WriteError> {
        let deleted = self.store.delete(key, expected).await;
        self.index.note();
        deleted
    }

    async fn watch(
        &self,
        collection: &str,
        prefix: &str,
        after: Revision,
    ) -> Result<Box<dyn Watch>, ReadError> {
        self.store.watch(collection, prefix, after).await
    }

    async fn ready(&self) -> Result<(), ReadError> {
        self.store.ready().await
    }

    async fn archived(&self, key: &Key, until: Revision) -> Result<Vec<Arc<Change>>, ReadError> {
        self.store.archived(key, until).await
    }

    fn limitation(&self) -> Option<String> {
        self.store.limitation()
    }

    async fn compact(&self, floor: Revision) -> Result<(), ReadError> {
        self.store.compact(floor).await
    }
}
