//! [`DirectSnapshot`]: reads of etcd itself, while the watch that keeps memory up to date is interrupted.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use kubewright_store::{Entry, Key, Page, Range, ReadError, Revision, Snapshot};

use crate::{
    api::{RangeAnswer, RangeRequest, after_prefix},
    error::failure,
    load::RANGE,
    shared::Shared,
};

/// The number of keys in a page.
const PAGE: usize = 500;
/// The time limit of a call.
const PATIENCE: Duration = Duration::from_secs(10);

/// The state of etcd at a revision. Values that cannot be decoded are treated as missing.
pub(crate) struct DirectSnapshot {
    pub(crate) shared: Arc<Shared>,
    pub(crate) revision: Revision,
}

impl DirectSnapshot {
    async fn read(&self, request: RangeRequest<'_>) -> Result<RangeAnswer, ReadError> {
        let request = RangeRequest {
            revision: self.revision.0,
            ..request
        };
        let request = request.encode();
        let read = self.shared.channel.read(RANGE, &request, PATIENCE);
        read.await.map_err(|error| match error.is_compacted() {
            true => ReadError::Compacted {
                requested: self.revision,
                floor: Revision(self.revision.0 + 1),
            },
            false => failure(error).into(),
        })
    }

    /// Returns the first name of a range, and the name after its last.
    fn bounds(&self, collection: &str, range: &Range) -> Result<(Vec<u8>, Vec<u8>), ReadError> {
        let name = |path: &str| self.shared.names.name(&Key::new(collection, path));
        let prefix = name(&range.prefix)?;
        let end = after_prefix(&prefix);
        let start = match &*range.start {
            "" => prefix,
            start => name(start)?.max(prefix),
        };
        Ok((start.to_vec(), end))
    }

    fn entry(&self, key: &Key, kv: &crate::api::KeyValue) -> Option<Entry> {
        match self.shared.names.entry(key, kv) {
            Ok(entry) => Some(entry),
            Err(error) => {
                tracing::debug!("{error}");
                None
            }
        }
    }
}

#[async_trait]
impl Snapshot for DirectSnapshot {
    fn revision(&self) -> Revision {
        self.revision
    }

    async fn get(&self, key: &Key) -> Result<Option<Entry>, ReadError> {
        let name = self.shared.names.name(key)?;
        let request = RangeRequest {
            key: &name,
            ..RangeRequest::default()
        };
        let answer = self.read(request).await?;
        Ok(answer.kvs.first().and_then(|kv| self.entry(key, kv)))
    }

    async fn range(&self, collection: &str, range: Range) -> Result<Page, ReadError> {
        let (mut key, end) = self.bounds(collection, &range)?;
        let mut entries = Vec::new();
        loop {
            let wanted = match range.limit {
                0 => PAGE,
                limit => PAGE.min(limit - entries.len()),
            };
            let request = RangeRequest {
                key: &key,
                end: &end,
                limit: i64::try_from(wanted).unwrap_or(i64::MAX),
                ..RangeRequest::default()
            };
            let page = self.read(request).await?;
            for kv in &page.kvs {
                let key = self.shared.names.key(&kv.key);
                let key = key.filter(|key| *key.collection == *collection);
                entries.extend(key.and_then(|key| self.entry(&key, kv)));
            }
            let Some(last) = page.kvs.last().filter(|_| page.more) else {
                let remaining = 0;
                return Ok(Page { entries, remaining });
            };
            if range.limit > 0 && entries.len() >= range.limit {
                let remaining = page.count.saturating_sub(page.kvs.len() as u64);
                return Ok(Page { entries, remaining });
            }
            key = last.key.to_vec();
            key.push(0);
        }
    }

    async fn count(&self, collection: &str, prefix: &str) -> Result<u64, ReadError> {
        let range = Range {
            prefix: prefix.to_owned(),
            ..Range::default()
        };
        let (key, end) = self.bounds(collection, &range)?;
        let request = RangeRequest {
            key: &key,
            end: &end,
            count_only: true,
            ..RangeRequest::default()
        };
        Ok(self.read(request).await?.count)
    }
}
