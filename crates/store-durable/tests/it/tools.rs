//! Tools for data directories.

use std::{fs, ops::ControlFlow};

use kubewright_store::{ReadError, Revision, Store};
use kubewright_store_durable::{
    DurableStore, OpenError, Options,
    tools::{self, DataFiles, RecordKind},
};

use crate::{Folder, key, object};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_in_use_can_be_copied() {
    let folder = Folder::new();
    let store = DurableStore::open(folder.path("data"), Options::default()).unwrap();
    let writing = store.clone();
    let (stop, mut stopped) = tokio::sync::oneshot::channel::<()>();
    let writer = tokio::spawn(async move {
        let mut n = 0;
        while stopped.try_recv().is_err() {
            n += 1;
            writing
                .create(key(&n.to_string()), object("one"))
                .await
                .unwrap();
            if n % 50 == 0 {
                writing.checkpoint().unwrap();
            }
        }
        n
    });
    for copy in 0..5 {
        let before = store.current().await.unwrap();
        let to = folder.path(&format!("copy-{copy}"));
        let status = tools::backup(&folder.path("data"), &to).unwrap();
        assert!(status.revision >= before, "{status:?}");
        assert_eq!(status.objects, status.revision.0);
        let copied = DurableStore::open(&to, Options::default()).unwrap();
        assert_eq!(copied.current().await.unwrap(), status.revision);
    }
    stop.send(()).unwrap();
    let written = writer.await.unwrap();
    assert_eq!(store.current().await.unwrap(), Revision(written));
}

#[tokio::test]
async fn a_past_revision_is_restored_without_history() {
    let folder = Folder::new();
    let store = DurableStore::open(folder.path("data"), Options::default()).unwrap();
    let first = store.create(key("a"), object("one")).await.unwrap();
    store
        .update(key("a"), first.revision, object("two"))
        .await
        .unwrap();
    store.create(key("b"), object("one")).await.unwrap();
    store.close();
    let files = DataFiles::open(folder.path("data")).unwrap();
    let mut kinds = Vec::new();
    files
        .changes(Revision(2), |change| {
            kinds.push((change.revision.0, change.kind));
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(kinds, [(2, RecordKind::Updated), (3, RecordKind::Created)]);

    let to = folder.path("past");
    let rebuilt = tools::restore(&files, Some(Revision(1)), &to).unwrap();
    assert_eq!(
        (rebuilt.from, rebuilt.revision),
        (Revision(1), Revision(1_000_001))
    );
    let past = DurableStore::open(&to, Options::default()).unwrap();
    let read = past.get(&key("a")).await.unwrap().unwrap();
    assert_eq!((read.revision, read.bytes), (first.revision, first.bytes));
    assert!(past.get(&key("b")).await.unwrap().is_none());
    let old = past.watch("pods", "", Revision(3)).await.err();
    assert!(matches!(old, Some(ReadError::Compacted { .. })));
    let updated = past.update(key("a"), first.revision, object("three")).await;
    assert_eq!(updated.unwrap().entry.revision, Revision(1_000_002));

    let missing = files.at(Some(Revision(9))).err();
    assert!(matches!(missing, Some(OpenError::Revision { .. })));
    let again = tools::restore(&files, None, &to).err();
    assert!(matches!(again, Some(OpenError::NotEmpty { .. })));
}

#[tokio::test]
async fn readable_data_after_damage_is_salvaged() {
    let folder = Folder::new();
    let store = DurableStore::open(folder.path("data"), Options::default()).unwrap();
    for path in ["a", "b", "c"] {
        store.create(key(path), object("one")).await.unwrap();
    }
    store.close();
    let name = fs::read_dir(folder.path("data").join("wal"))
        .unwrap()
        .flatten();
    let name = name
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|e| e == "wal"));
    let name = name.unwrap();
    let mut bytes = fs::read(&name).unwrap();
    bytes[2 * 4096 + 100] ^= 0x10;
    fs::write(&name, bytes).unwrap();
    let files = DataFiles::open(folder.path("data")).unwrap();
    assert_eq!(files.verify().unwrap().problems.len(), 1);
    assert!(matches!(
        files.status().err(),
        Some(OpenError::Corrupt { .. })
    ));
    let rebuilt = tools::salvage(&files, &folder.path("saved")).unwrap();
    assert_eq!((rebuilt.objects, rebuilt.lost.len()), (2, 1));
    let saved = DurableStore::open(folder.path("saved"), Options::default()).unwrap();
    assert!(saved.get(&key("a")).await.unwrap().is_some());
    assert!(saved.get(&key("b")).await.unwrap().is_none());
    assert!(saved.get(&key("c")).await.unwrap().is_some());
}
