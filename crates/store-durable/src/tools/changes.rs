//! The changes in the log.

use std::{ops::ControlFlow, time::SystemTime};

use bytes::Bytes;
use kubewright_store::{Key, Revision, splice};

use super::{DataFiles, time};
use crate::{OpenError, format::record::Record, log::walk};

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

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// The object was created.
    Created,
    /// The object was updated.
    Updated,
    /// The object was deleted.
    Deleted,
    /// The object expired.
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
    /// Visits the changes in the log from a revision on, as far as it is kept, until the visitor stops.
    ///
    /// # Errors
    ///
    /// Fails if the log is damaged, after visiting everything before the damage.
    pub fn changes(
        &self,
        from: Revision,
        mut visit: impl FnMut(ChangeRecord) -> ControlFlow<()>,
    ) -> Result<(), OpenError> {
        let mut visit = |revision, millis, record| match described(record, revision) {
            Some((key, kind, bytes)) => visit(ChangeRecord {
                revision,
                time: time(millis),
                key,
                kind,
                bytes,
            }),
            None => ControlFlow::Continue(()),
        };
        let walked = walk(&*self.disk, &self.id, from, usize::MAX, &mut visit);
        walked.map_err(|trouble| trouble.at(self.path.clone()))
    }
}

/// Returns the parts of a record that uses a revision.
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
