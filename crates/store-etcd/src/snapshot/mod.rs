//! Copies of an etcd: its objects at one revision, in memory. The source is never written.

mod bolt;

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use kubewright_store::{
    Limits, MemoryStore, Revision,
    engine::{Staged, Stored},
    layout::Layout,
};

use crate::{
    OpenError, Options,
    api::{KeyValue, Message},
    load::{Loaded, load},
    open::connect,
    shared::{Names, Unreadable},
};
use bolt::{Bolt, Damaged};

/// The length of the checksum at the end of a snapshot.
const CHECKSUM: usize = 32;
/// The bucket with all revisions of all keys.
const KEYS: &[u8] = b"key";

/// The objects of an etcd at one revision, and its unreadable values.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use kubewright_store::layout::PlainLayout;
/// use kubewright_store_etcd::EtcdFork;
///
/// let fork = EtcdFork::of_snapshot("snapshot.db", "/registry", Arc::new(PlainLayout))?;
/// println!("{} objects at revision {}", fork.objects, fork.revision.0);
/// for problem in &fork.unreadable {
///     eprintln!("{problem}");
/// }
/// # Ok::<(), kubewright_store_etcd::SnapshotError>(())
/// ```
#[derive(Debug)]
pub struct EtcdFork {
    /// The objects.
    pub store: MemoryStore,
    /// The revision of the source.
    pub revision: Revision,
    /// The number of objects.
    pub objects: usize,
    /// Descriptions of the values that could not be decoded, including encrypted ones.
    pub unreadable: Vec<String>,
    /// The number of keys that are not objects.
    pub others: u64,
}

/// A snapshot file that is invalid.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file is not a snapshot, or is damaged.
    #[error("{} cannot be used: {reason}; save it again with \"etcdctl snapshot save\"", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
}

impl EtcdFork {
    /// Reads the objects of a running etcd.
    ///
    /// # Errors
    ///
    /// Fails if etcd cannot be reached or used.
    pub async fn of_etcd(options: &Options, layout: Arc<dyn Layout>) -> Result<Self, OpenError> {
        let channel = connect(options).await?;
        let names = Names::new(&options.prefix, layout);
        let loaded = load(&channel, &names, None).await;
        Ok(Self::of(loaded.map_err(OpenError::of)?))
    }

    /// Reads the objects of a file written by `etcdctl snapshot save`, or of the database of a stopped member. Blocks the thread.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read or is damaged.
    pub fn of_snapshot(
        path: impl AsRef<Path>,
        prefix: &str,
        layout: Arc<dyn Layout>,
    ) -> Result<Self, SnapshotError> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|source| SnapshotError::Io {
            path: path.to_owned(),
            source,
        })?;
        let names = Names::new(prefix, layout);
        let loaded = read(&bytes, &names).map_err(|reason| SnapshotError::Damaged {
            path: path.to_owned(),
            reason,
        })?;
        Ok(Self::of(loaded))
    }

    fn of(loaded: Loaded) -> Self {
        let store = MemoryStore::with_limits(Revision(0), Limits::default());
        let objects = loaded.objects.len();
        Staged::of(&store).replace(loaded.revision, loaded.objects);
        Self {
            store,
            revision: loaded.revision,
            objects,
            unreadable: loaded
                .unreadable
                .iter()
                .map(Unreadable::to_string)
                .collect(),
            others: loaded.others,
        }
    }
}

/// Reads a file below `/registry`, and returns the number of its objects.
pub(crate) fn count_objects(bytes: &[u8], layout: Arc<dyn Layout>) -> Option<usize> {
    let loaded = read(bytes, &Names::new("/registry", layout)).ok()?;
    Some(EtcdFork::of(loaded).objects)
}

/// Reads the newest objects of a file.
fn read(bytes: &[u8], names: &Names) -> Result<Loaded, Damaged> {
    let bytes = verified(bytes)?;
    let bolt = Bolt::open(bytes)?;
    let mut revision = 0;
    // The newest version of each key. The bucket is sorted by revision.
    let mut newest: BTreeMap<Bytes, KeyValue> = BTreeMap::new();
    bolt.for_each(KEYS, &mut |key, value| {
        let main = key.first_chunk::<8>().ok_or("a revision is too short")?;
        revision = revision.max(u64::from_be_bytes(*main));
        let kv = KeyValue::read(Bytes::copy_from_slice(value)).map_err(|e| e.to_string())?;
        // A deletion is marked by an additional byte.
        match key.len() {
            18 => drop(newest.remove(&kv.key)),
            _ => drop(newest.insert(kv.key.clone(), kv)),
        }
        Ok(())
    })?;
    let mut loaded = Loaded::empty(Revision(revision));
    for kv in newest.values() {
        loaded.add(names, kv);
    }
    Ok(loaded)
}

/// Returns the database in a file, after verifying its checksum if there is one.
fn verified(bytes: &[u8]) -> Result<&[u8], Damaged> {
    // Pages are multiples of 512 bytes.
    if bytes.len() % 512 != CHECKSUM {
        return Ok(bytes);
    }
    let (database, expected) = bytes.split_at(bytes.len() - CHECKSUM);
    let digest = ring::digest::digest(&ring::digest::SHA256, database);
    match digest.as_ref() == expected {
        true => Ok(database),
        false => Err("its checksum does not match, so it is damaged or incomplete".to_owned()),
    }
}

impl Loaded {
    fn empty(revision: Revision) -> Self {
        Self {
            revision,
            objects: Vec::<(Arc<str>, Stored)>::new(),
            unreadable: Vec::new(),
            others: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use kubewright_store::layout::PlainLayout;

    use super::*;

    #[test]
    fn other_files_are_rejected() {
        let names = Names::new("/registry", Arc::new(PlainLayout));
        for bytes in [&b""[..], &[0; 4096], &[0xff; 8192], &[1; 512 + 32]] {
            assert!(read(bytes, &names).is_err());
        }
    }
}
