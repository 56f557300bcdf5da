//! Watches that end, and watches that lose a change.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use kubewright_store::{
    Change, Entry, Key, MemoryStore, Payload, Range, ReadError, Revision, Snapshot, Store, Updated,
    Watch, WatchError, WriteError,
};
use kubewright_store_etcd::Options;
use tokio::sync::watch;

use crate::{door, empty, open};

/// A store whose watches fail.
#[derive(Clone)]
struct Watched {
    store: MemoryStore,
    /// Whether watches end, and no new ones are possible.
    is_broken: watch::Sender<bool>,
    /// Whether the next change of every watch is lost.
    loses_next: Arc<AtomicBool>,
}

struct Faulty {
    watch: Box<dyn Watch>,
    is_broken: watch::Receiver<bool>,
    loses_next: Arc<AtomicBool>,
}

impl Watched {
    fn new() -> Self {
        Self {
            store: empty(),
            is_broken: watch::Sender::new(false),
            loses_next: Arc::default(),
        }
    }
}

#[async_trait::async_trait]
impl Watch for Faulty {
    async fn next(&mut self) -> Result<Vec<Arc<Change>>, WatchError> {
        loop {
            let changes = tokio::select! {
                changes = self.watch.next() => changes?,
                _ = self.is_broken.wait_for(|broken| *broken) => {
                    return Err(WatchError::Backend("the watch is interrupted".into()));
                }
            };
            if !self.loses_next.swap(false, Ordering::SeqCst) {
                return Ok(changes);
            }
        }
    }

    fn progress(&self) -> Revision {
        self.watch.progress()
    }
}

#[async_trait::async_trait]
impl Store for Watched {
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
        self.store.create(key, payload).await
    }

    async fn update(
        &self,
        key: Key,
        expected: Revision,
        payload: Payload,
    ) -> Result<Updated, WriteError> {
        self.store.update(key, expected, payload).await
    }

    async fn delete(&self, key: Key, expected: Revision) -> Result<Entry, WriteError> {
        self.store.delete(key, expected).await
    }

    async fn watch(
        &self,
        collection: &str,
        prefix: &str,
        after: Revision,
    ) -> Result<Box<dyn Watch>, ReadError> {
        let watch = self.store.watch(collection, prefix, after).await?;
        Ok(Box::new(Faulty {
            watch,
            is_broken: self.is_broken.subscribe(),
            loses_next: Arc::clone(&self.loses_next),
        }))
    }

    async fn compact(&self, floor: Revision) -> Result<(), ReadError> {
        self.store.compact(floor).await
    }
}

fn key(path: &str) -> Key {
    Key::new("things", path)
}

async fn write(store: &dyn Store, path: &str) -> Entry {
    store.create(key(path), Payload::plain("x")).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_watch_reads_go_to_etcd() {
    let watched = Watched::new();
    let (_door, options) = door(&watched).await;
    let store = open(&options).await;
    let before = write(&store, "a/1").await;
    watched.is_broken.send_replace(true);
    let created = write(&store, "a/3").await;
    let (one, none, list) = (key("a/3"), key("a/2"), store.snapshot(None));
    let (one, none, list) = tokio::join!(store.get(&one), store.get(&none), list);
    assert_eq!(one.unwrap().unwrap().revision, created.revision);
    assert!(none.unwrap().is_none());
    let list = list.unwrap();
    assert_eq!(list.revision(), created.revision);
    let range = |prefix: &str, start: &str, limit: usize| Range {
        prefix: prefix.to_owned(),
        start: start.to_owned(),
        limit,
    };
    for (range, paths, remaining) in [
        (range("", "", 0), &["a/1", "a/3"][..], 0),
        (range("a/", "", 1), &["a/1"], 1),
        (range("a/", "a/2", 1), &["a/3"], 0),
        (range("a/", "0", 0), &["a/1", "a/3"], 0),
        (range("b/", "", 0), &[], 0),
    ] {
        let page = list.range("things", range).await.unwrap();
        let read: Vec<&str> = page.entries.iter().map(|entry| &*entry.path).collect();
        assert_eq!((&read[..], page.remaining), (paths, remaining));
    }
    assert_eq!(list.count("things", "a/").await.unwrap(), 2);
    assert_eq!(list.count("thing", "").await.unwrap(), 0);
    let first = list.get(&key("a/1")).await.unwrap().unwrap();
    assert_eq!(first.revision, before.revision);

    // Memory takes over again, and has missed nothing.
    watched.is_broken.send_replace(false);
    let mut watch = store.watch("things", "", before.revision).await.unwrap();
    let changes = watch.next().await.unwrap();
    assert_eq!(changes[0].revision, created.revision);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_change_is_noticed_and_everything_is_read_again() {
    let watched = Watched::new();
    let (_door, options) = door(&watched).await;
    let store = open(&Options {
        check_interval: Some(Duration::from_millis(50)),
        ..options
    })
    .await;
    write(&store, "a").await;
    assert_eq!(store.inconsistencies(), 0);
    let mut watch = store.watch("things", "", Revision(1)).await.unwrap();
    assert_eq!(watch.next().await.unwrap().len(), 1);
    watched.loses_next.store(true, Ordering::SeqCst);
    write(&store, "b").await;
    // Clients list again.
    let ended = loop {
        match watch.next().await {
            Ok(_) => {}
            Err(ended) => break ended,
        }
    };
    assert!(matches!(ended, WatchError::Lagged { .. }), "{ended}");
    assert_eq!(store.inconsistencies(), 1);
    assert!(store.get(&key("b")).await.unwrap().is_some());
}
