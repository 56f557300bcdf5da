//! The log, change by change.

use std::{ops::ControlFlow, time::SystemTime};

use bytes::Bytes;
use kubewright_store::{Key, Revision, splice};

use super::{DataFiles, time};
use crate::{
    OpenError,
    error::Trouble,
    format::record::Record,
    log::{Scan, Segment, list_segments},
};

/// A change in the log of a data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeRecord {
    /// The revision of the change.
    pub revision: Revision,
    /// The time at which it was written.
    pub time: SystemTime,
    /// The key of the object.
    pub key: Key,
    /// The kind of the change.
    pub kind: RecordKind,
    /// The object after the change; `None` after a deletion.
    pub bytes: Option<Bytes>,
}

/// The kind of a change in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// The object was created.
    Created,
    /// The object was updated.
    Updated,
    /// The object was deleted.
    Deleted,
    /// The lifetime of the object ended.
    Expired,
}

impl RecordKind {
    /// Returns the kind in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Deleted => "deleted",
            Self::Expired => "expired",
        }
    }
}

impl DataFiles {
    /// Visits the changes in the log from a revision on, as far back as it is kept, until the visitor stops.
    ///
    /// # Errors
    ///
    /// Fails if the log is damaged; everything before the damage was visited.
    pub fn changes(
        &self,
        from: Revision,
        visit: impl FnMut(ChangeRecord) -> ControlFlow<()>,
    ) -> Result<(), OpenError> {
        let walked = self.walk(from, visit);
        walked.map_err(|trouble| trouble.at(self.path.clone()))
    }

    fn walk(
        &self,
        from: Revision,
        mut visit: impl FnMut(ChangeRecord) -> ControlFlow<()>,
    ) -> Result<(), Trouble> {
        let names = list_segments(&*self.disk)?;
        let begin = names.iter().rposition(|name| name.first_revision <= from);
        let mut names = names.iter().skip(begin.unwrap_or(0)).peekable();
        while let Some(name) = names.next() {
            let segment = Segment::read(&*self.disk, name, &self.id)?;
            let next = match names.peek() {
                Some(next) => Some(Segment::read(&*self.disk, next, &self.id)?),
                None => None,
            };
            let first = next.map(|next| next.header.first_frame);
            let mut scan = Scan::new(&segment, first);
            while let Ok(frame) = scan.next()? {
                let mut revision = frame.first;
                for record in frame.records {
                    let Some((key, kind, bytes)) = described(record, revision) else {
                        continue;
                    };
                    let change = ChangeRecord {
                        revision,
                        time: time(frame.time),
                        key,
                        kind,
                        bytes,
                    };
                    if revision >= from && visit(change).is_break() {
                        return Ok(());
                    }
                    revision = Revision(revision.0 + 1);
                }
            }
        }
        Ok(())
    }
}

/// Returns the parts of a record that takes a revision.
fn described(record: Record, revision: Revision) -> Option<(Key, RecordKind, Option<Bytes>)> {
    match record {
        Record::Put {
            key,
            object,
            created,
        } => {
            let kind = match created {
                true => RecordKind::Created,
                false => RecordKind::Updated,
            };
            let bytes = splice::insert(&object.bytes, object.revision_at, revision);
            Some((key, kind, Some(bytes)))
        }
        Record::Delete { key, expired } => {
            let kind = match expired {
                true => RecordKind::Expired,
                false => RecordKind::Deleted,
            };
            Some((key, kind, None))
        }
        Record::Compact(_) => None,
    }
}
