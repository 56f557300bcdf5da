//! [`Batches`]: the entries of a snapshot, in portions whose served objects fit into memory together.
//!
//! Objects that are served as they are stored share the store's bytes. Those that have to be decoded, defaulted or converted
//! have bytes of their own, so portions with such objects are small.

use std::{sync::Arc, vec};

use kubewright_machinery::Status;
use kubewright_store::{Entry, Range, Snapshot};

use super::Generic;
use crate::object::Object;

/// Entries in the order of their paths.
#[derive(Clone)]
pub(super) struct Batches {
    snapshot: Arc<dyn Snapshot>,
    prefix: String,
    /// The number of entries that are read from the snapshot at once.
    page: usize,
    /// The start of the next page; `None` at the end.
    next: Option<String>,
    /// Entries that were read and not returned yet.
    read: vec::IntoIter<Entry>,
    /// The number of entries after those that were read.
    after: u64,
}

impl Batches {
    pub(super) fn new(
        snapshot: Arc<dyn Snapshot>,
        prefix: String,
        start: String,
        page: usize,
    ) -> Self {
        Self {
            snapshot,
            prefix,
            page,
            next: Some(start),
            read: Vec::new().into_iter(),
            after: 0,
        }
    }

    pub(super) fn snapshot(&self) -> &Arc<dyn Snapshot> {
        &self.snapshot
    }

    /// Returns the next entries as they are served: at least one, or none at the end.
    pub(super) async fn next(&mut self, generic: &Generic) -> Result<Vec<(Entry, Object)>, Status> {
        if self.read.as_slice().is_empty()
            && let Some(start) = self.next.take()
        {
            let range = Range {
                prefix: self.prefix.clone(),
                start,
                limit: self.page,
            };
            let page = self.snapshot.range(&generic.collection, range).await;
            let page = page.map_err(|e| Generic::read_failure(&e))?;
            self.after = page.remaining;
            if page.remaining > 0 {
                let last = page.entries.last();
                self.next = last.map(|last| format!("{}\0", last.path));
            }
            self.read = page.entries.into_iter();
        }
        let objects = generic.first_objects(self.read.as_slice()).await?;
        // The objects come first: they may be fewer.
        let served = objects.into_iter().zip(self.read.by_ref());
        Ok(served.map(|(object, entry)| (entry, object)).collect())
    }

    /// Returns the number of entries that were not returned yet.
    pub(super) fn remaining(&self) -> u64 {
        self.read.len() as u64 + self.after
    }
}

#[cfg(test)]
mod tests;
