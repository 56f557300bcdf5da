//! Data directories that somebody has written to.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        LazyLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use kubewright_store::{Key, Payload, Revision, Store};
use kubewright_store_durable::{DurableStore, Options, tools::DataFiles};

/// A data directory with two checkpointed objects and three changes after them, which end at this revision.
const FIXTURE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../crates/store-durable/tests/formats/1"
);
const NEWEST: Revision = Revision(105);

/// The files of the fixture with their names.
static FILES: LazyLock<Vec<(PathBuf, Vec<u8>)>> = LazyLock::new(|| {
    let mut files = Vec::new();
    collect(Path::new(FIXTURE), Path::new(""), &mut files);
    files.sort();
    files
});

fn collect(root: &Path, below: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(root.join(below))
        .expect("the fixture")
        .flatten()
    {
        let name = below.join(entry.file_name());
        match entry.path().is_dir() {
            true => collect(root, &name, files),
            false => files.push((name, fs::read(entry.path()).expect("a file of the fixture"))),
        }
    }
}

/// A directory that goes away.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Applies the input to a data directory as a list of changes of 8 bytes: the number of the file, a mask for a byte or zero to cut
/// the file off, and the position, relative to the size of the file. What is opened then is whole, and what is not says why.
pub(crate) fn directory(data: &[u8]) {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("kubewright-fuzz-{}-{number}", std::process::id());
    let folder = Folder(std::env::temp_dir().join(name));
    let mut files = FILES.clone();
    for change in data.as_chunks::<8>().0 {
        let [file, mask, _, _, position @ ..] = change;
        let index = usize::from(*file) % files.len();
        let bytes = &mut files[index].1;
        let at = (u64::from(u32::from_le_bytes(*position)) * (bytes.len() as u64 + 1)) >> 32;
        let at = usize::try_from(at).unwrap_or_default();
        match (*mask, bytes.get_mut(at)) {
            (0, _) => bytes.truncate(at),
            (mask, Some(byte)) => *byte ^= mask,
            (_, None) => {}
        }
    }
    for (name, bytes) in &files {
        let path = folder.0.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder to write to");
        fs::write(path, bytes).expect("a file to write to");
    }
    let verified = DataFiles::open(&folder.0).and_then(|files| files.verify());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let runtime = runtime.expect("a runtime");
    let opened = DurableStore::open(&folder.0, Options::default());
    let is_whole = verified
        .as_ref()
        .is_ok_and(|verified| verified.problems.is_empty());
    let store = match opened {
        Err(error) => {
            assert!(!is_whole, "{error}, and verify finds nothing");
            let text = error.to_string();
            assert_eq!(text.lines().count(), 1, "{text}");
            return;
        }
        Ok(store) => store,
    };
    let key = Key::new("fuzz", "written");
    let revision = runtime.block_on(async {
        let revision = store.current().await.expect("a revision");
        assert!(revision <= NEWEST, "{revision:?} was never written");
        let created = store.create(key.clone(), Payload::plain("{}")).await;
        created.expect("an opened store accepts writes").revision
    });
    store.close();
    drop(store);
    let again = DurableStore::open(&folder.0, Options::default());
    let again = again.expect("what was opened once is opened again");
    let read = runtime.block_on(again.get(&key)).expect("an answer");
    assert_eq!(read.map(|entry| entry.revision), Some(revision));
}
