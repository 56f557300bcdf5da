//! Shorthand for operations on a store.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;

use super::{Stop, Subject, Verdict, verdict::ensure};
use crate::{
    Change, ChangeKind, Entry, Key, Payload, Range, ReadError, Revision, Snapshot, Watch,
    WatchError, WriteError,
};

/// The collection of checks that need only one.
pub(super) const COLLECTION: &str = "example.org/things";

/// The time in which a store must notify a watcher.
const PATIENCE: Duration = Duration::from_secs(30);

/// Path, content and revision: the parts in which two views of a store are compared.
pub(super) type Line = (String, u64, String);

/// Returns an object with this content, and an offset for its revision.
pub(super) fn object(says: &str) -> Payload {
    Payload {
        revision_at: Some(7),
        ..Payload::plain(format!("{{\"rv\":\"\",\"says\":\"{says}\"}}"))
    }
}

/// Returns an object as a reader sees it.
pub(super) fn seen(says: &str, revision: Revision) -> Bytes {
    object(says).spliced(revision)
}

/// Returns the key of a path in [`COLLECTION`].
pub(super) fn key(path: &str) -> Key {
    Key::new(COLLECTION, path)
}

/// Formats an entry.
pub(super) fn line(entry: &Entry) -> Line {
    let text = String::from_utf8_lossy(&entry.bytes).into_owned();
    (entry.path.to_string(), entry.revision.0, text)
}

/// Formats a change.
pub(super) fn described(change: &Change) -> (u64, ChangeKind, Line, Option<Line>) {
    let previous = change.previous.as_ref().map(line);
    (
        change.revision.0,
        change.kind,
        line(&change.entry),
        previous,
    )
}

/// Checks that a read failed, and returns the error.
pub(super) fn failure<T>(what: &str, answer: Result<T, ReadError>) -> Verdict<ReadError> {
    match answer {
        Ok(_) => Err(Stop::Failed(format!("{what} was not refused"))),
        Err(error) => Ok(error),
    }
}

/// Checks that a write conflicted, and returns the current object.
pub(super) fn conflict<T>(what: &str, answer: Result<T, WriteError>) -> Verdict<Option<Entry>> {
    match answer {
        Err(WriteError::Conflict(there)) => Ok(there),
        Err(error) => Err(Stop::Failed(format!(
            "{what}: {error} instead of a conflict"
        ))),
        Ok(_) => Err(Stop::Failed(format!("{what} was not a conflict"))),
    }
}

/// Returns the next `n` changes.
pub(super) async fn changes(watch: &mut dyn Watch, many: usize) -> Verdict<Vec<Arc<Change>>> {
    let mut all = Vec::new();
    while all.len() < many {
        let some = in_time(watch).await??;
        if some.is_empty() {
            return Err(Stop::Failed("a watch answered with no changes".into()));
        }
        all.extend(some);
    }
    if all.len() > many {
        let extra: Vec<_> = all
            .iter()
            .skip(many)
            .map(|change| described(change))
            .collect();
        return Err(Stop::Failed(format!(
            "a watch reported more than was done: {extra:?}"
        )));
    }
    Ok(all)
}

/// Returns the next result of a watch.
pub(super) async fn in_time(
    watch: &mut dyn Watch,
) -> Verdict<Result<Vec<Arc<Change>>, WatchError>> {
    tokio::time::timeout(PATIENCE, watch.next())
        .await
        .map_err(|_| Stop::Failed("a watch did not report a change".into()))
}

/// Returns everything that a snapshot has under a prefix.
pub(super) async fn lines(
    snapshot: &dyn Snapshot,
    collection: &str,
    prefix: &str,
) -> Verdict<Vec<Line>> {
    let range = Range {
        prefix: prefix.into(),
        ..Range::default()
    };
    let page = snapshot.range(collection, range).await?;
    if page.remaining != 0 {
        let more = page.remaining;
        return Err(Stop::Failed(format!(
            "a range without a limit left {more} out"
        )));
    }
    Ok(page.entries.iter().map(line).collect())
}

impl Subject {
    pub(super) async fn create(&self, path: &str, says: &str) -> Verdict<Entry> {
        Ok(self.store.create(key(path), object(says)).await?)
    }

    pub(super) async fn update(&self, entry: &Entry, says: &str) -> Verdict<Entry> {
        let key = key(&entry.path);
        let updated = self.store.update(key, entry.revision, object(says)).await?;
        Ok(updated.entry)
    }

    pub(super) async fn delete(&self, entry: &Entry) -> Verdict<Entry> {
        Ok(self.store.delete(key(&entry.path), entry.revision).await?)
    }

    pub(super) async fn current(&self) -> Verdict<Revision> {
        Ok(self.store.current().await?)
    }

    pub(super) async fn now(&self) -> Verdict<Arc<dyn Snapshot>> {
        Ok(self.store.snapshot(None).await?)
    }

    pub(super) async fn at(&self, revision: Revision) -> Verdict<Arc<dyn Snapshot>> {
        Ok(self.store.snapshot(Some(revision)).await?)
    }

    /// Checks that a revision comes next after another.
    pub(super) fn follows(&self, before: Revision, after: Revision, what: &str) -> Verdict {
        let follows = match self.has_gaps {
            true => after > before,
            false => after.0 == before.0 + 1,
        };
        ensure!(follows, "{what}: {after:?} after {before:?}");
        Ok(())
    }

    /// Returns a watch of [`COLLECTION`] from now on.
    pub(super) async fn watch(&self, prefix: &str) -> Verdict<Box<dyn Watch>> {
        let now = self.current().await?;
        Ok(self.store.watch(COLLECTION, prefix, now).await?)
    }
}
