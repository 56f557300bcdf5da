//! The values in the tree of a collection: the newest version of a path, or a tombstone.
//!
//! Older versions are in the log: the object of a path at a revision is the newest version if it is not newer, and otherwise
//! what the first change after the revision replaced.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::time::Instant;

use super::tree::Measure;
use crate::{Decoded, Entry, Payload, Revision, splice};

/// The newest version of a path.
pub(super) struct Version {
    /// The revision of the write or the deletion.
    pub(super) revision: Revision,
    /// The position of that change in the log of the collection.
    pub(super) seq: u64,
    /// The object; `None` after a deletion.
    pub(super) content: Option<Content>,
}

/// The content of an object.
pub(super) struct Content {
    /// The bytes, with the revision spliced in.
    pub(super) bytes: Bytes,
    /// The offset of the revision.
    pub(super) revision_at: Option<u32>,
    /// The decoded form of the writer.
    pub(super) decoded: Option<Decoded>,
    /// The lifetime.
    pub(super) lifetime: Option<Box<Lifetime>>,
}

/// The lifetime of an object.
#[derive(Clone, Copy)]
pub(super) struct Lifetime {
    /// The requested lifetime.
    pub(super) ttl: Duration,
    /// The time of expiry.
    pub(super) deadline: Instant,
}

impl Version {
    /// Returns the object, if there is one.
    pub(super) fn entry(&self, path: &Arc<str>) -> Option<Entry> {
        self.content.as_ref().map(|content| Entry {
            path: Arc::clone(path),
            revision: self.revision,
            bytes: content.bytes.clone(),
            decoded: content.decoded.clone(),
        })
    }
}

impl Content {
    /// Returns the content of a payload that is written at a revision.
    pub(super) fn written(payload: Payload, revision: Revision, now: Instant) -> Self {
        let lifetime = payload.ttl.and_then(|ttl| {
            let deadline = now.checked_add(ttl)?;
            Some(Box::new(Lifetime { ttl, deadline }))
        });
        Self {
            bytes: splice::insert(&payload.bytes, payload.revision_at, revision),
            revision_at: payload.revision_at,
            decoded: payload.decoded,
            lifetime,
        }
    }

    /// Returns whether writing the payload over this content, written at `revision`, would change nothing.
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
