//! Everything at once, for a moment.

use std::{sync::Arc, time::Duration};

use kubewright_store::{MemoryStore, Range, Revision, Snapshot, Store, WriteError};

use super::notified::{View, apply, object, pod, text, view_of};

const WRITERS: u64 = 4;
const TURNS: u64 = 1500;
const NAMESPACES: u64 = 4;

async fn write(store: MemoryStore, writer: u64) {
    let mut state = writer + 7;
    for turn in 0..TURNS {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let path = format!("ns-{}/x-{}", (state >> 33) % NAMESPACES, (state >> 40) % 40);
        let key = pod(&path);
        let says = object(format!("{writer} {turn}"));
        let answer = match store.get(&key).await.expect("read") {
            None => store.create(key, says).await.map(drop),
            Some(held) if state >> 60 < 4 => store.delete(key, held.revision).await.map(drop),
            Some(held) => store.update(key, held.revision, says).await.map(drop),
        };
        match answer {
            Ok(()) | Err(WriteError::Exists(_) | WriteError::Conflict(_)) => {}
            Err(error) => panic!("{error}"),
        }
        if turn % 50 == 0 {
            tokio::task::yield_now().await;
        }
    }
}

/// Keeps a view by a snapshot and a watch of its revision until it sees the end.
async fn follow(store: MemoryStore, prefix: String) -> View {
    let snapshot = store.snapshot(None).await.expect("a snapshot");
    let range = Range {
        prefix: prefix.clone(),
        ..Range::default()
    };
    let page = snapshot.range("pods", range).await.expect("a page");
    let lines = page.entries.iter().map(|e| (e.path.to_string(), text(e)));
    let mut view: View = lines.collect();
    let mut watch = store
        .watch("pods", &prefix, snapshot.revision())
        .await
        .expect("a watch");
    let mut seen = snapshot.revision();
    let end = format!("{prefix}~end");
    while !view.contains_key(&end) {
        for change in watch.next().await.expect("changes") {
            assert!(change.revision > seen);
            seen = change.revision;
            apply(&mut view, &change);
        }
        assert!(watch.progress() >= seen);
    }
    view
}

/// Takes snapshots, compacts and forks, and looks whether what was taken stays.
async fn disturb(store: MemoryStore) {
    let mut kept: Vec<(Arc<dyn Snapshot>, View)> = Vec::new();
    for turn in 0..200 {
        let snapshot = store.snapshot(None).await.expect("a snapshot");
        let view = view_of(&*snapshot, "pods").expect("a view");
        let fork = store.fork();
        let key = pod(&format!("forked-{turn}"));
        fork.create(key, object("x")).await.expect("created");
        kept.push((snapshot, view));
        if turn % 20 == 0 {
            let floor = Revision(store.current().await.expect("read").0.saturating_sub(50));
            // Someone may have been faster.
            let _ = store.compact(floor).await;
        }
        tokio::task::yield_now().await;
    }
    for (snapshot, view) in kept {
        assert_eq!(view_of(&*snapshot, "pods").expect("a view"), view);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn views_of_watches_converge_under_load() {
    let store = MemoryStore::new();
    let followers: Vec<_> = (0..40)
        .map(|n| {
            let prefix = match n % (NAMESPACES + 1) {
                NAMESPACES => String::new(),
                namespace => format!("ns-{namespace}/"),
            };
            (prefix.clone(), tokio::spawn(follow(store.clone(), prefix)))
        })
        .collect();
    let mut workers: Vec<_> = (0..WRITERS)
        .map(|n| tokio::spawn(write(store.clone(), n)))
        .collect();
    workers.push(tokio::spawn(disturb(store.clone())));
    for worker in workers {
        worker.await.expect("a worker");
    }
    // The one without a prefix last, so that those who wait for it have seen the others.
    for namespace in 0..NAMESPACES {
        store
            .create(pod(&format!("ns-{namespace}/~end")), object("x"))
            .await
            .expect("created");
    }
    store
        .create(pod("~end"), object("x"))
        .await
        .expect("created");
    let end = view_of(&*store.snapshot(None).await.expect("a snapshot"), "pods").expect("a view");
    for (prefix, follower) in followers {
        let view = tokio::time::timeout(Duration::from_secs(60), follower).await;
        let view = view.expect("a watcher was forgotten").expect("a follower");
        let expected: View = end
            .iter()
            .filter(|(path, _)| path.starts_with(&prefix))
            .map(|(path, value)| (path.clone(), value.clone()))
            .collect();
        assert_eq!(view, expected);
    }
}
