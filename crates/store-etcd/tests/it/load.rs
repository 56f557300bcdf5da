//! Clients that read and write a few objects through several stores, and record their observations.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use kubewright_store::{
    ChangeKind, Entry, Key, Payload, Range, Revision, Store, Watch, WatchError, WriteError,
};
use kubewright_store_etcd::EtcdStore;
use tokio::{
    task::JoinSet,
    time::{Instant, timeout},
};

use crate::history::{Operation, Seen, What};

pub(crate) const COLLECTION: &str = "things";
/// The number of objects, small enough for frequent conflicts.
const PATHS: u64 = 10;
/// The number of clients of each store.
const CLIENTS: usize = 3;

/// Running clients.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    clients: JoinSet<Vec<Operation>>,
    done: Arc<AtomicU64>,
    failed: Arc<AtomicU64>,
    watch: Box<dyn Watch>,
    observer: EtcdStore,
}

/// The observations of all clients.
pub(crate) struct Recorded {
    pub(crate) operations: Vec<Operation>,
    pub(crate) changes: Vec<Seen>,
    /// The revision of the last write, which is not among the changes.
    pub(crate) end: u64,
    /// The number of operations that certainly failed.
    pub(crate) failed: u64,
}

impl Load {
    /// Starts clients. The connection of the observer has no faults.
    pub(crate) async fn start(stores: &[EtcdStore], observer: EtcdStore) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (done, failed) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let now = observer.current().await.unwrap();
        let watch = observer.watch(COLLECTION, "", now).await.unwrap();
        let mut clients = JoinSet::new();
        for number in 0..stores.len() * CLIENTS {
            let client = Client {
                number,
                store: stores[number % stores.len()].clone(),
                seed: number as u64 + 1,
                done: Arc::clone(&done),
                failed: Arc::clone(&failed),
            };
            clients.spawn(client.run(Arc::clone(&stop)));
        }
        Self {
            stop,
            clients,
            done,
            failed,
            watch,
            observer,
        }
    }

    /// Waits until some more operations have succeeded.
    pub(crate) async fn progress(&self, more: u64) {
        let goal = self.done.load(Ordering::Relaxed) + more;
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.done.load(Ordering::Relaxed) < goal {
            assert!(Instant::now() < deadline, "nothing succeeds any more");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Stops the clients and reads all changes.
    pub(crate) async fn finish(mut self) -> Recorded {
        self.stop.store(true, Ordering::Relaxed);
        let mut operations = Vec::new();
        while let Some(recorded) = self.clients.join_next().await {
            operations.extend(recorded.unwrap());
        }
        // Delayed requests may still arrive; the final write follows them.
        let end = Key::new(COLLECTION, "the-end");
        let end = self
            .observer
            .create(end, Payload::plain("end"))
            .await
            .unwrap();
        let mut changes = Vec::new();
        'all: loop {
            let next = timeout(Duration::from_secs(30), self.watch.next()).await;
            let batch = match next.expect("the last change") {
                Ok(batch) => batch,
                Err(WatchError::Lagged { .. }) => panic!("the observer fell behind"),
                Err(error) => panic!("{error}"),
            };
            for change in batch {
                if change.revision == end.revision {
                    break 'all;
                }
                let value = match change.kind {
                    ChangeKind::Deleted => None,
                    _ => Some(text(&change.entry)),
                };
                changes.push((change.revision.0, change.entry.path.to_string(), value));
            }
        }
        Recorded {
            operations,
            changes,
            end: end.revision.0,
            failed: self.failed.load(Ordering::Relaxed),
        }
    }
}

struct Client {
    number: usize,
    store: EtcdStore,
    seed: u64,
    done: Arc<AtomicU64>,
    failed: Arc<AtomicU64>,
}

impl Client {
    async fn run(mut self, stop: Arc<AtomicBool>) -> Vec<Operation> {
        let mut operations = Vec::new();
        let mut count = 0;
        while !stop.load(Ordering::Relaxed) {
            count += 1;
            let path = format!("p{}", self.random() % PATHS);
            let value = format!("{}-{count}", self.number);
            let began = Instant::now();
            let dice = self.random() % 10;
            let done = match dice {
                0 => self.list().await,
                _ => self.touch(&path, value, &mut operations).await,
            };
            match done {
                Some(what) => {
                    self.done.fetch_add(1, Ordering::Relaxed);
                    operations.push(Operation {
                        began,
                        ended: Instant::now(),
                        path,
                        what,
                    });
                }
                None => {
                    self.failed.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            }
        }
        operations
    }

    /// Reads an object, and then writes or deletes it. Returns the write; the read is recorded too.
    async fn touch(
        &mut self,
        path: &str,
        value: String,
        operations: &mut Vec<Operation>,
    ) -> Option<What> {
        let key = Key::new(COLLECTION, path);
        let began = Instant::now();
        let read = self.store.get(&key).await.ok()?;
        let seen = read.as_ref().map(|entry| (entry.revision.0, text(entry)));
        operations.push(Operation {
            began,
            ended: Instant::now(),
            path: path.to_owned(),
            what: What::Read(seen.clone()),
        });
        let payload = Payload::plain(value.clone());
        let over = seen.as_ref().map_or(0, |(revision, _)| *revision);
        let (written, value) = match read {
            None => (self.store.create(key, payload).await, Some(value)),
            Some(_) if self.random().is_multiple_of(10) => {
                (self.store.delete(key, Revision(over)).await, None)
            }
            Some(_) => {
                let updated = self.store.update(key, Revision(over), payload).await;
                (updated.map(|updated| updated.entry), Some(value))
            }
        };
        match (written, value) {
            (Ok(entry), Some(value)) => {
                let at = entry.revision.0;
                Some(What::Written { over, value, at })
            }
            (Ok(entry), None) => {
                let at = entry.revision.0;
                Some(What::Deleted { over, at })
            }
            (Err(WriteError::Exists(_) | WriteError::Conflict(_)), value) => {
                Some(What::Refused { value })
            }
            (Err(WriteError::Backend(_)), value) => {
                self.failed.fetch_add(1, Ordering::Relaxed);
                Some(What::Unknown { over, value })
            }
        }
    }

    async fn list(&mut self) -> Option<What> {
        let snapshot = self.store.snapshot(None).await.ok()?;
        let page = snapshot.range(COLLECTION, Range::default()).await.ok()?;
        let objects = page.entries.iter();
        let objects = objects.map(|e| (e.path.to_string(), e.revision.0, text(e)));
        Some(What::Listed {
            at: snapshot.revision().0,
            objects: objects.collect(),
        })
    }

    fn random(&mut self) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed >> 3
    }
}

fn text(entry: &Entry) -> String {
    String::from_utf8_lossy(&entry.bytes).into_owned()
}
