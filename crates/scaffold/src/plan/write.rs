//! Writes a plan to disk, all or nothing.
//!
//! A journal records the planned writes. Then every new content is written to a temporary file next to its target; if
//! that fails, the temporary files are removed and nothing has changed. Then the journal records that they are complete, and
//! only then are files renamed. A command that finds a journal rolls it back or completes it, so an interruption leaves either
//! the old or the new state. The directory is locked meanwhile, where the file system supports it.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
};

use serde::{Deserialize, Serialize};

use super::{Change, Plan, inside};
use crate::Error;

/// The name of the journal in the project.
const JOURNAL: &str = ".kubewright-journal.json";

/// The steps that are left.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Journal {
    /// Set if temporary files are still being written and nothing has been renamed.
    #[serde(default)]
    unfinished: bool,
    /// The files to rename, from and to.
    renames: Vec<(String, String)>,
    /// The files to remove.
    removals: Vec<String>,
}

impl Plan {
    /// Writes the plan.
    ///
    /// # Errors
    ///
    /// Fails if a file was changed since the plan was made or cannot be written. Nothing has changed then.
    pub fn write(&self) -> Result<(), Error> {
        if self.changes.is_empty() {
            return Ok(());
        }
        let _lock = lock(&self.root);
        self.check_unchanged()?;
        let mut journal = self.journal();
        if let Err(error) = self.stage(&mut journal) {
            take_back(&self.root, &journal);
            return Err(error);
        }
        finish(&self.root, &journal)
    }

    fn journal(&self) -> Journal {
        let mut journal = Journal {
            unfinished: true,
            ..Journal::default()
        };
        for Change { path, after, .. } in &self.changes {
            match after {
                Some(_) => {
                    let temporary = format!("{path}.kubewright-new");
                    journal.renames.push((temporary, path.clone()));
                }
                None => journal.removals.push(path.clone()),
            }
        }
        journal
    }

    /// Checks that the files are unchanged since the plan was made.
    fn check_unchanged(&self) -> Result<(), Error> {
        for change in &self.changes {
            let path = self.root.join(&change.path);
            let now = match fs::read_to_string(&path) {
                Ok(text) => Some(text),
                Err(e) if e.kind() == io::ErrorKind::NotFound => None,
                Err(e) => return Err(Error::io("read", &path, &e)),
            };
            if now != change.before {
                return Err(Error::new(
                    format_args!("{} has just been changed by another program", change.path),
                    "run the command again",
                ));
            }
        }
        Ok(())
    }

    fn stage(&self, journal: &mut Journal) -> Result<(), Error> {
        if !self.root.exists() {
            // The journal needs the directory.
            fs::create_dir_all(&self.root).map_err(|e| Error::io("create", &self.root, &e))?;
        }
        journal.write(&self.root)?;
        let texts = self.changes.iter().filter_map(|it| it.after.as_ref());
        for ((temporary, _), text) in journal.renames.iter().zip(texts) {
            let path = self.root.join(temporary);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(|e| Error::io("create", parent, &e))?;
            }
            write_new(&path, text).map_err(|e| Error::io("write", &path, &e))?;
        }
        journal.unfinished = false;
        journal.write(&self.root)
    }
}

impl Journal {
    fn write(&self, root: &Path) -> Result<(), Error> {
        let path = root.join(JOURNAL);
        let text = serde_json::to_string(self).unwrap_or_default();
        let temporary = path.with_extension("tmp");
        let written = write_new(&temporary, &text).and_then(|()| fs::rename(&temporary, &path));
        written.map_err(|e| Error::io("write", &path, &e))
    }

    /// Removes directories that are empty now.
    fn remove_empty_directories(&self, root: &Path) {
        let renamed = self.renames.iter().map(|(_, to)| to);
        for path in renamed.chain(&self.removals) {
            let mut directory = Path::new(path).parent();
            while let Some(path) = directory.filter(|path| path.components().next().is_some()) {
                if fs::remove_dir(root.join(path)).is_err() {
                    break;
                }
                directory = path.parent();
            }
        }
    }
}

/// Holds a lock on the directory until dropped; without effect where directories cannot be locked.
fn lock(root: &Path) -> Option<File> {
    let directory = File::open(root).ok()?;
    directory.lock().ok()?;
    Some(directory)
}

/// Writes a file that does not exist yet. A leftover or a link of that name is removed, never written through.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    File::create_new(path)?.write_all(text.as_bytes())
}

/// Removes temporary files.
fn take_back(root: &Path, journal: &Journal) {
    for (temporary, _) in &journal.renames {
        // The file may not have been written yet.
        _ = fs::remove_file(root.join(temporary));
    }
    journal.remove_empty_directories(root);
    _ = fs::remove_file(root.join(JOURNAL));
}

/// Completes or rolls back the writes of an interrupted command. Returns whether there were any.
///
/// ```
/// let project = std::env::temp_dir();
/// // No command was interrupted there.
/// assert_eq!(kubewright_scaffold::finish_interrupted(&project).ok(), Some(false));
/// ```
///
/// # Errors
///
/// Fails if the journal of that command is not valid, or if a file cannot be written.
pub fn finish_interrupted(root: &Path) -> Result<bool, Error> {
    let path = root.join(JOURNAL);
    let half = path.with_extension("tmp");
    if !path.exists() && !half.exists() {
        return Ok(false);
    }
    // A command that is writing right now is waited for.
    let _lock = lock(root);
    // A journal that is incomplete means that nothing was written.
    _ = fs::remove_file(half);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(e) => return Err(Error::io("read", &path, &e)),
    };
    let journal: Journal = serde_json::from_str(&text).map_err(|e| {
        Error::new(
            format_args!("{} cannot be read: {e}", path.display()),
            "remove it if no command is running",
        )
    })?;
    let mut paths = journal
        .renames
        .iter()
        .flat_map(|(from, to)| [from, to])
        .chain(&journal.removals);
    if !paths.all(|path| inside::check(root, path).is_ok()) {
        return Err(Error::new(
            format_args!("{} names files outside the project", path.display()),
            "remove it",
        ));
    }
    match journal.unfinished {
        true => take_back(root, &journal),
        false => finish(root, &journal)?,
    }
    Ok(true)
}

/// Renames and removes files; steps that are done already are skipped.
fn finish(root: &Path, journal: &Journal) -> Result<(), Error> {
    for (from, to) in &journal.renames {
        let (from, to) = (root.join(from), root.join(to));
        match fs::rename(&from, &to) {
            Err(e) if e.kind() == io::ErrorKind::NotFound && to.exists() => {}
            Err(e) => return Err(Error::io("write", &to, &e)),
            Ok(()) => {}
        }
    }
    for path in &journal.removals {
        let path = root.join(path);
        match fs::remove_file(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(Error::io("remove", &path, &e));
            }
            _ => {}
        }
    }
    journal.remove_empty_directories(root);
    let path = root.join(JOURNAL);
    match fs::remove_file(&path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", &path, &e)),
        _ => Ok(()),
    }
}
