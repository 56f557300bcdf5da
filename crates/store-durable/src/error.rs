//! Errors of opening a data directory.

use std::{io, path::PathBuf};

use kubewright_store::Revision;

/// A data directory could not be opened. Its contents were not changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process uses the directory.
    #[error("{} is in use by {holder}; stop that process, or choose another directory", .path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
        /// A description of the process, if known.
        holder: String,
    },
    /// The directory belongs to something else.
    #[error("{} is not a data directory of kubewright: it contains {found}; choose an empty or a new directory", .path.display())]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// The name of an unknown file.
        found: String,
    },
    /// The directory was written by a later version.
    #[error("{} has format {format}, and this program reads format 1; use the version of kubewright that wrote it", .path.display())]
    Newer {
        /// The directory.
        path: PathBuf,
        /// Its format.
        format: u32,
    },
    /// The directory belongs to another user.
    #[error("{} belongs to user {owner}, and this process runs as user {user}; run it as that user, or change the owner of the directory", .path.display())]
    Owner {
        /// The directory.
        path: PathBuf,
        /// Its owner.
        owner: u32,
        /// The user of this process.
        user: u32,
    },
    /// The directory is on a network file system, whose locks and syncs are unreliable.
    #[error("{} is on a network file system ({kind}), whose locks and syncs are unreliable; choose a local disk, or accept the risk with --data-dir-unsafe-fs", .path.display())]
    Network {
        /// The directory.
        path: PathBuf,
        /// The kind of the file system.
        kind: String,
    },
    /// The files are damaged, by more than a crash during the last write.
    #[error("{damage}; restore a backup with \"kubewright store restore\", or write what is readable to a new directory with \"kubewright store salvage {} --to NEW\"", .path.display())]
    Corrupt {
        /// The directory.
        path: PathBuf,
        /// The damage.
        damage: Damage,
    },
    /// The history does not contain a revision.
    #[error("{} has no state at revision {}; the newest is {}", .path.display(), .requested.0, .newest.0)]
    Revision {
        /// The directory.
        path: PathBuf,
        /// The requested revision.
        requested: Revision,
        /// The newest revision.
        newest: Revision,
    },
    /// The target directory is not empty.
    #[error("{} is not empty: it contains {found}; choose a new directory", .path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
        /// The name of a file in it.
        found: String,
    },
    /// An operation of the file system failed.
    #[error("cannot {action} in {}: {source}", .path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// The operation.
        action: String,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Damage to a file of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file, relative to the data directory.
    pub file: String,
    /// The offset in the file.
    pub offset: Option<u64>,
    /// A description of the damage.
    pub problem: String,
    /// The last revision before the damage.
    pub intact_up_to: Option<Revision>,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is damaged", self.file)?;
        if let Some(offset) = self.offset {
            write!(f, " at byte {offset}")?;
        }
        write!(f, ": {}", self.problem)?;
        match self.intact_up_to {
            Some(revision) => write!(f, "; writes after revision {} are affected", revision.0),
            None => Ok(()),
        }
    }
}

/// An error while reading the files.
#[derive(Debug)]
pub(crate) enum Trouble {
    Damage(Damage),
    /// A file of another program.
    Foreign(String),
    /// A later format.
    Newer(u32),
    Io {
        action: String,
        source: io::Error,
    },
}

impl Trouble {
    pub(crate) fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| Self::Io { action, source }
    }

    pub(crate) fn damage(
        file: impl Into<String>,
        offset: Option<u64>,
        problem: impl Into<String>,
        intact_up_to: Option<Revision>,
    ) -> Self {
        Self::Damage(Damage {
            file: file.into(),
            offset,
            problem: problem.into(),
            intact_up_to,
        })
    }

    /// Adds the path of the directory.
    pub(crate) fn at(self, path: PathBuf) -> OpenError {
        match self {
            Self::Damage(damage) => OpenError::Corrupt { path, damage },
            Self::Foreign(found) => OpenError::Foreign { path, found },
            Self::Newer(format) => OpenError::Newer { path, format },
            Self::Io { action, source } => OpenError::Io {
                path,
                action,
                source,
            },
        }
    }
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Damage(damage) => damage.fmt(f),
            Self::Foreign(found) => write!(f, "there is {found}, which is not a file of a store"),
            Self::Newer(format) => write!(f, "the store has format {format}"),
            Self::Io { action, source } => write!(f, "cannot {action}: {source}"),
        }
    }
}
