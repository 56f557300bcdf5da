//! Changes of a project's files, detected by polling modification times and sizes.
//!
//! A project has a few dozen files. Polling them costs less than a tenth of a millisecond, works on every file system,
//! and notices editors that save by renaming.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// The polling interval.
const EVERY: Duration = Duration::from_millis(100);

/// The time that files must stay unchanged, since editors write in several steps.
const SETTLED: Duration = Duration::from_millis(30);

/// The maximum depth of directories and number of files.
const DEEPEST: usize = 32;
const MOST: usize = 20_000;

/// A snapshot of a project's files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Files(BTreeMap<PathBuf, (SystemTime, u64)>);

/// A set of changed files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Changes {
    /// Paths relative to the project.
    pub(super) paths: Vec<PathBuf>,
    /// The time of the last change.
    pub(super) saved: SystemTime,
}

impl Files {
    /// Takes a snapshot.
    pub(super) fn of(root: &Path) -> Self {
        let mut files = Self::default();
        for name in ["src", "config/samples"] {
            files.add(root, &root.join(name), 0);
        }
        for name in ["Cargo.toml", "build.rs"] {
            files.file(root, &root.join(name));
        }
        files
    }

    fn add(&mut self, root: &Path, directory: &Path, depth: usize) {
        let Ok(entries) = fs::read_dir(directory) else {
            return;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < DEEPEST => self.add(root, &path, depth + 1),
                Ok(kind) if kind.is_dir() => {}
                _ => self.file(root, &path),
            }
        }
    }

    fn file(&mut self, root: &Path, path: &Path) {
        let name = path.file_name().and_then(|name| name.to_str());
        // Editors create such files while they work.
        let passing = name.is_none_or(|name| {
            name.starts_with('.') || name.ends_with('~') || name.ends_with(".kubewright-new")
        });
        if passing || self.0.len() >= MOST {
            return;
        }
        if let Ok(data) = fs::metadata(path) {
            let time = data.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let path = path.strip_prefix(root).unwrap_or(path);
            self.0.insert(path.to_owned(), (time, data.len()));
        }
    }

    /// Waits until the files differ from the snapshot and have been stable for a moment, then updates the snapshot.
    pub(super) async fn changed(&mut self, root: &Path) -> Changes {
        loop {
            let mut now = Self::of(root);
            if now != *self {
                loop {
                    tokio::time::sleep(SETTLED).await;
                    let again = Self::of(root);
                    if again == now {
                        break;
                    }
                    now = again;
                }
                let changes = self.against(&now);
                *self = now;
                if !changes.paths.is_empty() {
                    return changes;
                }
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    fn against(&self, now: &Self) -> Changes {
        let mut paths = Vec::new();
        let mut saved = None;
        for (path, state) in &now.0 {
            if self.0.get(path) != Some(state) {
                paths.push(path.clone());
                saved = saved.max(Some(state.0));
            }
        }
        let gone = self.0.keys().filter(|path| !now.0.contains_key(*path));
        paths.extend(gone.cloned());
        Changes {
            paths,
            saved: saved.unwrap_or_else(SystemTime::now),
        }
    }
}

impl Changes {
    /// Returns whether the operator must be rebuilt.
    pub(super) fn code(&self) -> bool {
        self.paths.iter().any(|path| !path.starts_with("config"))
    }

    /// Returns whether the samples must be applied again.
    pub(super) fn samples(&self) -> bool {
        self.paths.iter().any(|path| path.starts_with("config"))
    }

    /// Formats the files: `src/lib.rs`, or `src/lib.rs and 2 more`.
    pub(super) fn words(&self) -> String {
        let first = self.paths.first().map(|path| path.display().to_string());
        let first = first.unwrap_or_default();
        match self.paths.len() {
            0 | 1 => first,
            more => format!("{first} and {} more", more - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_saved_file_is_a_change_and_an_editors_file_is_none() {
        let root = std::env::temp_dir().join(format!("kubewright-files-{}", std::process::id()));
        fs::create_dir_all(root.join("src/api")).unwrap();
        fs::create_dir_all(root.join("config/samples")).unwrap();
        fs::write(root.join("src/api/mod.rs"), "a").unwrap();
        let mut files = Files::of(&root);
        fs::write(root.join("src/.mod.rs.swp"), "x").unwrap();
        assert_eq!(Files::of(&root), files);
        fs::write(root.join("src/api/mod.rs"), "ab").unwrap();
        let changes = files.changed(&root).await;
        assert_eq!(changes.paths, [PathBuf::from("src/api/mod.rs")]);
        assert!(changes.code() && !changes.samples());
        fs::write(root.join("config/samples/a.yaml"), "").unwrap();
        fs::remove_file(root.join("src/api/mod.rs")).unwrap();
        let changes = files.changed(&root).await;
        assert!(changes.code() && changes.samples());
        assert_eq!(changes.words(), "config/samples/a.yaml and 1 more");
        fs::remove_dir_all(&root).unwrap();
    }
}
