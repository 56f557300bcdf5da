//! [`Plan`]: the changes a command will make to files.
//!
//! A plan is built in memory. It can be shown as a diff, and it is written all or nothing. Users' code is never reformatted:
//! edits insert and remove whole lines.
//!
//! | module | what it holds |
//! |---|---|
//! | `diff` | a plan as a unified diff |
//! | `write` | a plan on the disk, with a journal against interruption |

mod diff;
mod write;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

pub use write::finish_interrupted;

use crate::Error;

/// The changes a command will make to the files of a project.
#[derive(Clone, Debug)]
pub struct Plan {
    root: PathBuf,
    changes: Vec<Change>,
    pastes: Vec<Paste>,
}

/// The change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The path within the project.
    pub path: String,
    /// The current content, or `None` if the file does not exist.
    pub before: Option<String>,
    /// The new content, or `None` if the file is removed.
    pub after: Option<String>,
}

/// An edit left to the user, because its position in the file could not be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paste {
    /// The path of the file.
    pub path: String,
    /// A description of the position in the file.
    pub place: String,
    /// The lines to add.
    pub lines: Vec<String>,
}

impl Plan {
    /// Creates an empty plan for a directory.
    pub fn new(root: impl Into<PathBuf>) -> Plan {
        Plan {
            root: root.into(),
            changes: Vec::new(),
            pastes: Vec::new(),
        }
    }

    /// Returns the directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the changes, sorted by path.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Returns the edits left to the user.
    pub fn pastes(&self) -> &[Paste] {
        &self.pastes
    }

    /// Returns the content that a file will have, or `None` if it will not exist.
    pub fn read(&self, path: &str) -> Result<Option<String>, Error> {
        if let Some(change) = self.changes.iter().find(|change| change.path == path) {
            return Ok(change.after.clone());
        }
        let full = self.root.join(path);
        match fs::read_to_string(&full) {
            Ok(text) => Ok(Some(text)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(Error::io("read", &full, &e)),
        }
    }

    /// Adds a file. Fails if it exists, unless `force` is set.
    pub fn create(&mut self, path: &str, text: String, force: bool) -> Result<(), Error> {
        match self.read(path)? {
            Some(there) if there != text && !force => Err(Error::new(
                format_args!("{path} exists already"),
                "move it away, or replace it with --force",
            )),
            _ => self.set(path, Some(text)),
        }
    }

    /// Replaces the content of a file, or removes the file.
    pub fn set(&mut self, path: &str, after: Option<String>) -> Result<(), Error> {
        let current = self.read(path)?;
        if let Some(change) = self.changes.iter_mut().find(|change| change.path == path) {
            change.after = after;
        } else {
            self.changes.push(Change {
                path: path.to_owned(),
                before: current,
                after,
            });
        }
        self.changes.retain(|change| change.before != change.after);
        self.changes.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(())
    }

    /// Adds an edit left to the user.
    pub fn leave_to_user(&mut self, path: &str, place: &str, lines: Vec<String>) {
        self.pastes.push(Paste {
            path: path.to_owned(),
            place: place.to_owned(),
            lines,
        });
    }
}
