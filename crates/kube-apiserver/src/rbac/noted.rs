//! [`Noted`]: the store of roles and bindings, which tells the index of every write.

use std::sync::Arc;

use async_trait::async_trait;
use kubewright_store::{
    Entry, Key, Payload, ReadError, Revision, Snapshot, Store, Updated, Watch, WriteError,
};

use super::Policy;

/// A store whose writes are noted before they are answered. Also those that failed, since they may have happened.
pub(crate) struct Noted {
    store: Arc<dyn Store>,
    policy: Arc<Policy>,
}

impl Noted {
    pub(crate) fn new(store: Arc<dyn Store>, policy: Arc<Policy>) -> Self {
        Self { store, policy }
    }
}

#[async_trait]
impl Store for Noted {
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
        self.policy.note();
        created
    }

    async fn update(
        &self,
        key: Key,
        expected: Revision,
        payload: Payload,
    ) -> Result<Updated, WriteError> {
        let updated = self.store.update(key, expected, payload).await;
        self.policy.note();
        updated
    }

    async fn delete(&self, key: Key, expected: Revision) -> Result<Entry, WriteError> {
        let deleted = self.store.delete(key, expected).await;
        self.policy.note();
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

    async fn compact(&self, floor: Revision) -> Result<(), ReadError> {
        self.store.compact(floor).await
    }
}
