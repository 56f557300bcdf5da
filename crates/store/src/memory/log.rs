//! The changes of a collection, in order, for watchers and for reads of old revisions.
//!
//! Changes are numbered without gaps by a `seq` of the collection. They are kept in chunks, so that a copy of the log (for a
//! fork, or a snapshot of an old revision) shares everything except later writes. Trimming removes changes from the front;
//! numbers do not shift.

use std::{collections::VecDeque, sync::Arc};

use tokio::time::Instant;

use super::version::Version;
use crate::{Change, ChangeKind, Entry, Revision};

/// The number of changes in a chunk.
const CHUNK: u64 = 256;

/// The overhead of a change beside the bytes of its objects.
const OVERHEAD: usize = 256;

/// The log.
#[derive(Clone, Default)]
pub(super) struct Log {
    chunks: VecDeque<Arc<VecDeque<Record>>>,
    base: u64,
    end: u64,
    bytes: usize,
}

/// A change with its links.
#[derive(Clone)]
pub(super) struct Record {
    /// The change.
    pub(super) change: Arc<Change>,
    /// The time of the change.
    pub(super) at: Instant,
    /// The position of the previous change of the same path.
    pub(super) earlier: Option<u64>,
    /// The kind of the change, copied because counting reads nothing else of most changes.
    pub(super) kind: ChangeKind,
}

impl Log {
    /// Returns an empty log whose first change will have a position.
    pub(super) fn starting_at(seq: u64) -> Self {
        Self {
            base: seq,
            end: seq,
            ..Self::default()
        }
    }

    /// Returns the position of the oldest change.
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// Returns the position of the next change.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Returns the number of changes.
    pub(super) fn len(&self) -> u64 {
        self.end - self.base
    }

    /// Returns the number of bytes that the log keeps alive.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the change at a position, if it is kept.
    pub(super) fn get(&self, seq: u64) -> Option<&Record> {
        if seq < self.base || seq >= self.end {
            return None;
        }
        let chunk = seq / CHUNK - self.base / CHUNK;
        let gone = if chunk == 0 { self.base % CHUNK } else { 0 };
        self.chunks
            .get(chunk as usize)?
            .get((seq % CHUNK - gone) as usize)
    }

    /// Returns the oldest change.
    pub(super) fn first(&self) -> Option<&Record> {
        self.get(self.base)
    }

    /// Returns the changes from a position on.
    pub(super) fn from(&self, seq: u64) -> impl Iterator<Item = (u64, &Record)> {
        let seq = seq.max(self.base);
        let chunk = (seq / CHUNK - self.base / CHUNK) as usize;
        let gone = if chunk == 0 { self.base % CHUNK } else { 0 };
        let skip = (seq % CHUNK - gone) as usize;
        (seq..).zip(
            self.chunks
                .iter()
                .skip(chunk)
                .flat_map(|c| c.iter())
                .skip(skip),
        )
    }

    /// Returns the position of the first change after a revision.
    pub(super) fn after(&self, revision: Revision) -> u64 {
        let past = |record: &Record| record.change.revision <= revision;
        let chunk = self
            .chunks
            .partition_point(|chunk| chunk.front().is_some_and(past))
            .saturating_sub(1);
        let Some(records) = self.chunks.get(chunk) else {
            return self.end;
        };
        let start = if chunk == 0 {
            self.base
        } else {
            (self.base / CHUNK + chunk as u64) * CHUNK
        };
        start + records.partition_point(past) as u64
    }

    /// Appends a change.
    pub(super) fn push(&mut self, record: Record) {
        self.bytes += weight(&record.change);
        if self.end.is_multiple_of(CHUNK) || self.chunks.is_empty() {
            self.chunks.push_back(Arc::default());
        }
        if let Some(chunk) = self.chunks.back_mut() {
            Arc::make_mut(chunk).push_back(record);
        }
        self.end += 1;
    }

    /// Removes the oldest change.
    pub(super) fn pop(&mut self) -> Option<Record> {
        let chunk = Arc::make_mut(self.chunks.front_mut()?);
        let record = chunk.pop_front()?;
        if chunk.is_empty() {
            self.chunks.pop_front();
        }
        self.base += 1;
        self.bytes -= weight(&record.change);
        Some(record)
    }

    /// Returns the object of a path at a revision, given its newest version. The history of the revision must be kept.
    pub(super) fn value_at(
        &self,
        path: &Arc<str>,
        newest: &Version,
        at: Revision,
    ) -> Option<Entry> {
        if newest.revision <= at {
            return newest.entry(path);
        }
        self.first_after(newest, at)?.change.previous.clone()
    }

    /// Returns by how much the number of matching objects has grown since a revision.
    pub(super) fn growth_since(&self, at: Revision, matches: impl Fn(&Arc<str>) -> bool) -> i64 {
        let mut growth = 0;
        for (_, record) in self.from(self.after(at)) {
            let step = match record.kind {
                ChangeKind::Updated => continue,
                ChangeKind::Created => 1,
                ChangeKind::Deleted => -1,
            };
            if matches(&record.change.entry.path) {
                growth += step;
            }
        }
        growth
    }

    /// Returns the first change of a path after a revision. It takes one step for each change since.
    fn first_after(&self, newest: &Version, at: Revision) -> Option<&Record> {
        let mut record = self.get(newest.seq)?;
        while let Some(earlier) = record.earlier.and_then(|seq| self.get(seq))
            && earlier.change.revision > at
        {
            record = earlier;
        }
        Some(record)
    }
}

/// Returns the bytes that only the change keeps alive: the object it replaced, and after a deletion the last object.
fn weight(change: &Change) -> usize {
    let replaced = change
        .previous
        .as_ref()
        .map_or(0, |entry| entry.bytes.len());
    let last = match change.kind {
        ChangeKind::Deleted => change.entry.bytes.len(),
        ChangeKind::Created | ChangeKind::Updated => 0,
    };
    OVERHEAD + replaced + last
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(revision: u64) -> Record {
        let entry = Entry {
            path: "a".into(),
            revision: Revision(revision),
            bytes: "abc".into(),
            decoded: None,
        };
        Record {
            change: Arc::new(Change {
                revision: Revision(revision),
                entry,
                previous: None,
                kind: ChangeKind::Created,
            }),
            at: Instant::now(),
            earlier: None,
            kind: ChangeKind::Created,
        }
    }

    fn revision_of(record: Option<&Record>) -> Option<u64> {
        record.map(|record| record.change.revision.0)
    }

    #[test]
    fn places_do_not_shift_however_much_is_trimmed() {
        let mut log = Log::default();
        let total = 3 * CHUNK + 7;
        for seq in 0..total {
            log.push(record(10 * seq + 5));
        }
        for trimmed in 0..=total {
            assert_eq!(log.base(), trimmed);
            assert_eq!(log.end(), total);
            for seq in [
                0,
                trimmed,
                trimmed + 1,
                CHUNK,
                2 * CHUNK - 1,
                total - 1,
                total,
            ] {
                let kept = seq >= trimmed && seq < total;
                assert_eq!(revision_of(log.get(seq)), kept.then_some(10 * seq + 5));
                let at = seq.max(trimmed);
                assert_eq!(
                    log.after(Revision((10 * at + 5).saturating_sub(1))),
                    at.min(total)
                );
                let first = log
                    .from(seq)
                    .next()
                    .map(|(seq, r)| (seq, r.change.revision.0));
                assert_eq!(first, (at < total).then_some((at, 10 * at + 5)));
                assert_eq!(log.from(seq).count() as u64, total.saturating_sub(at));
            }
            assert_eq!(log.pop().is_some(), trimmed < total);
        }
        assert_eq!((log.len(), log.bytes()), (0, 0));
        log.push(record(99_999));
        assert_eq!(revision_of(log.get(total)), Some(99_999));
    }

    #[test]
    fn a_copy_keeps_what_the_original_trims() {
        let mut log = Log::default();
        (1..=300).for_each(|revision| log.push(record(revision)));
        let copy = log.clone();
        while log.pop().is_some() {}
        log.push(record(301));
        assert_eq!(copy.len(), 300);
        assert_eq!(revision_of(copy.first()), Some(1));
        assert_eq!(revision_of(log.first()), Some(301));
    }
}
