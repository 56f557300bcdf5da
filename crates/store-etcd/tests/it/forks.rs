//! Copies of an etcd, and of its files.

use std::sync::Arc;

use kubewright_store::{
    Key, MemoryStore, Payload, Range, Revision, Store,
    layout::{Layout, PlainLayout},
};
use kubewright_store_etcd::{EtcdFork, SnapshotError};

use crate::etcd::{Etcd, open};

type Contents = Vec<(String, u64, Vec<u8>)>;

/// Returns all objects of a collection.
async fn contents(store: &MemoryStore) -> Contents {
    let snapshot = store.snapshot(None).await.unwrap();
    let page = snapshot.range("things", Range::default()).await.unwrap();
    let entries = page.entries.iter();
    entries
        .map(|e| (e.path.to_string(), e.revision.0, e.bytes.to_vec()))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forks_of_etcd_and_of_its_files_have_all_objects() {
    let name = "forks_of_etcd_and_of_its_files_have_all_objects";
    let Some(mut etcd) = Etcd::start(name, &[]).await else {
        return;
    };
    let options = etcd.options();
    let store = open(&options).await;
    let object = |text: String| Payload {
        revision_at: Some(0),
        ..Payload::plain(text)
    };
    // Enough objects for several levels of pages, and values that span several pages.
    for n in 0..600_usize {
        let key = Key::new("things", format!("a/{n:04}"));
        let size = if n.is_multiple_of(100) { 20_000 } else { 200 };
        let written = store
            .create(key.clone(), object("x".repeat(size)))
            .await
            .unwrap();
        if n.is_multiple_of(3) {
            let updated = store.update(key.clone(), written.revision, object(format!("u{n}")));
            let updated = updated.await.unwrap().entry;
            if n.is_multiple_of(2) {
                store.delete(key, updated.revision).await.unwrap();
            }
        }
    }
    let expected = contents(&store.fork()).await;
    assert_eq!(expected.len(), 500);
    let layout: Arc<dyn Layout> = Arc::new(PlainLayout);
    let fork = EtcdFork::of_etcd(&options, layout.clone()).await.unwrap();
    assert_eq!(contents(&fork.store).await, expected);
    let newest = store.current().await.unwrap();
    assert_eq!((fork.objects, fork.revision), (500, newest));
    // The copy is independent.
    let added = Key::new("things", "b");
    let added = fork
        .store
        .create(added, object(String::new()))
        .await
        .unwrap();
    assert_eq!(added.revision, Revision(newest.0 + 1));
    assert_eq!(store.current().await.unwrap(), newest);

    etcd.stop();
    let file = etcd.database();
    let of_file =
        |path: &std::path::Path| EtcdFork::of_snapshot(path, &options.prefix, layout.clone());
    let fork = of_file(&file).unwrap();
    assert_eq!(contents(&fork.store).await, expected);
    assert_eq!(fork.revision, newest);

    // As written by `etcdctl snapshot save`: with a checksum.
    let mut bytes = std::fs::read(&file).unwrap();
    let digest = ring::digest::digest(&ring::digest::SHA256, &bytes);
    bytes.extend_from_slice(digest.as_ref());
    let saved = file.with_extension("saved");
    std::fs::write(&saved, &bytes).unwrap();
    assert_eq!(contents(&of_file(&saved).unwrap().store).await, expected);
    bytes[5000] ^= 1;
    std::fs::write(&saved, &bytes).unwrap();
    let refused = of_file(&saved).unwrap_err().to_string();
    assert!(refused.contains("its checksum does not match"), "{refused}");

    // No corruption of a database without a checksum causes a panic.
    let bytes = std::fs::read(&file).unwrap();
    let mut seed = 7_u64;
    for _ in 0..300 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let mut damaged = bytes.clone();
        let at = (seed >> 33) as usize % damaged.len();
        damaged[at] ^= (seed >> 20) as u8 | 1;
        damaged.truncate(damaged.len() - (seed >> 40) as usize % 4096);
        std::fs::write(&saved, &damaged).unwrap();
        match of_file(&saved) {
            Ok(_) | Err(SnapshotError::Damaged { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}
