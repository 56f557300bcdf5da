//! [`EtcdStore`]: etcd as a [`Store`].

use std::{
    fmt,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use async_trait::async_trait;
use kubewright_store::{
    Entry, Failure, FailureKind, Key, MemoryStore, Payload, ReadError, Revision, Snapshot, Store,
    Updated, Watch, WriteError, layout::Layout,
};
use tokio::{sync::oneshot, task::JoinSet, time::timeout};

use crate::{
    OpenError, Options, check,
    compaction::{self, compact},
    direct::DirectSnapshot,
    error::failure,
    feed::Command,
    lease::Leases,
    open::open,
    quorum::Quorum,
    write::Writer,
};

/// The time limit for a read to become consistent.
const FRESH: Duration = Duration::from_secs(10);
/// The time limit for memory to contain a revision. After that, reads go to etcd.
const LOST: Duration = Duration::from_secs(3);
/// The time limit of a health check.
const HEALTHY: Duration = Duration::from_secs(2);
/// The tolerated duration of an interrupted watch.
const INTERRUPTED: Duration = Duration::from_secs(30);

/// A store in etcd. Clones share the store; when the last one is dropped, its connections are closed. See the
/// [crate documentation](crate) for an example.
#[derive(Clone)]
pub struct EtcdStore {
    inner: Arc<Inner>,
}

struct Inner {
    writer: Writer,
    _tasks: JoinSet<()>,
}

impl EtcdStore {
    /// Connects to etcd, reads all objects into memory, and keeps them up to date.
    ///
    /// # Errors
    ///
    /// Fails if no member responds, if a member is unusable, or if another program uses the prefix. Nothing was written then.
    ///
    /// # Panics
    ///
    /// Panics outside a tokio runtime.
    pub async fn connect(options: &Options, layout: Arc<dyn Layout>) -> Result<Self, OpenError> {
        let opened = open(options, layout).await?;
        let shared = opened.shared;
        let quorum = Arc::new(Quorum::new());
        let mut tasks = JoinSet::new();
        tasks.spawn(opened.feed.run());
        tasks.spawn(Arc::clone(&quorum).run(Arc::clone(&shared)));
        if let Some(interval) = options.compaction_interval {
            tasks.spawn(compaction::run(Arc::clone(&shared), interval));
        }
        if let Some(interval) = options.check_interval {
            tasks.spawn(check::run(Arc::clone(&shared), interval));
        }
        let store = Self {
            inner: Arc::new(Inner {
                writer: Writer {
                    shared,
                    quorum,
                    leases: Leases::default(),
                },
                _tasks: tasks,
            }),
        };
        // Includes the changes since the revision that was read.
        let read = store.fresh().await;
        read.map_err(|error| OpenError::Read(error.message))?;
        Ok(store)
    }

    /// Returns the number of values that could not be decoded, and are not served.
    pub fn unreadable(&self) -> u64 {
        let shared = &self.inner.writer.shared;
        shared.unreadable.load(Ordering::Relaxed)
    }

    /// Returns how often memory differed from etcd at the same revision. Each time, all objects were read again.
    pub fn inconsistencies(&self) -> u64 {
        let shared = &self.inner.writer.shared;
        shared.inconsistencies.load(Ordering::Relaxed)
    }

    /// Returns an independent store in memory with the same contents, revision and history.
    pub fn fork(&self) -> MemoryStore {
        self.published().fork()
    }

    /// Ends all watches after they have delivered all writes.
    pub fn close(&self) {
        self.published().close();
    }

    fn published(&self) -> &MemoryStore {
        &self.inner.writer.shared.published
    }

    /// Waits until memory contains all writes before the call, of any server.
    async fn fresh(&self) -> Result<Revision, Failure> {
        let newest = self.inner.writer.quorum.newest().await?;
        self.inner.writer.shared.reach(newest, FRESH).await?;
        Ok(newest)
    }

    /// Waits until memory contains all writes before the call. If it does not within a few seconds, because the watch is
    /// interrupted, returns a snapshot of etcd itself.
    async fn fresh_or_direct(&self) -> Result<Option<DirectSnapshot>, Failure> {
        let Writer { shared, quorum, .. } = &self.inner.writer;
        let revision = quorum.newest().await?;
        match shared.reach(revision, LOST).await {
            Ok(()) => Ok(None),
            Err(error) => {
                tracing::debug!(%error, "reading from etcd instead of memory");
                let shared = Arc::clone(shared);
                Ok(Some(DirectSnapshot { shared, revision }))
            }
        }
    }

    /// Waits until memory contains a revision, if there is one.
    async fn reach(&self, revision: Revision) -> Result<(), ReadError> {
        if self.inner.writer.shared.applied() >= revision {
            return Ok(());
        }
        let current = self.fresh().await?;
        match revision > current.max(self.inner.writer.shared.applied()) {
            true => Err(ReadError::Future {
                requested: revision,
                current,
            }),
            false => Ok(()),
        }
    }

    /// Returns the current object if an update would not change it.
    async fn unchanged(
        &self,
        key: &Key,
        expected: Revision,
        payload: &Payload,
    ) -> Result<Option<Entry>, ReadError> {
        let is_same =
            |entry: &Entry| entry.revision == expected && entry.bytes == payload.spliced(expected);
        let known = self.published().get(key).await?;
        if !known.as_ref().is_some_and(is_same) {
            return Ok(None);
        }
        // Memory may be behind etcd. If it stays behind, the update is written although nothing may change.
        match self.fresh_or_direct().await? {
            Some(_) => Ok(None),
            None => Ok(self.published().get(key).await?.filter(is_same)),
        }
    }
}

#[async_trait]
impl Store for EtcdStore {
    async fn current(&self) -> Result<Revision, ReadError> {
        Ok(self.fresh().await?)
    }

    async fn snapshot(&self, at: Option<Revision>) -> Result<Arc<dyn Snapshot>, ReadError> {
        match at {
            Some(revision) => self.reach(revision).await?,
            None => {
                if let Some(direct) = self.fresh_or_direct().await? {
                    return Ok(Arc::new(direct));
                }
            }
        }
        self.published().snapshot(at).await
    }

    async fn get(&self, key: &Key) -> Result<Option<Entry>, ReadError> {
        match self.fresh_or_direct().await? {
            Some(direct) => direct.get(key).await,
            None => self.published().get(key).await,
        }
    }

    async fn create(&self, key: Key, payload: Payload) -> Result<Entry, WriteError> {
        self.inner.writer.create(&key, &payload).await
    }

    async fn update(
        &self,
        key: Key,
        expected: Revision,
        payload: Payload,
    ) -> Result<Updated, WriteError> {
        let failed = |error: ReadError| WriteError::Backend(Box::new(error));
        if expected == Revision(0) {
            // A revision of zero would mean that the object does not exist.
            return Err(WriteError::Conflict(self.get(&key).await.map_err(failed)?));
        }
        let unchanged = self.unchanged(&key, expected, &payload).await;
        if let Some(entry) = unchanged.map_err(failed)? {
            let changed = false;
            return Ok(Updated { entry, changed });
        }
        let entry = self.inner.writer.put(&key, expected, &payload).await?;
        let changed = true;
        Ok(Updated { entry, changed })
    }

    async fn delete(&self, key: Key, expected: Revision) -> Result<Entry, WriteError> {
        if expected == Revision(0) {
            let there = self.get(&key).await;
            let there = there.map_err(|error| WriteError::Backend(Box::new(error)))?;
            return Err(WriteError::Conflict(there));
        }
        self.inner.writer.delete(&key, expected).await
    }

    async fn watch(
        &self,
        collection: &str,
        prefix: &str,
        after: Revision,
    ) -> Result<Box<dyn Watch>, ReadError> {
        self.reach(after).await?;
        self.published().watch(collection, prefix, after).await
    }

    async fn ready(&self) -> Result<(), ReadError> {
        let broken = self.inner.writer.shared.broken.lock().clone();
        if let Some((since, why)) = broken
            && since.elapsed() > INTERRUPTED
        {
            let text = format!("etcd's watch is interrupted: {why}");
            return Err(Failure::new(FailureKind::Unavailable, text).into());
        }
        let newest = timeout(HEALTHY, self.inner.writer.quorum.newest()).await;
        match newest {
            Ok(newest) => Ok(newest.map(drop)?),
            Err(_) => {
                let text = "etcd does not respond within 2 s";
                Err(Failure::new(FailureKind::Unavailable, text).into())
            }
        }
    }

    async fn compact(&self, floor: Revision) -> Result<(), ReadError> {
        self.reach(floor).await?;
        let shared = &self.inner.writer.shared;
        compact(&shared.channel, floor)
            .await
            .map_err(|error| match error.is_future() {
                true => ReadError::Future {
                    requested: floor,
                    current: shared.applied(),
                },
                false => failure(error).into(),
            })?;
        let (done, compacted) = oneshot::channel();
        let closed = |_| Failure::new(FailureKind::Unavailable, "the store is closed");
        let command = Command::Compact(floor, done);
        shared
            .commands
            .send(command)
            .await
            .map_err(|_| closed(()))?;
        match timeout(FRESH, compacted).await {
            Ok(compacted) => compacted.map_err(|_| closed(()))?,
            // etcd has compacted; memory follows once the watch works again.
            Err(_) => Ok(()),
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.writer.shared.published.close();
    }
}

impl fmt::Debug for EtcdStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdStore")
            .field("published", self.published())
            .finish_non_exhaustive()
    }
}
