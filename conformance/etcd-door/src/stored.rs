//! Keys and values of etcd as objects of a store: the value comes after its first revision, its version and its lease.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use kubewright_store::{Entry, Key};

/// The collection of all keys.
pub(crate) const COLLECTION: &str = "etcd";

const HEADER: usize = 24;

/// A value with what etcd knows about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyValue {
    pub(crate) key: Bytes,
    pub(crate) create_revision: u64,
    pub(crate) mod_revision: u64,
    pub(crate) version: u64,
    pub(crate) value: Bytes,
    pub(crate) lease: i64,
}

/// Returns the object of a key.
pub(crate) fn key(path: &str) -> Key {
    Key::new(COLLECTION, path)
}

/// Returns the bytes of a value that replaces another.
pub(crate) fn replacing(before: Option<&KeyValue>, value: &[u8], lease: i64) -> Bytes {
    let mut bytes = BytesMut::with_capacity(HEADER + value.len());
    // A created object does not know its revision: zero.
    bytes.put_u64(before.map_or(0, |before| before.create_revision));
    bytes.put_u64(before.map_or(1, |before| before.version + 1));
    bytes.put_i64(lease);
    bytes.put_slice(value);
    bytes.freeze()
}

impl KeyValue {
    /// Reads an object. What others have written is a value without a history.
    pub(crate) fn of(entry: &Entry) -> Self {
        let revision = entry.revision.0;
        let mut bytes = entry.bytes.clone();
        let (created, version, lease) = match bytes.len() < HEADER {
            true => (0, 1, 0),
            false => (bytes.get_u64(), bytes.get_u64(), bytes.get_i64()),
        };
        Self {
            key: Bytes::copy_from_slice(entry.path.as_bytes()),
            create_revision: match created {
                0 => revision,
                created => created,
            },
            mod_revision: revision,
            version,
            value: bytes,
            lease,
        }
    }

    /// Returns what is left of a deleted key.
    pub(crate) fn deleted(entry: &Entry) -> Self {
        Self {
            key: Bytes::copy_from_slice(entry.path.as_bytes()),
            mod_revision: entry.revision.0,
            ..Self::default()
        }
    }

    pub(crate) fn without_value(self) -> Self {
        Self {
            value: Bytes::new(),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use kubewright_store::Revision;

    use super::*;

    #[test]
    fn a_value_knows_when_it_was_created_and_how_often_it_was_written() {
        let entry = |revision, bytes| Entry {
            path: "/a".into(),
            revision: Revision(revision),
            bytes,
            decoded: None,
        };
        let created = KeyValue::of(&entry(7, replacing(None, b"one", 0)));
        assert_eq!((created.create_revision, created.version), (7, 1));
        let updated = KeyValue::of(&entry(9, replacing(Some(&created), b"two", 5)));
        assert_eq!((updated.create_revision, updated.mod_revision), (7, 9));
        assert_eq!((updated.version, updated.lease), (2, 5));
        assert_eq!(updated.value, "two");
    }
}
