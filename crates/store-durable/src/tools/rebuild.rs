//! Creates data directories: restored from a copy, salvaged from a damaged directory, or imported.
//!
//! Their revisions start far above those of the original, and earlier ones are not readable, since clients must not resume
//! watches of the old history.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use kubewright_store::{
    Key, MemoryStore, Payload, Revision,
    engine::{Applied, Staged, Stored},
};

use super::DataFiles;
use crate::{
    Clock, Damage, OpenError, Options, checkpoint,
    clock::{Now, Wall},
    disk::{Disk, RealDisk},
    engine::Engine,
    error::Trouble,
    format::{checkpoint as format, record::Record},
    log::{Scan, Segment, list_segments},
};

/// The number of revisions that are skipped.
const BUMP: u64 = 1_000_000;

/// A new data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rebuilt {
    /// The revision of the original.
    pub from: Revision,
    /// Its first revision.
    pub revision: Revision,
    /// The number of objects.
    pub objects: u64,
    /// The damage to the original, if it was salvaged.
    pub lost: Vec<Damage>,
}

/// Writes the state at a revision of a copy, or of a directory that no process uses, to a new directory.
///
/// # Errors
///
/// Fails if the new directory is not empty, if the files are damaged, or if the history does not contain the revision.
pub fn restore(files: &DataFiles, at: Option<Revision>, to: &Path) -> Result<Rebuilt, OpenError> {
    require_empty(to)?;
    let store = files.at(at)?;
    write_new(&store, to, Vec::new(), Some(files))
}

/// Writes all readable objects of a damaged directory to a new one.
///
/// # Errors
///
/// Fails if the new directory is not empty, or if no file can be read.
pub fn salvage(files: &DataFiles, to: &Path) -> Result<Rebuilt, OpenError> {
    require_empty(to)?;
    let mut lost = Vec::new();
    let read = read_all(files, &mut lost);
    let store = read.map_err(|trouble| trouble.at(files.path.clone()))?;
    write_new(&store, to, lost, Some(files))
}

/// Writes objects to a new directory. Each has a key, bytes with a revision spliced in, and its offset.
///
/// # Errors
///
/// Fails if the new directory is not empty, or if it cannot be written.
pub fn import(
    objects: impl IntoIterator<Item = (Key, Revision, Bytes, Option<u32>)>,
    to: &Path,
) -> Result<Rebuilt, OpenError> {
    require_empty(to)?;
    let store = MemoryStore::new();
    let mut staged = Staged::of(&store);
    let mut newest = Revision(0);
    for (key, revision, bytes, revision_at) in objects {
        newest = newest.max(revision);
        let stored = Stored {
            path: key.path,
            revision,
            bytes,
            revision_at,
            lifetime: None,
        };
        staged.load(&key.collection, stored);
    }
    staged.start_at(newest);
    staged.take().publish();
    write_new(&store, to, Vec::new(), None)
}

/// Fails if a directory is not empty.
pub(super) fn require_empty(to: &Path) -> Result<(), OpenError> {
    let found = match fs::read_dir(to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(source) => {
            return Err(OpenError::Io {
                path: to.to_owned(),
                action: "list files".to_owned(),
                source,
            });
        }
        Ok(mut entries) => entries.next(),
    };
    match found {
        None => Ok(()),
        Some(entry) => Err(OpenError::NotEmpty {
            path: to.to_owned(),
            found: entry.map_or_else(
                |error| error.to_string(),
                |entry| entry.file_name().to_string_lossy().into_owned(),
            ),
        }),
    }
}

/// Writes a store to a new directory, as a checkpoint and an empty log. The directory is renamed when it is complete.
fn write_new(
    store: &MemoryStore,
    to: &Path,
    lost: Vec<Damage>,
    keys: Option<&DataFiles>,
) -> Result<Rebuilt, OpenError> {
    let failed = |source| OpenError::Io {
        path: to.to_owned(),
        action: "write a new store".to_owned(),
        source,
    };
    let mut partial = to.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    if partial.exists() {
        fs::remove_dir_all(&partial).map_err(failed)?;
    }
    let rebuilt = fill_new(store, &partial, lost)?;
    if let Some(files) = keys {
        copy_keys(files, &partial)?;
    }
    if to.exists() {
        fs::remove_dir(to).map_err(failed)?;
    }
    fs::rename(&partial, to).map_err(failed)?;
    #[cfg(unix)]
    if let Some(parent) = to.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        let synced = fs::File::open(parent).and_then(|parent| parent.sync_all());
        synced.map_err(failed)?;
    }
    Ok(rebuilt)
}

fn fill_new(store: &MemoryStore, to: &Path, lost: Vec<Damage>) -> Result<Rebuilt, OpenError> {
    let contents = store.contents();
    let from = contents.revision();
    let revision = Revision(from.0.saturating_add(BUMP));
    crate::directory::prepare(to, true)?;
    let trouble = |trouble: Trouble| trouble.at(to.to_owned());
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::new(to));
    let options = Options {
        first_revision: revision,
        ..Options::default()
    };
    let opened = Engine::open(Arc::clone(&disk), options, "a directory").map_err(trouble)?;
    let raised = MemoryStore::starting_at(revision);
    let mut staged = Staged::of(&raised);
    contents.for_each(|collection, stored| {
        staged.load(collection, stored);
        std::ops::ControlFlow::Continue(())
    });
    staged.start_at(revision);
    staged.take().publish();
    let now = Wall::new(Clock::default()).now();
    let written = checkpoint::write(&*disk, &opened.engine.id, &raised.contents(), &now, &|_| {
        Ok(())
    });
    written.map_err(trouble)?;
    Ok(Rebuilt {
        from,
        revision,
        objects: contents.len(),
        lost,
    })
}

/// Reads all intact data: the best checkpoint, then every complete frame after it.
fn read_all(files: &DataFiles, lost: &mut Vec<Damage>) -> Result<MemoryStore, Trouble> {
    let now = Wall::new(Clock::default()).now();
    let mut best: Option<(u64, Revision, MemoryStore)> = None;
    for revision in checkpoint::list(&*files.disk)? {
        let name = format::path(revision);
        let store = MemoryStore::starting_at(revision);
        let mut staged = Staged::of(&store);
        let load = |object: format::CheckpointObject| {
            let collection = object.collection.clone();
            staged.load(&collection, stored(object, &now));
        };
        let missing = match checkpoint::load_readable(&*files.disk, &name, &files.id, load) {
            Ok((_, missing)) => missing,
            Err(Trouble::Damage(damage)) => {
                lost.push(damage);
                continue;
            }
            Err(other) => return Err(other),
        };
        if missing > 0 {
            lost.push(Damage {
                file: name,
                offset: None,
                problem: format!("{missing} blocks of objects cannot be read"),
                intact_up_to: None,
            });
        }
        staged.start_at(revision);
        staged.take().publish();
        if best.as_ref().is_none_or(|(fewest, ..)| missing < *fewest) {
            best = Some((missing, revision, store));
        }
    }
    let (start, store) = match best {
        Some((_, revision, store)) => (revision, store),
        None => (Revision(0), MemoryStore::new()),
    };
    let mut staged = Staged::of(&store);
    for name in list_segments(&*files.disk)? {
        match Segment::read(&*files.disk, &name, &files.id) {
            Ok(segment) => apply_readable(&segment, start, &mut staged, &now, lost),
            Err(Trouble::Damage(damage)) => lost.push(damage),
            Err(other) => return Err(other),
        }
    }
    staged.take().publish();
    Ok(store)
}

/// Applies the complete frames of a segment, including those after damage.
fn apply_readable(
    segment: &Segment,
    start: Revision,
    staged: &mut Staged,
    now: &Now,
    lost: &mut Vec<Damage>,
) {
    let mut scan = Scan::new(segment, None);
    loop {
        match scan.next() {
            Ok(Ok(frame)) => {
                let mut revision = frame.first;
                for record in frame.records {
                    if !record.takes_revision() {
                        continue;
                    }
                    if revision > start && revision > staged.current() {
                        // Changes that cannot be applied depend on lost ones.
                        let _ = staged.apply(revision, applied(record, now), now.instant);
                    }
                    revision = Revision(revision.0 + 1);
                }
            }
            Ok(Err(_)) => return,
            Err(Trouble::Damage(damage)) => {
                lost.push(damage);
                if !scan.skip_damage() {
                    return;
                }
            }
            Err(_) => return,
        }
    }
}

fn applied(record: Record, now: &Now) -> Option<Applied> {
    match record {
        Record::Put { key, object, .. } => Some(Applied {
            key,
            deadline: object.lifetime.map(|l| now.instant_of(l.deadline)),
            payload: Some(Payload {
                revision_at: object.revision_at,
                ttl: object.lifetime.map(|lifetime| lifetime.ttl),
                ..Payload::plain(object.bytes)
            }),
        }),
        Record::Delete { key, .. } => Some(Applied {
            key,
            payload: None,
            deadline: None,
        }),
        Record::Compact(_) => None,
    }
}

fn stored(object: format::CheckpointObject, now: &Now) -> Stored {
    let lifetime = object
        .lifetime
        .map(|lifetime| (lifetime.ttl, now.instant_of(lifetime.deadline)));
    Stored {
        path: object.path,
        revision: object.revision,
        bytes: object.bytes,
        revision_at: object.revision_at,
        lifetime,
    }
}

/// Copies the keys of a cluster, so that tokens and kubeconfigs stay valid.
fn copy_keys(files: &DataFiles, to: &Path) -> Result<(), OpenError> {
    let from = files.path.join("keys");
    let copied = || -> io::Result<()> {
        fs::create_dir_all(to.join("keys"))?;
        for entry in fs::read_dir(&from)? {
            let entry = entry?;
            fs::copy(entry.path(), to.join("keys").join(entry.file_name()))?;
        }
        Ok(())
    };
    if !from.is_dir() {
        return Ok(());
    }
    copied().map_err(|source| OpenError::Io {
        path: to.to_owned(),
        action: "copy the keys".to_owned(),
        source,
    })
}
