//! The format of records. A record is a write in a frame. Writes have consecutive revisions from the frame's first revision on.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use kubewright_store::{Key, Payload, Revision};

use super::cursor::Cursor;

const CREATE: u8 = 1;
const UPDATE: u8 = 2;
const DELETE: u8 = 3;
const EXPIRE: u8 = 4;
const COMPACT: u8 = 5;

const HAS_REVISION_AT: u8 = 1;
const HAS_LIFETIME: u8 = 2;

/// A write in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    /// An object was created or updated.
    Put {
        key: Key,
        object: Object,
        created: bool,
    },
    /// An object was deleted, or has expired.
    Delete { key: Key, expired: bool },
    /// The oldest readable revision was raised. Does not use a revision.
    Compact(Revision),
}

/// The object of a record, without its revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) bytes: Bytes,
    pub(crate) revision_at: Option<u32>,
    pub(crate) lifetime: Option<WallLifetime>,
}

/// A lifetime by the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WallLifetime {
    pub(crate) ttl: Duration,
    /// Milliseconds since 1970.
    pub(crate) deadline: u64,
}

impl Record {
    /// Returns whether the record uses a revision.
    pub(crate) fn takes_revision(&self) -> bool {
        !matches!(self, Self::Compact(_))
    }
}

/// Returns the encoded length of a put.
pub(crate) fn put_len(key: &Key, payload: &Payload) -> usize {
    64 + key.collection.len() + key.path.len() + payload.bytes.len()
}

/// Appends a put.
pub(crate) fn encode_put(
    out: &mut Vec<u8>,
    key: &Key,
    payload: &Payload,
    lifetime: Option<WallLifetime>,
    created: bool,
) {
    let kind = if created { CREATE } else { UPDATE };
    let mut flags = 0;
    if payload.revision_at.is_some() {
        flags |= HAS_REVISION_AT;
    }
    if lifetime.is_some() {
        flags |= HAS_LIFETIME;
    }
    out.extend_from_slice(&[kind, flags]);
    encode_key(out, key);
    if let Some(at) = payload.revision_at {
        out.extend_from_slice(&at.to_le_bytes());
    }
    if let Some(lifetime) = lifetime {
        out.extend_from_slice(&millis(lifetime.ttl).to_le_bytes());
        out.extend_from_slice(&lifetime.deadline.to_le_bytes());
    }
    encode_len(out, payload.bytes.len());
    out.extend_from_slice(&payload.bytes);
}

/// Appends a deletion.
pub(crate) fn encode_delete(out: &mut Vec<u8>, key: &Key, expired: bool) {
    let kind = if expired { EXPIRE } else { DELETE };
    out.extend_from_slice(&[kind, 0]);
    encode_key(out, key);
}

/// Appends a compaction.
pub(crate) fn encode_compact(out: &mut Vec<u8>, floor: Revision) {
    out.extend_from_slice(&[COMPACT, 0]);
    out.extend_from_slice(&floor.0.to_le_bytes());
}

/// Decodes the next record.
pub(crate) fn decode(cursor: &mut Cursor<'_>) -> Option<Record> {
    let (kind, flags) = (cursor.u8()?, cursor.u8()?);
    match kind {
        CREATE | UPDATE => {
            let key = decode_key(cursor)?;
            let object = decode_object(cursor, flags)?;
            let created = kind == CREATE;
            Some(Record::Put {
                key,
                object,
                created,
            })
        }
        DELETE | EXPIRE => Some(Record::Delete {
            key: decode_key(cursor)?,
            expired: kind == EXPIRE,
        }),
        COMPACT => Some(Record::Compact(Revision(cursor.u64()?))),
        _ => None,
    }
}

fn decode_object(cursor: &mut Cursor<'_>, flags: u8) -> Option<Object> {
    if flags & !(HAS_REVISION_AT | HAS_LIFETIME) != 0 {
        return None;
    }
    let revision_at = match flags & HAS_REVISION_AT {
        0 => None,
        _ => Some(cursor.u32()?),
    };
    let lifetime = match flags & HAS_LIFETIME {
        0 => None,
        _ => Some(WallLifetime {
            ttl: Duration::from_millis(cursor.u64()?),
            deadline: cursor.u64()?,
        }),
    };
    let len = cursor.u32()? as usize;
    Some(Object {
        bytes: Bytes::copy_from_slice(cursor.take(len)?),
        revision_at,
        lifetime,
    })
}

fn encode_key(out: &mut Vec<u8>, key: &Key) {
    encode_len(out, key.collection.len());
    encode_len(out, key.path.len());
    out.extend_from_slice(key.collection.as_bytes());
    out.extend_from_slice(key.path.as_bytes());
}

fn decode_key(cursor: &mut Cursor<'_>) -> Option<Key> {
    let (collection, path) = (cursor.u32()? as usize, cursor.u32()? as usize);
    let collection: Arc<str> = cursor.text(collection)?.into();
    let path: Arc<str> = cursor.text(path)?.into();
    Some(Key { collection, path })
}

/// Appends a length. Records are limited to far less than 4 GiB.
fn encode_len(out: &mut Vec<u8>, len: usize) {
    let len = u32::try_from(len).unwrap_or(u32::MAX);
    out.extend_from_slice(&len.to_le_bytes());
}

/// Returns a duration in milliseconds.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
