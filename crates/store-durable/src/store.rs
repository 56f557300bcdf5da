//! [`DurableStore`]: a persistent [`Store`], consisting of the engine and its threads.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use kubewright_store::{
    Change, Entry, Key, MemoryStore, Payload, ReadError, Revision, Snapshot, Store, Updated, Watch,
    WriteError,
};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep, sleep_until};

use crate::{
    OpenError, OpenReport, Options, Stats, archive, directory,
    disk::RealDisk,
    engine::{Answer, Engine, Op, Opened, Unhealthy, read_identity},
    error::Trouble,
    lock::DirectoryLock,
    stats::Counters,
    threads::Threads,
};

/// A persistent store in a directory. Clones share the store; when the last one is dropped, the directory is released. See the
/// [crate documentation](crate) for an example.
#[derive(Clone)]
pub struct DurableStore {
    engine: Arc<Engine>,
    running: Arc<Mutex<Option<Running>>>,
    report: Arc<OpenReport>,
    /// Held while the archive is read.
    archive: Arc<tokio::sync::Mutex<()>>,
}

/// The health of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreHealth {
    /// Everything works.
    Healthy,
    /// The disk is full: writes that need space are rejected. The text describes the remedy.
    Full(String),
    /// The disk has failed: all writes are rejected until the store is reopened.
    Failed(String),
}

/// The threads and the lock, which are dropped in this order.
struct Running {
    _threads: Option<Threads>,
    _lock: Option<DirectoryLock>,
}

impl DurableStore {
    /// Opens the store in a directory, which is created if it does not exist. Reads all objects into memory. Blocks the thread.
    ///
    /// # Errors
    ///
    /// Fails if another process uses the directory, if it belongs to another program, or if its files are damaged. Its
    /// contents are then unchanged.
    pub fn open(directory: impl AsRef<Path>, options: Options) -> Result<Self, OpenError> {
        let path = directory.as_ref();
        directory::prepare(path, options.allow_network_file_systems)?;
        let disk = RealDisk::new(path);
        let trouble = |trouble: Trouble| trouble.at(path.to_owned());
        // Checked before the first file is created, and again under the lock.
        read_identity(&disk).map_err(trouble)?;
        let lock = DirectoryLock::acquire(path, &options.holder)?;
        let name = path.display().to_string();
        let opened = Engine::open(Arc::new(disk), options, &name).map_err(trouble)?;
        Self::run(opened, Some(lock), true).map_err(|source| OpenError::Io {
            path: PathBuf::from(path),
            action: "start threads".to_owned(),
            source,
        })
    }

    /// Opens a store without threads: every write is made durable on the caller's thread.
    #[cfg(test)]
    pub(crate) fn open_inline(
        disk: Arc<dyn crate::disk::Disk>,
        options: Options,
    ) -> Result<Self, Trouble> {
        let opened = Engine::open(disk, options, "a disk")?;
        Self::run(opened, None, false).map_err(Trouble::io("start threads"))
    }

    fn run(opened: Opened, lock: Option<DirectoryLock>, threads: bool) -> std::io::Result<Self> {
        let engine = Arc::new(opened.engine);
        let threads = match threads {
            true => Some(Threads::start(&engine)?),
            false => None,
        };
        let report = opened.report;
        for warning in &report.warnings {
            tracing::warn!("{warning}");
        }
        if let Some(copy) = &report.quarantined {
            tracing::warn!(
                copy,
                "an unfinished write at the end of the log was removed"
            );
        }
        let running = Running {
            _threads: threads,
            _lock: lock,
        };
        Ok(Self {
            engine,
            running: Arc::new(Mutex::new(Some(running))),
            report: Arc::new(report),
            archive: Arc::default(),
        })
    }

    /// Returns the report about opening the store.
    pub fn open_report(&self) -> &OpenReport {
        &self.report
    }

    /// Returns whether writes are accepted.
    pub fn health(&self) -> StoreHealth {
        match self.engine.unhealthy() {
            None => StoreHealth::Healthy,
            Some(Unhealthy::Full(why)) => StoreHealth::Full(why),
            Some(Unhealthy::Failed(why)) => StoreHealth::Failed(why),
        }
    }

    /// Returns statistics since the store was opened.
    pub fn stats(&self) -> Stats {
        self.engine.counters.stats()
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.engine.counters
    }

    /// Returns the free space of the file system, if known.
    pub(crate) fn free_space(&self) -> Option<u64> {
        self.engine.disk.free_space()
    }

    /// Returns an independent store in memory with the same contents, revision and history.
    pub fn fork(&self) -> MemoryStore {
        self.engine.published.fork()
    }

    /// Writes a checkpoint immediately; otherwise, checkpoints are written automatically. Blocks the thread.
    ///
    /// # Errors
    ///
    /// Fails if the disk fails. The store continues without the checkpoint.
    pub fn checkpoint(&self) -> Result<Revision, kubewright_store::BackendError> {
        let written = self.engine.checkpoint();
        written.map_err(|error| error.to_string().into())
    }

    /// Writes a checkpoint, and removes older checkpoints and the log before it. Blocks the thread.
    ///
    /// # Errors
    ///
    /// Fails if the disk fails. The store continues.
    pub fn checkpoint_alone(&self) -> Result<Revision, kubewright_store::BackendError> {
        let written = self.engine.checkpoint_alone();
        written.map_err(|error| error.to_string().into())
    }

    /// Writes pending data, ends all watches and releases the directory. Later writes fail; reads still work.
    pub fn close(&self) {
        // Taken out first, so that a second call returns immediately.
        let running = self.running.lock().take();
        drop(running);
        self.engine.published.close();
    }

    /// Deletes expired objects and drops old history until the store is closed. The owner of the store must spawn it.
    pub async fn run_maintenance(&self) {
        let published = &self.engine.published;
        loop {
            // Registered first, so that a concurrent expiry or close is not missed.
            let changed = published.expiry_changed();
            if published.is_closed() {
                return;
            }
            let expired = self.expire_due().await;
            let sweep = self.engine.forget_aged(Instant::now());
            let expiry = published.next_expiry();
            // Expiries that could not be written are retried later.
            let pause = match expired {
                0 => RETRY,
                _ => Duration::ZERO,
            };
            let expiry = expiry.map(|at| match at <= Instant::now() {
                true => Instant::now() + pause,
                false => at,
            });
            match [sweep, expiry].into_iter().flatten().min() {
                Some(next) => tokio::select! {
                    () = sleep_until(next) => {}
                    () = changed => {}
                },
                None => changed.await,
            }
        }
    }

    /// Deletes every expired object, each with its own revision. Returns their number.
    pub async fn expire_due(&self) -> usize {
        let mut total = 0;
        loop {
            let (expired, more, outcome) = self.engine.submit_expired(Instant::now());
            total += expired;
            let Some(outcome) = outcome else {
                return total;
            };
            self.commit_inline();
            if outcome.wait().await.is_err() || !more {
                return total;
            }
        }
    }

    /// Compacts past states at each interval, as [`MemoryStore::run_compaction`] does.
    pub async fn run_compaction(&self, interval: Duration) {
        let mut floor = self.engine.published.contents().revision();
        loop {
            sleep(interval).await;
            if self.engine.published.is_closed() {
                return;
            }
            let Ok(ticket) = self.engine.submit_compact_states(floor) else {
                continue;
            };
            self.commit_inline();
            if let Ok(answer) = ticket.settled().await {
                floor = answer.entry.revision;
            }
        }
    }

    async fn write(&self, mut op: Op) -> Result<Answer, WriteError> {
        loop {
            let room = self.engine.room.notified();
            match self.engine.submit(op) {
                Ok(ticket) => {
                    self.commit_inline();
                    return ticket.settled().await;
                }
                Err(again) => op = again,
            }
            room.await;
        }
    }

    /// Does the work of the threads in tests without threads.
    fn commit_inline(&self) {
        #[cfg(test)]
        if let Some(running) = &*self.running.lock()
            && running._threads.is_none()
        {
            self.engine.commit();
        }
    }
}

/// The pause after expiries that could not be written.
const RETRY: Duration = Duration::from_secs(1);

#[async_trait]
impl Store for DurableStore {
    async fn current(&self) -> Result<Revision, ReadError> {
        self.engine.published.current().await
    }

    async fn snapshot(&self, at: Option<Revision>) -> Result<Arc<dyn Snapshot>, ReadError> {
        self.engine.published.snapshot(at).await
    }

    async fn get(&self, key: &Key) -> Result<Option<Entry>, ReadError> {
        self.engine.published.get(key).await
    }

    async fn create(&self, key: Key, payload: Payload) -> Result<Entry, WriteError> {
        let answer = self.write(Op::Create(key, payload)).await?;
        Ok(answer.entry)
    }

    async fn update(
        &self,
        key: Key,
        expected: Revision,
        payload: Payload,
    ) -> Result<Updated, WriteError> {
        let answer = self.write(Op::Update(key, expected, payload)).await?;
        Ok(Updated {
            entry: answer.entry,
            changed: answer.changed,
        })
    }

    async fn delete(&self, key: Key, expected: Revision) -> Result<Entry, WriteError> {
        let answer = self.write(Op::Delete(key, expected)).await?;
        Ok(answer.entry)
    }

    async fn watch(
        &self,
        collection: &str,
        prefix: &str,
        after: Revision,
    ) -> Result<Box<dyn Watch>, ReadError> {
        self.engine.published.watch(collection, prefix, after).await
    }

    async fn ready(&self) -> Result<(), ReadError> {
        match self.health() {
            StoreHealth::Failed(why) => Err(ReadError::Backend(why.into())),
            // Deletes still work.
            StoreHealth::Full(_) | StoreHealth::Healthy => Ok(()),
        }
    }

    async fn archived(&self, key: &Key, until: Revision) -> Result<Vec<Arc<Change>>, ReadError> {
        let (engine, key) = (Arc::clone(&self.engine), key.clone());
        let read = move || archive::changes_of(&*engine.disk, &engine.id, &key, until);
        let failed = |why: String| ReadError::Backend(why.into());
        // One at a time, since each reads many files.
        let _turn = self.archive.lock().await;
        match tokio::task::spawn_blocking(read).await {
            Ok(read) => read.map_err(|trouble| failed(trouble.to_string())),
            Err(error) => Err(failed(error.to_string())),
        }
    }

    fn limitation(&self) -> Option<String> {
        match self.health() {
            StoreHealth::Full(_) => {
                Some("the disk is full: writes that need space are rejected".to_owned())
            }
            StoreHealth::Failed(_) | StoreHealth::Healthy => None,
        }
    }

    async fn compact(&self, floor: Revision) -> Result<(), ReadError> {
        let outcome = self.engine.submit_compact(floor)?;
        self.commit_inline();
        let done = outcome.wait().await;
        done.map_err(|why| ReadError::Backend(why.to_string().into()))
    }
}

impl fmt::Debug for DurableStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DurableStore")
            .field("published", &self.engine.published)
            .finish_non_exhaustive()
    }
}
