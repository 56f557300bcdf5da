//! Data directories of all released formats can be opened. Each is in `tests/formats/NUMBER`.

use std::{fs, path::Path};

use kubewright_store::{Revision, Store};
use kubewright_store_durable::{DurableStore, Options, tools::DataFiles};

use crate::{Folder, key, object};

fn fixture(format: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/formats")
        .join(format)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target),
            false => {
                fs::copy(entry.path(), target).unwrap();
            }
        }
    }
}

/// Writes the contents of every fixture: a checkpoint with two objects, then an update, a deletion and a create.
async fn write(path: &Path) {
    let options = Options {
        segment_bytes: 64 << 10,
        first_revision: Revision(100),
        ..Options::default()
    };
    let store = DurableStore::open(path, options).unwrap();
    let a = store.create(key("default/a"), object("one")).await.unwrap();
    let b = store.create(key("default/b"), object("one")).await.unwrap();
    store.checkpoint().unwrap();
    store
        .update(key("default/a"), a.revision, object("two"))
        .await
        .unwrap();
    store.delete(key("default/b"), b.revision).await.unwrap();
    store.create(key("default/c"), object("one")).await.unwrap();
    store.close();
}

/// Set `KUBEWRIGHT_WRITE_FORMAT=tests/formats/2` in the crate's folder to add a fixture.
#[tokio::test]
async fn every_released_format_is_opened() {
    if let Ok(path) = std::env::var("KUBEWRIGHT_WRITE_FORMAT") {
        write(Path::new(&path)).await;
        for unneeded in ["LOCK", "wal/next.tmp"] {
            let _ = fs::remove_file(Path::new(&path).join(unneeded));
        }
    }
    let mut formats = 0;
    for entry in fs::read_dir(fixture("")).unwrap().flatten() {
        formats += 1;
        let folder = Folder::new();
        let path = folder.path("data");
        copy(&entry.path(), &path);
        let verified = DataFiles::open(&path).unwrap().verify().unwrap();
        assert!(verified.problems.is_empty(), "{verified:?}");
        let store = DurableStore::open(&path, Options::default()).unwrap();
        assert_eq!(store.current().await.unwrap(), Revision(105));
        assert!(store.watch("pods", "", Revision(102)).await.is_ok());
        let a = store.get(&key("default/a")).await.unwrap().unwrap();
        assert_eq!(a.bytes, r#"{"rv":"103","says":"two"}"#);
        assert!(store.get(&key("default/b")).await.unwrap().is_none());
        let c = store.get(&key("default/c")).await.unwrap().unwrap();
        assert_eq!(
            (c.revision, c.bytes),
            (Revision(105), r#"{"rv":"105","says":"one"}"#.into())
        );
        store
            .update(key("default/c"), c.revision, object("two"))
            .await
            .unwrap();
    }
    assert!(formats >= 1);
}
