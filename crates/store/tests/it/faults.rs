//! Stores that break the contract, each in one way, are found out by the suite.

use std::sync::Arc;

use async_trait::async_trait;
use kubewright_store::{
    Change, Entry, Key, MemoryStore, Page, Payload, Range, ReadError, Revision, Snapshot, Store,
    Updated, Watch, WatchError, WriteError,
    conformance::{self, Subject},
};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    UpdatesDoNotCompare,
    DeletesDoNotCompare,
    SameBytesAreWritten,
    DeletionsCarryTheOldRevision,
    SnapshotsMove,
    RemainingIsForgotten,
    PrefixesAreIgnored,
    WatchesStartLate,
    WatchesSkip,
    WatchesIgnoreTheirPrefix,
    ProgressRunsAhead,
    CompactionIsIgnored,
    FutureIsAllowed,
}

const FAULTS: [Fault; 13] = [
    Fault::UpdatesDoNotCompare,
    Fault::DeletesDoNotCompare,
    Fault::SameBytesAreWritten,
    Fault::DeletionsCarryTheOldRevision,
    Fault::SnapshotsMove,
    Fault::RemainingIsForgotten,
    Fault::PrefixesAreIgnored,
    Fault::WatchesStartLate,
    Fault::WatchesSkip,
    Fault::WatchesIgnoreTheirPrefix,
    Fault::ProgressRunsAhead,
    Fault::CompactionIsIgnored,
    Fault::FutureIsAllowed,
];

struct Faulty(MemoryStore, Fault);
struct FaultySnapshot(Arc<dyn Snapshot>, MemoryStore, Fault);
struct FaultyWatch(Box<dyn Watch>, Fault);

impl Faulty {
    async fn held(&self, key: &Key, expected: Revision, fault: Fault) -> Revision {
        match self.0.get(key).await {
            Ok(Some(held)) if self.1 == fault => held.revision,
            _ => expected,
        }
    }
}

#[async_trait]
impl Store for Faulty {
    async fn current(&self) -> Result<Revision, ReadError> {
        self.0.current().await
    }

    async fn snapshot(&self, at: Option<Revision>) -> Result<Arc<dyn Snapshot>, ReadError> {
        let newest = self.0.current().await?;
        let at = at.map(|at| match self.1 {
            Fault::FutureIsAllowed => at.min(newest),
            _ => at,
        });
        let snapshot = self.0.snapshot(at).await?;
        Ok(Arc::new(FaultySnapshot(snapshot, self.0.clone(), self.1)))
    }

    async fn get(&self, key: &Key) -> Result<Option<Entry>, ReadError> {
        self.0.get(key).await
    }

    async fn create(&self, key: Key, payload: Payload) -> Result<Entry, WriteError> {
        self.0.create(key, payload).await
    }

    async fn update(
        &self,
        key: Key,
        expected: Revision,
        payload: Payload,
    ) -> Result<Updated, WriteError> {
        let expected = self.held(&key, expected, Fault::UpdatesDoNotCompare).await;
        let updated = self
            .0
            .update(key.clone(), expected, payload.clone())
            .await?;
        if updated.changed || self.1 != Fault::SameBytesAreWritten {
            return Ok(updated);
        }
        // Another lifetime makes it a write.
        let ttl = Some(std::time::Duration::MAX);
        self.0
            .update(key, expected, Payload { ttl, ..payload })
            .await
    }

    async fn delete(&self, key: Key, expected: Revision) -> Result<Entry, WriteError> {
        let expected = self.held(&key, expected, Fault::DeletesDoNotCompare).await;
        let last = self.0.get(&key).await.ok().flatten();
        let mut gone = self.0.delete(key, expected).await?;
        if let (Fault::DeletionsCarryTheOldRevision, Some(last)) = (self.1, last) {
            gone.bytes = last.bytes;
        }
        Ok(gone)
    }

    async fn watch(
        &self,
        collection: &str,
        prefix: &str,
        after: Revision,
    ) -> Result<Box<dyn Watch>, ReadError> {
        let after = match self.1 {
            Fault::WatchesStartLate => self.0.current().await?,
            _ => after,
        };
        let prefix = match self.1 {
            Fault::WatchesIgnoreTheirPrefix => "",
            _ => prefix,
        };
        let watch = self.0.watch(collection, prefix, after).await?;
        Ok(Box::new(FaultyWatch(watch, self.1)))
    }

    async fn compact(&self, floor: Revision) -> Result<(), ReadError> {
        match self.1 {
            Fault::CompactionIsIgnored => Ok(()),
            _ => self.0.compact(floor).await,
        }
    }
}

impl FaultySnapshot {
    async fn shown(&self) -> Result<Arc<dyn Snapshot>, ReadError> {
        match self.2 {
            Fault::SnapshotsMove => self.1.snapshot(None).await,
            _ => Ok(Arc::clone(&self.0)),
        }
    }
}

#[async_trait]
impl Snapshot for FaultySnapshot {
    fn revision(&self) -> Revision {
        self.0.revision()
    }

    async fn get(&self, key: &Key) -> Result<Option<Entry>, ReadError> {
        self.shown().await?.get(key).await
    }

    async fn range(&self, collection: &str, mut range: Range) -> Result<Page, ReadError> {
        if self.2 == Fault::PrefixesAreIgnored {
            range.prefix.clear();
        }
        let mut page = self.shown().await?.range(collection, range).await?;
        if self.2 == Fault::RemainingIsForgotten {
            page.remaining = 0;
        }
        Ok(page)
    }

    async fn count(&self, collection: &str, prefix: &str) -> Result<u64, ReadError> {
        self.shown().await?.count(collection, prefix).await
    }
}

#[async_trait]
impl Watch for FaultyWatch {
    async fn next(&mut self) -> Result<Vec<Arc<Change>>, WatchError> {
        let mut changes = self.0.next().await?;
        if self.1 == Fault::WatchesSkip && changes.len() > 2 {
            changes.remove(1);
        }
        Ok(changes)
    }

    fn progress(&self) -> Revision {
        match self.1 {
            Fault::ProgressRunsAhead => Revision(u64::MAX),
            _ => self.0.progress(),
        }
    }
}

async fn report(fault: Fault) -> conformance::Report {
    let open = move || async move { Subject::new(Arc::new(Faulty(MemoryStore::new(), fault))) };
    conformance::run(&open).await
}

#[tokio::test(start_paused = true)]
async fn a_store_that_breaks_the_contract_is_found_out() {
    let sound = report(Fault::None).await;
    assert!(sound.failed.is_empty(), "{sound}");
    for fault in FAULTS {
        assert!(
            !report(fault).await.failed.is_empty(),
            "{fault:?} went unnoticed"
        );
    }
}
