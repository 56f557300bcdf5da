//! Changes of an object that are in the files of the log, but no longer in memory.

use std::{collections::VecDeque, ops::ControlFlow, sync::Arc};

use kubewright_store::{Change, ChangeKind, Entry, Key, Payload, Revision};

use crate::{disk::Disk, error::Trouble, format::record::Record, log::walk};

/// The maximum number of changes.
const MAX_CHANGES: usize = 1000;

/// The number of segments that are read, the newest ones.
const MAX_SEGMENTS: usize = 16;

/// The number of attempts, since segments may be removed while they are read.
const ATTEMPTS: usize = 5;

/// Returns the changes of an object up to a revision, oldest first, as far as the log has them.
pub(crate) fn changes_of(
    disk: &dyn Disk,
    store: &[u8; 16],
    key: &Key,
    until: Revision,
) -> Result<Vec<Arc<Change>>, Trouble> {
    let mut attempt = 0;
    loop {
        attempt += 1;
        match read(disk, store, key, until) {
            Err(_) if attempt < ATTEMPTS => {}
            read => return read,
        }
    }
}

fn read(
    disk: &dyn Disk,
    store: &[u8; 16],
    key: &Key,
    until: Revision,
) -> Result<Vec<Arc<Change>>, Trouble> {
    let mut changes: VecDeque<Arc<Change>> = VecDeque::new();
    // The object without its revision, and its entry.
    let mut last: Option<(Payload, Entry)> = None;
    let mut visit = |revision: Revision, _, record| {
        if revision > until {
            return ControlFlow::Break(());
        }
        let (of, put) = match record {
            Record::Put {
                key,
                object,
                created,
            } => (key, Some((object, created))),
            Record::Delete { key, .. } => (key, None),
            Record::Compact(_) => return ControlFlow::Continue(()),
        };
        if of != *key {
            return ControlFlow::Continue(());
        }
        let previous = last.take();
        let (payload, kind) = match (put, &previous) {
            (Some((object, created)), _) => {
                let payload = Payload {
                    revision_at: object.revision_at,
                    ..Payload::plain(object.bytes)
                };
                let kind = match created {
                    true => ChangeKind::Created,
                    false => ChangeKind::Updated,
                };
                (payload, kind)
            }
            (None, Some((payload, _))) => (payload.clone(), ChangeKind::Deleted),
            // The log begins after the last write.
            (None, None) => return ControlFlow::Continue(()),
        };
        let entry = Entry {
            path: Arc::clone(&key.path),
            revision,
            bytes: payload.spliced(revision),
            decoded: None,
        };
        if changes.len() == MAX_CHANGES {
            changes.pop_front();
        }
        changes.push_back(Arc::new(Change {
            revision,
            entry: entry.clone(),
            previous: previous.map(|(_, entry)| entry),
            kind,
        }));
        if kind != ChangeKind::Deleted {
            last = Some((payload, entry));
        }
        ControlFlow::Continue(())
    };
    walk(disk, store, Revision(0), MAX_SEGMENTS, &mut visit)?;
    Ok(changes.into())
}
