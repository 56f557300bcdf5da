//! [`Plan`]: the changes a command will make to files.
//!
//! A plan is built in memory. It can be shown as a diff, and it is written all or nothing. Users' code is never reformatted:
//! edits insert and remove whole lines.
//!
//! | module | contents |
//! |---|---|
//! | `diff` | a plan as a unified diff |
//! | `inside` | rejection of paths that lead out of the project |
//! | `write` | a plan on disk, with a journal against interruption |

mod diff;
mod inside;
mod write;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

pub use write::finish_interrupted;

use crate::Error;

/// The treatment of files that the user has edited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edits {
    /// An edited file is an error, and nothing changes.
    #[default]
    Keep,
    /// Edited files are overwritten or removed.
    Discard,
}

/// The changes a command will make to the files of a project.
///
/// ```
/// use kubewright_scaffold::Plan;
///
/// let directory = std::env::temp_dir().join(format!("kubewright-plan-{}", std::process::id()));
/// let mut plan = Plan::new(&directory);
/// plan.create("notes/today.txt", "wind from the west\n".into())?;
/// assert!(plan.diff().ends_with("+wind from the west\n"));
/// assert!(plan.create("../elsewhere.txt", "".into()).is_err());
///
/// plan.write()?;
/// assert!(directory.join("notes/today.txt").is_file());
/// # std::fs::remove_dir_all(&directory).unwrap();
/// # Ok::<(), kubewright_scaffold::Error>(())
/// ```
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
    ///
    /// # Errors
    ///
    /// Fails if the path leads out of the directory, or if the file cannot be read.
    pub fn read(&self, path: &str) -> Result<Option<String>, Error> {
        if let Some(change) = self.changes.iter().find(|change| change.path == path) {
            return Ok(change.after.clone());
        }
        inside::check(&self.root, path)?;
        let full = self.root.join(path);
        match fs::read_to_string(&full) {
            Ok(text) => Ok(Some(text)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(Error::io("read", &full, &e)),
        }
    }

    /// Adds a file.
    ///
    /// # Errors
    ///
    /// Fails if the file exists with another content, or if the path leads out of the directory.
    pub fn create(&mut self, path: &str, text: String) -> Result<(), Error> {
        match self.read(path)? {
            Some(there) if there != text => Err(Error::new(
                format_args!("{path} exists already"),
                "move it away, or replace it with --force",
            )),
            _ => self.set(path, Some(text)),
        }
    }

    /// Adds a file, and replaces an existing one if `force` is set.
    pub(crate) fn put(&mut self, path: &str, text: String, force: bool) -> Result<(), Error> {
        match force {
            true => self.set(path, Some(text)),
            false => self.create(path, text),
        }
    }

    /// Replaces the content of a file, or removes the file.
    ///
    /// # Errors
    ///
    /// Fails if the path leads out of the directory, or if the file cannot be read.
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
