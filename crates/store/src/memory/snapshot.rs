//! The state at one revision.
//!
//! A snapshot shares the trees as they were when it was taken, so that later writes and compactions do not affect it. One of
//! the newest revision needs nothing else; one of an older revision also shares the logs, and looks there for what later
//! changes replaced.
//!
//! Cost: a read of an object, and each object of a range, is one step, plus one for each change of it since the revision.
//! Counting (`count`, and `remaining` of a page) takes logarithmic time at the newest revision for any prefix; at an older one
//! it also scans the changes since, which takes microseconds for thousands.

use std::{
    ops::ControlFlow,
    sync::{Arc, LazyLock},
};

use async_trait::async_trait;

use super::{
    log::Log,
    state::{Objects, State},
    tree::Tree,
};
use crate::{Entry, Key, Page, Range, ReadError, Revision, Snapshot};

/// The log of a snapshot that needs none.
static NO_LOG: LazyLock<Log> = LazyLock::new(Log::default);

/// A snapshot of a [`MemoryStore`](super::MemoryStore).
pub(super) struct MemorySnapshot {
    revision: Revision,
    collections: Tree<Arc<str>, Objects>,
    logs: Option<Tree<Arc<str>, Arc<Log>>>,
}

impl MemorySnapshot {
    /// Returns the state at a revision, or the newest.
    pub(super) fn take(state: &State, at: Option<Revision>) -> Result<Self, ReadError> {
        let revision = at.unwrap_or(state.current);
        if revision > state.current {
            return Err(ReadError::Future {
                requested: revision,
                current: state.current,
            });
        }
        let floor = state.floor.max(state.state_floor);
        if revision < floor {
            return Err(ReadError::Compacted {
                requested: revision,
                floor,
            });
        }
        Ok(Self {
            revision,
            collections: state.collections.clone(),
            logs: (revision < state.current).then(|| state.logs.clone()),
        })
    }

    fn objects(&self, collection: &str) -> Result<Option<(&Objects, &Log)>, ReadError> {
        let Some(objects) = self.collections.get(collection) else {
            return Ok(None);
        };
        if self.revision < objects.floor {
            return Err(ReadError::Compacted {
                requested: self.revision,
                floor: objects.floor,
            });
        }
        let log = self.logs.as_ref().and_then(|logs| logs.get(collection));
        Ok(Some((objects, log.map_or(&*NO_LOG, |log| &**log))))
    }

    fn read(&self, key: &Key) -> Result<Option<Entry>, ReadError> {
        let Some((objects, log)) = self.objects(&key.collection)? else {
            return Ok(None);
        };
        Ok(objects
            .heads
            .find(&*key.path)
            .and_then(|(path, head)| log.value_at(path, head, self.revision)))
    }

    fn page(&self, collection: &str, range: &Range) -> Result<Page, ReadError> {
        let mut entries = Vec::new();
        let Some((objects, log)) = self.objects(collection)? else {
            return Ok(Page {
                entries,
                remaining: 0,
            });
        };
        let prefix = &*range.prefix;
        let most = match range.limit {
            0 => usize::MAX,
            limit => limit,
        };
        if prefix.is_empty() && range.start.is_empty() {
            entries.reserve(most.min(objects.heads.live()));
        } else {
            entries.reserve(most.min(FIRST_GUESS));
        }
        let before = |path: &Arc<str>| **path < *range.start || **path < *prefix;
        let after = |path: &Arc<str>| **path > *prefix && !path.starts_with(prefix);
        let mut more = false;
        objects
            .heads
            .walk(before, after, self.revision, |path, head| {
                if let Some(entry) = log.value_at(path, head, self.revision) {
                    if entries.len() == most {
                        more = true;
                        return ControlFlow::Break(());
                    }
                    entries.push(entry);
                }
                ControlFlow::Continue(())
            });
        let remaining = match entries.last() {
            Some(last) if more => self.number(objects, log, |path| path <= &last.path, after),
            _ => 0,
        };
        Ok(Page { entries, remaining })
    }

    fn total(&self, collection: &str, prefix: &str) -> Result<u64, ReadError> {
        let Some((objects, log)) = self.objects(collection)? else {
            return Ok(0);
        };
        Ok(self.number(
            objects,
            log,
            |path| **path < *prefix,
            |path| **path > *prefix && !path.starts_with(prefix),
        ))
    }

    /// Returns the number of objects in a span: those in the tree, minus those that were added since.
    fn number(
        &self,
        objects: &Objects,
        log: &Log,
        before: impl Fn(&Arc<str>) -> bool,
        after: impl Fn(&Arc<str>) -> bool,
    ) -> u64 {
        let growth = log.growth_since(self.revision, |path| !before(path) && !after(path));
        let number = objects.heads.count(before, after) as u64;
        number.saturating_sub_signed(growth)
    }
}

/// The initial capacity of a page of unknown size.
const FIRST_GUESS: usize = 64;

#[async_trait]
impl Snapshot for MemorySnapshot {
    fn revision(&self) -> Revision {
        self.revision
    }

    async fn get(&self, key: &Key) -> Result<Option<Entry>, ReadError> {
        self.read(key)
    }

    async fn range(&self, collection: &str, range: Range) -> Result<Page, ReadError> {
        self.page(collection, &range)
    }

    async fn count(&self, collection: &str, prefix: &str) -> Result<u64, ReadError> {
        self.total(collection, prefix)
    }
}
