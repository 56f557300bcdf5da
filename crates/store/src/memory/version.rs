//! What the tree of a collection holds of a path: the newest version, or a tombstone.
//!
//! Older versions are not here. The log has them: the value of a path as of a revision is the newest version if it is
//! not newer than that, and else what the first change after it replaced.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::time::Instant;

use super::tree::Measure;
use crate::{Companion, Entry, Payload, Revision, splice};

/// The newest that is known of a path.
pub(super) struct Version {
    /// The revision of the write or the deletion.
    pub(super) revision: Revision,
    /// The place of that change in the log of the collection.
    pub(super) seq: u64,
    /// The object; `None` after a deletion.
    pub(super) content: Option<Content>,
}

/// An object.
pub(super) struct Content {
    /// The object, its revision spliced in.
    pub(super) bytes: Bytes,
    /// Where in the bytes the revision is.
    pub(super) revision_at: Option<u32>,
    /// What the writer handed over.
    pub(super) companion: Option<Companion>,
    /// When it goes away by itself.
    pub(super) lifetime: Option<Box<Lifetime>>,
}

/// How long an object lives.
#[derive(Clone, Copy)]
pub(super) struct Lifetime {
    /// What the writer asked for.
    pub(super) ttl: Duration,
    /// When that is over.
    pub(super) deadline: Instant,
}

impl Version {
    /// The object, if there is one.
    pub(super) fn entry(&self, path: &Arc<str>) -> Option<Entry> {
        self.content.as_ref().map(|content| Entry {
            path: Arc::clone(path),
            revision: self.revision,
            bytes: content.bytes.clone(),
            companion: content.companion.clone(),
        })
    }
}

impl Content {
    /// What a payload becomes when it is written at a revision.
    pub(super) fn written(payload: Payload, revision: Revision, now: Instant) -> Self {
        let lifetime = payload.ttl.and_then(|ttl| {
            let deadline = now.checked_add(ttl)?;
            Some(Box::new(Lifetime { ttl, deadline }))
        });
        Self {
            bytes: splice::insert(&payload.bytes, payload.revision_at, revision),
            revision_at: payload.revision_at,
            companion: payload.companion,
            lifetime,
        }
    }

    /// Whether writing the payload over this content, written at `revision`, would change nothing.
    pub(super) fn is(&self, payload: &Payload, revision: Revision) -> bool {
        self.lifetime.as_ref().map(|lifetime| lifetime.ttl) == payload.ttl
            && splice::same(
                &self.bytes,
                self.revision_at,
                revision,
                &payload.bytes,
                payload.revision_at,
            )
    }
}

impl Measure for Arc<Version> {
    fn live(&self) -> bool {
        self.content.is_some()
    }

    fn newest(&self) -> Revision {
        self.revision
    }
}
