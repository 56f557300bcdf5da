//! [`Plan`]: what a command will do to files, before it does.
//!
//! A plan is made in memory from what is there. It can be shown as a diff; it is written all or nothing. Text of users is
//! never printed anew: edits insert and remove whole lines.
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

/// What a command will do to the files of a project.
#[derive(Clone, Debug)]
pub struct Plan {
    root: PathBuf,
    changes: Vec<Change>,
    pastes: Vec<Paste>,
}

/// What happens to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The file, within the project.
    pub path: String,
    /// What it says now. `None`: there is none.
    pub before: Option<String>,
    /// What it will say. `None`: it goes.
    pub after: Option<String>,
}

/// Something that only the user can do, because the place for it is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paste {
    /// The file.
    pub path: String,
    /// Where in it, in words.
    pub place: String,
    /// The lines.
    pub lines: Vec<String>,
}

impl Plan {
    /// A plan for a directory, which does nothing yet.
    pub fn new(root: impl Into<PathBuf>) -> Plan {
        Plan {
            root: root.into(),
            changes: Vec::new(),
            pastes: Vec::new(),
        }
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What happens, file by file, sorted.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// What is left to the user.
    pub fn pastes(&self) -> &[Paste] {
        &self.pastes
    }

    /// What a file says if the plan is carried out. `None`: there is none.
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

    /// Writes a file that must not be there, unless `force` allows to replace it.
    pub fn create(&mut self, path: &str, text: String, force: bool) -> Result<(), Error> {
        match self.read(path)? {
            Some(there) if there != text && !force => Err(Error::new(
                format_args!("{path} exists already"),
                "move it away, or replace it with --force",
            )),
            _ => self.set(path, Some(text)),
        }
    }

    /// Gives a file another text, or removes it.
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

    /// Leaves something to the user.
    pub fn leave_to_user(&mut self, path: &str, place: &str, lines: Vec<String>) {
        self.pastes.push(Paste {
            path: path.to_owned(),
            place: place.to_owned(),
            lines,
        });
    }
}
