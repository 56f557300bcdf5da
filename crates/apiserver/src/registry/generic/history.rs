//! The past of objects: their changes in the store's log, and their state at a revision.

use std::{collections::VecDeque, sync::Arc};

use futures_util::FutureExt;
use kubewright_derive::boxed_async;
use kubewright_ledger::{Change as Changed, ObjectFacts, ObjectRef, Past, Version};
use kubewright_machinery::{Status, status};
use kubewright_store::{Change, ChangeKind, Entry, Key, Range, ReadError, Revision, Watch};
use serde::Deserialize;
use serde_json::Value;

use super::Generic;
use crate::registry::traits::History;

/// The maximum number of changes of one object.
const MAX_VERSIONS: usize = 1000;

/// The maximum number of times that a log is looked into.
const MAX_SCANS: usize = 100_000;

/// The number of objects that are read at once.
const PAGE: usize = 500;

#[boxed_async]
impl History for Generic {
    async fn revisions(&self) -> Result<(u64, u64), Status> {
        let current = self.store.current().await;
        let current = current.map_err(|e| Self::read_failure(&e))?.0;
        let oldest = match self.store.snapshot(Some(Revision(1))).await {
            Ok(_) => 1,
            Err(ReadError::Compacted { floor, .. }) => floor.0,
            Err(ReadError::Future { current, .. }) => current.0,
            Err(error) => return Err(Self::read_failure(&error)),
        };
        Ok((current, oldest))
    }

    async fn history(
        &self,
        namespace: &str,
        name: &str,
        until: Option<u64>,
    ) -> Result<Past, Status> {
        let key = self.checked_key(namespace, name)?;
        let (mut watch, from) = self.log_of(&key.path).await?;
        let mut changes: VecDeque<_> = self.archived(&key, from, until).await.into();
        let mut complete = from == Revision(0);
        let current = self.store.current().await;
        let current = current.map_err(|e| Self::read_failure(&e))?;
        for _ in 0..MAX_SCANS {
            if watch.progress() >= current {
                break;
            }
            // A watch that has no change yet has more to scan.
            let Some(batch) = watch.next().now_or_never() else {
                tokio::task::yield_now().await;
                continue;
            };
            let batch = batch.map_err(status::internal)?;
            for change in batch {
                let in_time = until.is_none_or(|until| change.revision.0 <= until);
                if change.entry.path != key.path || !in_time {
                    continue;
                }
                if changes.len() == MAX_VERSIONS {
                    changes.pop_front();
                    complete = false;
                }
                changes.push_back(change);
            }
        }
        let mut versions: Vec<Version> = Vec::with_capacity(changes.len());
        for change in changes {
            let before = match (&change.previous, change.kind) {
                (_, ChangeKind::Created) | (None, _) => None,
                (Some(previous), _) => match versions.last() {
                    Some(last) if last.revision == previous.revision.0 => Some(last.object.clone()),
                    _ => Some(self.decode_past(previous).await?),
                },
            };
            versions.push(Version {
                revision: change.revision.0,
                change: match change.kind {
                    ChangeKind::Created => Changed::Created,
                    ChangeKind::Updated => Changed::Updated,
                    ChangeKind::Deleted => Changed::Deleted,
                },
                before,
                object: self.decode_past(&change.entry).await?,
            });
        }
        let begins = versions
            .first()
            .is_some_and(|it| it.change == Changed::Created);
        Ok(Past {
            complete: complete || begins,
            versions,
        })
    }

    async fn object_at(
        &self,
        namespace: &str,
        name: &str,
        at: Option<u64>,
    ) -> Result<Option<(u64, Value)>, Status> {
        let key = self.checked_key(namespace, name)?;
        let found = match self.past_snapshot(at).await {
            Ok(snapshot) => {
                let found = snapshot.get(&key).await;
                found.map_err(|e| Self::read_failure(&e))?
            }
            Err(error) => {
                // The state of the object may be known although that of all others is not.
                let at = Revision(at.unwrap_or(u64::MAX));
                let Some(last) = self.archived(&key, at, None).await.pop() else {
                    return Err(error);
                };
                let is_there = last.kind != ChangeKind::Deleted;
                is_there.then(|| last.entry.clone())
            }
        };
        match found {
            Some(entry) => Ok(Some((entry.revision.0, self.decode(&entry).await?))),
            None => Ok(None),
        }
    }

    async fn facts(
        &self,
        at: Option<u64>,
        most: usize,
    ) -> Result<(Vec<ObjectFacts>, bool), Status> {
        let snapshot = self.past_snapshot(at).await?;
        let mut facts = Vec::new();
        let mut range = Range {
            limit: PAGE.min(most),
            ..Range::default()
        };
        while facts.len() < most {
            let page = snapshot.range(&self.collection, range.clone()).await;
            let page = page.map_err(|e| Self::read_failure(&e))?;
            facts.extend(page.entries.iter().map(|entry| self.fact(entry)));
            match page.entries.last() {
                Some(last) if page.remaining > 0 => range.start = format!("{}\0", last.path),
                _ => return Ok((facts, true)),
            }
        }
        Ok((facts, false))
    }
}

impl Generic {
    /// Decodes a past state of an object. One of a version that is not served any more cannot be converted, and is shown as it
    /// was stored.
    async fn decode_past(&self, entry: &Entry) -> Result<Value, Status> {
        match self.decode(entry).await {
            Ok(object) => Ok(object),
            Err(error) => serde_json::from_slice(&entry.bytes).map_err(|_| error),
        }
    }
}

/// The metadata that rules examine. It has the same form in all versions of a kind.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Head {
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata {
    uid: String,
    creation_timestamp: Option<String>,
    deletion_timestamp: Option<String>,
    finalizers: Vec<String>,
    owner_references: Vec<OwnerReference>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OwnerReference {
    kind: String,
    name: String,
    uid: String,
}

impl Generic {
    /// Returns the changes of an object up to the start of its log that are kept elsewhere.
    async fn archived(&self, key: &Key, from: Revision, until: Option<u64>) -> Vec<Arc<Change>> {
        if from == Revision(0) {
            return Vec::new();
        }
        let until = until.map_or(from, |until| from.min(Revision(until)));
        match self.store.archived(key, until).await {
            Ok(changes) => changes,
            Err(error) => {
                tracing::warn!(%error, "the archive of the store cannot be read");
                Vec::new()
            }
        }
    }

    /// Returns a watch of the oldest known changes of an object, and the revision after which it begins.
    async fn log_of(&self, path: &str) -> Result<(Box<dyn Watch>, Revision), Status> {
        let mut from = Revision(0);
        // Compaction may go on meanwhile.
        for _ in 0..8 {
            match self.store.watch(&self.collection, path, from).await {
                Ok(watch) => return Ok((watch, from)),
                Err(ReadError::Compacted { floor, .. }) => from = floor,
                Err(error) => return Err(Self::read_failure(&error)),
            }
        }
        Err(status::expired("the history is being compacted"))
    }

    async fn past_snapshot(
        &self,
        at: Option<u64>,
    ) -> Result<Arc<dyn kubewright_store::Snapshot>, Status> {
        let snapshot = self.store.snapshot(at.map(Revision)).await;
        snapshot.map_err(|e| Self::read_failure(&e))
    }

    fn fact(&self, entry: &Entry) -> ObjectFacts {
        // An object that is no JSON is shown without its metadata.
        let head: Head = serde_json::from_slice(&entry.bytes).unwrap_or_default();
        let metadata = head.metadata;
        let time = |text: Option<String>| text.and_then(|text| text.parse().ok());
        let owners = metadata.owner_references.into_iter();
        ObjectFacts {
            object: ObjectRef::new(
                &self.spec.group_version.group,
                &self.spec.plural,
                &entry.path,
            ),
            uid: metadata.uid,
            created: time(metadata.creation_timestamp),
            deleted: time(metadata.deletion_timestamp),
            finalizers: metadata.finalizers,
            owners: owners.map(|it| (it.kind, it.name, it.uid)).collect(),
        }
    }
}
