//! A plan on the disk, all or nothing.
//!
//! First every new text is written beside its file; if that fails, those are removed and nothing has changed. Then a journal
//! names them, and only then files are renamed into place. Whoever finds a journal finishes what it says, so an interruption
//! leaves either everything as it was, or everything as it was meant.

use std::{
    fs, io,
    path::{Component, Path},
};

use serde::{Deserialize, Serialize};

use super::Plan;
use crate::Refusal;

/// The journal, in the project.
const JOURNAL: &str = ".kubewright-journal.json";

/// What is left to do.
#[derive(Debug, Serialize, Deserialize)]
struct Journal {
    /// Files to rename: from, to.
    renames: Vec<(String, String)>,
    /// Files to remove.
    removals: Vec<String>,
}

impl Plan {
    /// Carries the plan out. If it cannot be, nothing changes.
    pub fn write(&self) -> Result<(), Refusal> {
        self.check_unchanged()?;
        let mut staged = Journal {
            renames: Vec::new(),
            removals: Vec::new(),
        };
        if let Err(refusal) = self.stage(&mut staged) {
            for (from, _) in &staged.renames {
                _ = fs::remove_file(self.root.join(from));
            }
            self.remove_empty_directories();
            return Err(refusal);
        }
        finish(&self.root, &staged)?;
        self.remove_empty_directories();
        Ok(())
    }

    /// Files must still say what they said when the plan was made.
    fn check_unchanged(&self) -> Result<(), Refusal> {
        for change in &self.changes {
            let path = self.root.join(&change.path);
            let now = match fs::read_to_string(&path) {
                Ok(text) => Some(text),
                Err(e) if e.kind() == io::ErrorKind::NotFound => None,
                Err(e) => return Err(Refusal::io("read", &path, &e)),
            };
            if now != change.before {
                return Err(Refusal::new(
                    format_args!("{} has just been changed by somebody else", change.path),
                    "run the command again",
                ));
            }
        }
        Ok(())
    }

    fn stage(&self, staged: &mut Journal) -> Result<(), Refusal> {
        for change in &self.changes {
            let Some(text) = &change.after else {
                staged.removals.push(change.path.clone());
                continue;
            };
            let temporary = format!("{}.kubewright-new", change.path);
            let path = self.root.join(&temporary);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(|e| Refusal::io("create", parent, &e))?;
            }
            staged.renames.push((temporary, change.path.clone()));
            fs::write(&path, text).map_err(|e| Refusal::io("write", &path, &e))?;
        }
        let path = self.root.join(JOURNAL);
        let text = serde_json::to_string(staged).unwrap_or_default();
        let temporary = path.with_extension("tmp");
        let written = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, &path));
        written.map_err(|e| Refusal::io("write", &path, &e))
    }

    /// Removes directories that the plan has emptied, or made for nothing.
    fn remove_empty_directories(&self) {
        for change in &self.changes {
            let mut directory = Path::new(&change.path).parent();
            while let Some(path) = directory.filter(|path| path.components().next().is_some()) {
                if fs::remove_dir(self.root.join(path)).is_err() {
                    break;
                }
                directory = path.parent();
            }
        }
    }
}

/// Finishes what an interrupted command had begun to put into place. Says whether there was anything.
pub fn finish_interrupted(root: &Path) -> Result<bool, Refusal> {
    let path = root.join(JOURNAL);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(e) => return Err(Refusal::io("read", &path, &e)),
    };
    let journal: Journal = serde_json::from_str(&text).map_err(|e| {
        Refusal::new(
            format_args!("{} cannot be read: {e}", path.display()),
            "remove it if no command is running",
        )
    })?;
    let inside = |path: &String| {
        Path::new(path)
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
    };
    let mut paths = journal
        .renames
        .iter()
        .flat_map(|(from, to)| [from, to])
        .chain(&journal.removals);
    if !paths.all(inside) {
        return Err(Refusal::new(
            format_args!("{} names files outside the project", path.display()),
            "remove it",
        ));
    }
    finish(root, &journal)?;
    Ok(true)
}

/// Renames and removes; what is done already is passed over.
fn finish(root: &Path, journal: &Journal) -> Result<(), Refusal> {
    for (from, to) in &journal.renames {
        let (from, to) = (root.join(from), root.join(to));
        match fs::rename(&from, &to) {
            Err(e) if e.kind() == io::ErrorKind::NotFound && to.exists() => {}
            Err(e) => return Err(Refusal::io("write", &to, &e)),
            Ok(()) => {}
        }
    }
    for path in &journal.removals {
        let path = root.join(path);
        match fs::remove_file(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(Refusal::io("remove", &path, &e));
            }
            _ => {}
        }
    }
    let path = root.join(JOURNAL);
    match fs::remove_file(&path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Refusal::io("remove", &path, &e)),
        _ => Ok(()),
    }
}
