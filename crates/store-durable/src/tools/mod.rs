//! Tools that read and repair data directories while no server uses them, or copies of them.
//!
//! | file | contents |
//! |---|---|
//! | `verify` | verification of every file |
//! | `changes` | the changes in the log |
//! | `backup` | copies, even of a directory in use |
//! | `rebuild` | new directories: restored, salvaged, imported |

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use kubewright_store::{MemoryStore, Revision};

use crate::{
    OpenError, checkpoint,
    clock::{Clock, Wall},
    disk::{Disk, How, RealDisk},
    engine::read_identity,
    error::Trouble,
    format::{checkpoint as format, identity::hex},
    lock::DirectoryLock,
    log::list_segments,
    recovery::{Recovery, unlimited},
};

mod backup;
mod changes;
mod rebuild;
mod verify;

pub use backup::backup;
pub use changes::{ChangeRecord, RecordKind};
pub use rebuild::{Rebuilt, import, restore, salvage};
pub use verify::Verified;

/// The number of attempts to read a directory in use.
const ATTEMPTS: u32 = 5;

/// A data directory, or a copy of one, opened for reading.
///
/// ```
/// use kubewright_store::{Key, Payload, Store};
/// use kubewright_store_durable::{DurableStore, Options, tools::DataFiles};
///
/// # let directory = std::env::temp_dir().join(format!("kubewright-data-files-{}", std::process::id()));
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let store = DurableStore::open(&directory, Options::default())?;
/// store.create(Key::new("pods", "default/web"), Payload::plain("{}")).await?;
/// store.close();
///
/// let files = DataFiles::open(&directory)?;
/// assert_eq!(files.status()?.objects, 1);
/// assert!(files.verify()?.problems.is_empty());
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// # std::fs::remove_dir_all(&directory).unwrap();
/// ```
pub struct DataFiles {
    path: PathBuf,
    disk: Arc<dyn Disk>,
    id: [u8; 16],
}

/// The status of a data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// The id of the store.
    pub store_id: String,
    /// The newest revision.
    pub revision: Revision,
    /// The oldest readable revision.
    pub oldest: Revision,
    /// The number of objects.
    pub objects: u64,
    /// The revisions of the checkpoints, newest first.
    pub checkpoints: Vec<Revision>,
    /// The time of the newest checkpoint.
    pub checkpointed: Option<SystemTime>,
    /// The size of the checkpoints in bytes.
    pub checkpoint_bytes: u64,
    /// The number of segments of the log.
    pub segments: u64,
    /// The size of the log in bytes.
    pub log_bytes: u64,
    /// The free space of the disk in bytes, if it is known.
    pub free_bytes: Option<u64>,
    /// The process that uses the directory.
    pub holder: Option<String>,
    /// Warnings for the administrator.
    pub warnings: Vec<String>,
}

impl DataFiles {
    /// Opens a directory that no process uses.
    ///
    /// # Errors
    ///
    /// Fails if a process uses it, or if it is not a data directory.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        DirectoryLock::check_free(path.as_ref())?;
        Self::of(path.as_ref())
    }

    /// Returns the status of a directory, which a process may be using. Changes nothing.
    ///
    /// # Errors
    ///
    /// Fails if it is not a data directory, or if its files are damaged.
    pub fn status_of(path: impl AsRef<Path>) -> Result<Status, OpenError> {
        let mut attempts = 0;
        loop {
            let holder = match DirectoryLock::check_free(path.as_ref()) {
                Ok(()) => None,
                Err(OpenError::Locked { holder, .. }) => Some(holder),
                Err(error) => return Err(error),
            };
            attempts += 1;
            match Self::of(path.as_ref())?.status() {
                Ok(status) => return Ok(Status { holder, ..status }),
                // The process may have removed a file since it was listed, or written while it was read.
                Err(_) if holder.is_some() && attempts < ATTEMPTS => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Opens a directory that may be in use.
    pub(crate) fn of(path: &Path) -> Result<Self, OpenError> {
        let disk = RealDisk::new(path);
        let identity = read_identity(&disk).map_err(|trouble| trouble.at(path.to_owned()))?;
        let Some(identity) = identity else {
            return Err(OpenError::Foreign {
                path: path.to_owned(),
                found: "no file STORE".to_owned(),
            });
        };
        Ok(Self {
            path: path.to_owned(),
            disk: Arc::new(disk),
            id: identity.id,
        })
    }

    /// Returns the status of the directory.
    ///
    /// # Errors
    ///
    /// Fails if its files are damaged.
    pub fn status(&self) -> Result<Status, OpenError> {
        let recovered = self.recover(Revision(u64::MAX))?;
        let contents = recovered.store.contents();
        let trouble = |trouble: Trouble| trouble.at(self.path.clone());
        let checkpoints = checkpoint::list(&*self.disk).map_err(trouble)?;
        let segments = list_segments(&*self.disk).map_err(trouble)?;
        let newest = checkpoints.first().and_then(|revision| {
            let name = format::path(*revision);
            checkpoint::read_header(&*self.disk, &name, &self.id).ok()
        });
        let sizes = |names: Vec<String>| names.iter().map(|name| self.len(name)).sum();
        Ok(Status {
            store_id: hex(&self.id),
            revision: contents.revision(),
            oldest: contents.floor(),
            objects: contents.len(),
            checkpointed: newest.map(|header| time(header.time)),
            checkpoint_bytes: sizes(checkpoints.iter().map(|r| format::path(*r)).collect()),
            checkpoints,
            segments: segments.len() as u64,
            log_bytes: sizes(segments.iter().map(|name| name.path()).collect()),
            free_bytes: self.disk.free_space(),
            holder: None,
            warnings: recovered.warnings,
        })
    }

    /// Returns the state at a revision (default: the newest), as a store in memory with the available history.
    ///
    /// # Errors
    ///
    /// Fails if the files are damaged, or if the history does not contain the revision.
    pub fn at(&self, revision: Option<Revision>) -> Result<MemoryStore, OpenError> {
        let until = revision.unwrap_or(Revision(u64::MAX));
        let recovered = self.recover(until)?;
        let current = recovered.store.contents().revision();
        match revision {
            Some(revision) if revision != current => Err(OpenError::Revision {
                path: self.path.clone(),
                requested: revision,
                newest: current,
            }),
            _ => Ok(recovered.store),
        }
    }

    fn recover(&self, until: Revision) -> Result<crate::recovery::Recovered, OpenError> {
        let limits = unlimited();
        let recovery = Recovery {
            disk: &*self.disk,
            store: self.id,
            limits: &limits,
            until,
        };
        let mut wall = Wall::new(Clock::default());
        let recovered = recovery.run(&mut wall);
        recovered.map_err(|trouble| trouble.at(self.path.clone()))
    }

    fn len(&self, name: &str) -> u64 {
        let file = self.disk.open(name, How::Read).ok();
        file.and_then(|file| file.len().ok()).unwrap_or(0)
    }
}

/// Converts a time in milliseconds.
fn time(millis: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(millis)
}
