//! Short words for what these tests do.

use std::{collections::BTreeMap, sync::Arc};

use futures_util::FutureExt;
use kubewright_store::{
    Change, ChangeKind, Entry, Key, MemoryStore, Payload, Range, ReadError, Revision, Snapshot,
    Store, Watch, WatchError,
};

pub(crate) const PODS: &str = "pods";

/// The contents of a collection: by path, the revision and the bytes.
pub(crate) type View = BTreeMap<String, (u64, String)>;

/// The answer of a future that does not wait, as none of this store's do but that of a watch with nothing to tell.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("the store does not wait")
}

pub(crate) fn pod(path: &str) -> Key {
    Key::new(PODS, path)
}

pub(crate) fn object(says: impl std::fmt::Display) -> Payload {
    Payload {
        revision_at: Some(1),
        ..Payload::plain(format!("@ {says}"))
    }
}

pub(crate) fn text(entry: &Entry) -> (u64, String) {
    let bytes = String::from_utf8_lossy(&entry.bytes);
    (entry.revision.0, bytes.into_owned())
}

pub(crate) fn create(store: &MemoryStore, path: &str, says: impl std::fmt::Display) -> Entry {
    now(store.create(pod(path), object(says))).expect("created")
}

pub(crate) fn update(store: &MemoryStore, entry: &Entry, says: impl std::fmt::Display) -> Entry {
    let updated = store.update(pod(&entry.path), entry.revision, object(says));
    now(updated).expect("updated").entry
}

pub(crate) fn delete(store: &MemoryStore, entry: &Entry) -> Entry {
    now(store.delete(pod(&entry.path), entry.revision)).expect("deleted")
}

pub(crate) fn current(store: &MemoryStore) -> u64 {
    now(store.current()).expect("read").0
}

pub(crate) fn watch(store: &MemoryStore, prefix: &str, after: u64) -> Box<dyn Watch> {
    now(store.watch(PODS, prefix, Revision(after))).expect("a watch")
}

/// Returns the changes that a watch delivers without waiting.
pub(crate) fn drain(watch: &mut dyn Watch) -> (Vec<Arc<Change>>, Option<WatchError>) {
    let mut all = Vec::new();
    loop {
        match watch.next().now_or_never() {
            Some(Ok(changes)) => all.extend(changes),
            Some(Err(error)) => return (all, Some(error)),
            None => return (all, None),
        }
    }
}

/// A collection at a revision.
pub(crate) fn view(store: &MemoryStore, collection: &str, at: u64) -> Result<View, ReadError> {
    let snapshot = now(store.snapshot(Some(Revision(at))))?;
    view_of(&*snapshot, collection)
}

pub(crate) fn view_of(snapshot: &dyn Snapshot, collection: &str) -> Result<View, ReadError> {
    let page = now(snapshot.range(collection, Range::default()))?;
    let lines = page.entries.iter().map(|e| (e.path.to_string(), text(e)));
    Ok(lines.collect())
}

/// Does to a view what a change says, which must fit.
pub(crate) fn apply(view: &mut View, change: &Change) {
    let path = change.entry.path.to_string();
    assert_eq!(change.revision, change.entry.revision);
    let before = match change.kind {
        ChangeKind::Deleted => view.remove(&path),
        ChangeKind::Created | ChangeKind::Updated => view.insert(path, text(&change.entry)),
    };
    assert_eq!(before, change.previous.as_ref().map(text));
    assert_eq!(before.is_none(), change.kind == ChangeKind::Created);
}
