//! The store with its threads: concurrent writers, both sync modes, and history across restarts.

use std::{sync::Arc, time::Duration};

use kubewright_store::{
    Limits, ReadError, Revision, Store,
    conformance::{self, Subject},
};
use kubewright_store_durable::{DurableStore, Options, StoreHealth, SyncMode};

use crate::{Folder, key, object};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_writers_are_acknowledged_in_groups() {
    for sync in [SyncMode::Always, SyncMode::Process] {
        let folder = Folder::new();
        let options = Options {
            sync,
            ..Options::default()
        };
        let store = DurableStore::open(folder.path("data"), options.clone()).unwrap();
        let mut watch = store.watch("pods", "", Revision(0)).await.unwrap();
        let writers: Vec<_> = (0..32)
            .map(|writer| {
                let store = store.clone();
                tokio::spawn(async move {
                    for n in 0..20 {
                        let path = format!("{writer}/{n}");
                        let created = store.create(key(&path), object("one")).await.unwrap();
                        // Acknowledged writes are readable.
                        let read = store.get(&key(&path)).await.unwrap().unwrap();
                        assert_eq!(read.revision, created.revision);
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.await.unwrap();
        }
        let mut seen = 0;
        while seen < 640 {
            for change in watch.next().await.unwrap() {
                seen += 1;
                assert_eq!(change.revision.0, seen);
            }
        }
        assert_eq!(store.health(), StoreHealth::Healthy);
        let stats = store.stats();
        assert_eq!(stats.records, 640);
        store.close();
        assert!(store.create(key("late"), object("one")).await.is_err());
        drop(store);
        let store = DurableStore::open(folder.path("data"), options).unwrap();
        assert_eq!(store.current().await.unwrap(), Revision(640));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_on_disk_passes_the_conformance_suite() {
    let folder = Arc::new(Folder::new());
    let number = std::sync::atomic::AtomicUsize::new(0);
    let open = || {
        let number = number.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = folder.path(&number.to_string());
        let options = Options {
            sync: SyncMode::Process,
            ..Options::default()
        };
        let store = DurableStore::open(&path, options.clone()).unwrap();
        let last = Arc::new(std::sync::Mutex::new(Some(store.clone())));
        async move {
            Subject::new(Arc::new(store))
                .keeping_snapshots()
                .reopened_by(move || {
                    let mut last = last.lock().unwrap();
                    if let Some(store) = last.take() {
                        store.close();
                    }
                    let again = DurableStore::open(&path, options.clone()).unwrap();
                    *last = Some(again.clone());
                    let again: Arc<dyn Store> = Arc::new(again);
                    async move { again }
                })
        }
    };
    let report = conformance::run(&open).await;
    assert!(report.failed.is_empty(), "{report}");
}

#[tokio::test]
async fn history_survives_checkpoints_and_restarts() {
    let folder = Folder::new();
    let path = folder.path("data");
    let store = DurableStore::open(&path, Options::default()).unwrap();
    for round in 0..3 {
        store
            .create(key(&round.to_string()), object("one"))
            .await
            .unwrap();
        store.checkpoint().unwrap();
    }
    drop(store);
    // The newest checkpoint is young, so that the previous one is read, and the log after it.
    let store = DurableStore::open(&path, Options::default()).unwrap();
    assert_eq!(store.open_report().checkpoint, Some(Revision(2)));
    assert!(store.watch("pods", "", Revision(2)).await.is_ok());
    let gone = store.watch("pods", "", Revision(1)).await.err();
    assert!(matches!(gone, Some(ReadError::Compacted { .. })));
    drop(store);
    // History that would be dropped anyway is not read.
    let options = Options {
        limits: Limits {
            max_age: Duration::ZERO,
            ..Limits::default()
        },
        ..Options::default()
    };
    let store = DurableStore::open(&path, options).unwrap();
    assert_eq!(store.open_report().checkpoint, Some(Revision(3)));
    assert_eq!(store.current().await.unwrap(), Revision(3));
}
