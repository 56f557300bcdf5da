//! Stores that are closed and opened again. Skipped for stores that keep nothing.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use futures_util::{FutureExt, lock::Mutex};

use super::{
    Harness, Reopen, Stop, Subject, Verdict, sentences,
    subject::{COLLECTION, changes, described, key, line, lines, object},
    verdict::{ensure, ensure_eq},
};
use crate::{
    Change, Entry, Key, Payload, ReadError, Revision, Snapshot, Store, Updated, Watch, WatchError,
    WriteError,
};

sentences![
    a_reopened_store_has_every_write,
    a_watch_resumes_in_a_reopened_store,
    a_compaction_is_kept_when_a_store_is_reopened,
    a_lifetime_goes_on_while_a_store_is_closed,
];

async fn reopened(it: &Subject) -> Verdict<Arc<dyn Store>> {
    match &it.reopen {
        Some(reopen) => Ok(reopen().await),
        None => Err(Stop::Skipped("the store cannot be reopened")),
    }
}

async fn a_reopened_store_has_every_write(harness: &dyn Harness) -> Verdict {
    let mut it = harness.open().await;
    let a = it.create("a", "one").await?;
    let b = it.create("b", "one").await?;
    let b = it.update(&b, "two").await?;
    let gone = it.delete(&a).await?;
    it.store = reopened(&it).await?;
    ensure_eq!(it.current().await?, gone.revision, "the current revision");
    let shown = lines(&*it.now().await?, COLLECTION, "").await?;
    ensure_eq!(shown, vec![line(&b)], "the state now");
    let again = it.store.update(key("b"), b.revision, object("two")).await?;
    ensure!(!again.changed, "the same bytes were written again");
    let c = it.create("c", "one").await?;
    it.follows(gone.revision, c.revision, "the next revision")
}

async fn a_watch_resumes_in_a_reopened_store(harness: &dyn Harness) -> Verdict {
    let mut it = harness.open().await;
    let a = it.create("a", "one").await?;
    let b = it.update(&a, "two").await?;
    let gone = it.delete(&b).await?;
    it.store = reopened(&it).await?;
    let c = it.create("c", "one").await?;
    let mut watch = it.store.watch(COLLECTION, "", a.revision).await?;
    let told: Vec<_> = changes(&mut *watch, 3)
        .await?
        .iter()
        .map(|change| described(change))
        .collect();
    let revisions: Vec<_> = told.iter().map(|change| change.0).collect();
    let done = vec![b.revision.0, gone.revision.0, c.revision.0];
    ensure_eq!(revisions, done, "the changes that a watch reports");
    let previous: Vec<_> = told.into_iter().map(|change| change.3).collect();
    let before = vec![Some(line(&a)), Some(line(&b)), None];
    ensure_eq!(previous, before, "what was before");
    Ok(())
}

async fn a_compaction_is_kept_when_a_store_is_reopened(harness: &dyn Harness) -> Verdict {
    let mut it = harness.open().await;
    let a = it.create("a", "one").await?;
    let b = it.update(&a, "two").await?;
    it.store.compact(b.revision).await?;
    it.store = reopened(&it).await?;
    let read = it.store.snapshot(Some(a.revision)).await;
    let is_compacted = matches!(read, Err(ReadError::Compacted { .. }));
    ensure!(is_compacted, "a compacted revision can be read again");
    let shown = lines(&*it.at(b.revision).await?, COLLECTION, "").await?;
    ensure_eq!(shown, vec![line(&b)], "the state at the floor");
    Ok(())
}

async fn a_lifetime_goes_on_while_a_store_is_closed(harness: &dyn Harness) -> Verdict {
    const TTL: Duration = Duration::from_secs(60);
    let mut it = harness.open().await;
    let payload = |ttl| Payload {
        ttl: Some(ttl),
        ..object("one")
    };
    it.store.create(key("short"), payload(TTL)).await?;
    it.store.create(key("long"), payload(3 * TTL)).await?;
    let mut part = async || -> Verdict {
        let Some(pass) = &it.pass else {
            return Err(Stop::Skipped("time cannot be passed"));
        };
        pass(TTL * 3 / 4).await;
        it.store = reopened(&it).await?;
        Ok(())
    };
    part().await?;
    part().await?;
    if let Some(pass) = &it.pass {
        pass(Duration::ZERO).await;
    }
    let short = it.store.get(&key("short")).await?;
    ensure!(short.is_none(), "the object is still there");
    let long = it.store.get(&key("long")).await?;
    ensure!(long.is_some(), "an object that lives longer is gone");
    Ok(())
}

/// A store that is closed and opened again before every operation.
pub(super) struct Reopening {
    reopen: Reopen,
    /// The store of the last operation, which ends before the next one begins.
    last: Arc<Mutex<Option<Arc<dyn Store>>>>,
}

impl Reopening {
    pub(super) fn new(reopen: Reopen) -> Self {
        Self {
            reopen,
            last: Arc::default(),
        }
    }

    /// Returns the place of the store, opened again, for the duration of an operation.
    async fn again(&self) -> futures_util::lock::MutexGuard<'_, Option<Arc<dyn Store>>> {
        let mut last = self.last.lock().await;
        *last = None;
        *last = Some((self.reopen)().await);
        last
    }
}

/// Returns the store of a guard, which always has one.
macro_rules! of {
    ($guard:expr) => {
        match &*$guard {
            Some(store) => store,
            None => unreachable!("the store was just opened"),
        }
    };
}

#[async_trait]
impl Store for Reopening {
    async fn current(&self) -> Result<Revision, ReadError> {
        let guard = self.again().await;
        of!(guard).current().await
    }

    async fn snapshot(&self, at: Option<Revision>) -> Result<Arc<dyn Snapshot>, ReadError> {
        let guard = self.again().await;
        of!(guard).snapshot(at).await
    }

    async fn get(&self, key: &Key) -> Result<Option<Entry>, ReadError> {
        let guard = self.again().await;
        of!(guard).get(key).await
    }

    async fn create(&self, key: Key, payload: Payload) -> Result<Entry, WriteError> {
        let guard = self.again().await;
        of!(guard).create(key, payload).await
    }

    async fn update(
        &self,
        key: Key,
        expected: Revision,
        payload: Payload,
    ) -> Result<Updated, WriteError> {
        let guard = self.again().await;
        of!(guard).update(key, expected, payload).await
    }

    async fn delete(&self, key: Key, expected: Revision) -> Result<Entry, WriteError> {
        let guard = self.again().await;
        of!(guard).delete(key, expected).await
    }

    async fn watch(
        &self,
        collection: &str,
        prefix: &str,
        after: Revision,
    ) -> Result<Box<dyn Watch>, ReadError> {
        let guard = self.again().await;
        let watch = of!(guard).watch(collection, prefix, after).await?;
        Ok(Box::new(Resuming {
            last: Arc::clone(&self.last),
            collection: collection.to_owned(),
            prefix: prefix.to_owned(),
            watch,
        }))
    }

    async fn compact(&self, floor: Revision) -> Result<(), ReadError> {
        let guard = self.again().await;
        of!(guard).compact(floor).await
    }
}

/// A watch that continues in the store that was opened last.
struct Resuming {
    last: Arc<Mutex<Option<Arc<dyn Store>>>>,
    collection: String,
    prefix: String,
    watch: Box<dyn Watch>,
}

#[async_trait]
impl Watch for Resuming {
    async fn next(&mut self) -> Result<Vec<Arc<Change>>, WatchError> {
        loop {
            match self.watch.next().await {
                Err(WatchError::Closed) => {}
                told => return told,
            }
            let after = self.watch.progress();
            let last = self.last.lock().await;
            let Some(store) = &*last else {
                return Err(WatchError::Closed);
            };
            let resumed = store.watch(&self.collection, &self.prefix, after).await;
            self.watch = resumed.map_err(|error| match error {
                ReadError::Compacted { floor, .. } => WatchError::Lagged { floor },
                _ => WatchError::Closed,
            })?;
        }
    }

    fn progress(&self) -> Revision {
        let after = self.watch.progress();
        // The old store has no more progress; a watch that begins there shows that of the new one.
        let resumed = self.last.try_lock().and_then(|last| {
            let watch = last.as_ref()?.watch(&self.collection, &self.prefix, after);
            watch.now_or_never()?.ok()
        });
        resumed.map_or(after, |watch| watch.progress())
    }
}
