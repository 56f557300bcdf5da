//! [`Tree`]: directories, files and links.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;

use super::FileError;

/// The number of bytes that a tree holds.
const MOST_BYTES: usize = 64 << 20;

/// The number of entries that a tree holds.
const MOST_ENTRIES: usize = 1 << 16;

/// A tree of files. It is bounded in bytes and entries.
pub(crate) struct Tree {
    root: Entry,
    bytes: usize,
    entries: usize,
}

/// A directory, a file or a link.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) mode: u32,
    pub(crate) modified: Timestamp,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Directory(BTreeMap<String, Entry>),
    File(Arc<Vec<u8>>),
    Link(String),
}

impl Default for Tree {
    fn default() -> Self {
        Self {
            root: Entry::directory(Timestamp::UNIX_EPOCH),
            bytes: 0,
            entries: 0,
        }
    }
}

impl Entry {
    pub(crate) fn directory(now: Timestamp) -> Self {
        Self {
            mode: 0o755,
            modified: now,
            kind: Kind::Directory(BTreeMap::new()),
        }
    }

    pub(crate) fn file(bytes: Vec<u8>, mode: u32, now: Timestamp) -> Self {
        Self {
            mode,
            modified: now,
            kind: Kind::File(Arc::new(bytes)),
        }
    }

    pub(crate) fn link(target: &str, now: Timestamp) -> Self {
        Self {
            mode: 0o777,
            modified: now,
            kind: Kind::Link(target.to_owned()),
        }
    }

    pub(crate) fn is_directory(&self) -> bool {
        matches!(self.kind, Kind::Directory(_))
    }

    /// Returns the number of bytes of a file.
    pub(crate) fn size(&self) -> usize {
        match &self.kind {
            Kind::File(bytes) => bytes.len(),
            Kind::Link(target) => target.len(),
            Kind::Directory(_) => 4096,
        }
    }

    /// Returns the number of bytes and entries in this entry, itself included.
    fn weight(&self) -> (usize, usize) {
        match &self.kind {
            Kind::Directory(entries) => entries.values().fold((0, 1), |(bytes, count), entry| {
                let (more, others) = entry.weight();
                (bytes + more, count + others)
            }),
            Kind::File(bytes) => (bytes.len(), 1),
            Kind::Link(_) => (0, 1),
        }
    }
}

impl Tree {
    /// Returns an empty tree that is writable by all users.
    pub(crate) fn open_to_all() -> Self {
        let mut tree = Self::default();
        tree.root.mode = 0o777;
        tree
    }

    pub(crate) fn get(&self, path: &[String]) -> Result<&Entry, FileError> {
        let mut entry = &self.root;
        for name in path {
            let Kind::Directory(entries) = &entry.kind else {
                return Err(FileError::NotDirectory);
            };
            entry = entries.get(name).ok_or(FileError::NotFound)?;
        }
        Ok(entry)
    }

    pub(crate) fn get_mut(&mut self, path: &[String]) -> Result<&mut Entry, FileError> {
        let mut entry = &mut self.root;
        for name in path {
            let Kind::Directory(entries) = &mut entry.kind else {
                return Err(FileError::NotDirectory);
            };
            entry = entries.get_mut(name).ok_or(FileError::NotFound)?;
        }
        Ok(entry)
    }

    /// Returns the depth and the target of the first link on a path.
    pub(crate) fn first_link(&self, path: &[String], with_last: bool) -> Option<(usize, String)> {
        let mut entry = &self.root;
        for (depth, name) in path.iter().enumerate() {
            let Kind::Directory(entries) = &entry.kind else {
                return None;
            };
            entry = entries.get(name)?;
            if let Kind::Link(target) = &entry.kind
                && (with_last || depth + 1 < path.len())
            {
                return Some((depth, target.clone()));
            }
        }
        None
    }

    /// Creates a directory and its missing parents, with the mode of the root.
    pub(crate) fn create_alike(
        &mut self,
        path: &[String],
        now: Timestamp,
    ) -> Result<(), FileError> {
        let mode = self.root.mode;
        for depth in 1..=path.len() {
            let is_new = self.get(&path[..depth]).is_err();
            self.create_all(&path[..depth], now)?;
            if is_new {
                self.get_mut(&path[..depth])?.mode = mode;
            }
        }
        Ok(())
    }

    /// Creates a directory and its missing parents.
    pub(crate) fn create_all(&mut self, path: &[String], now: Timestamp) -> Result<(), FileError> {
        for depth in 1..=path.len() {
            match self.get(&path[..depth]) {
                Ok(entry) if entry.is_directory() => {}
                Ok(_) => return Err(FileError::Exists),
                Err(FileError::NotFound) => self.insert(&path[..depth], Entry::directory(now))?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Adds an entry. Fails if one exists at the path.
    pub(crate) fn insert(&mut self, path: &[String], entry: Entry) -> Result<(), FileError> {
        match self.get(path) {
            Ok(_) => Err(FileError::Exists),
            Err(FileError::NotFound) => self.put(path, entry),
            Err(error) => Err(error),
        }
    }

    /// Stores an entry, and replaces any other at its path. A directory does not replace a file, or a file a directory.
    pub(crate) fn put(&mut self, path: &[String], entry: Entry) -> Result<(), FileError> {
        let (name, parent) = path.split_last().ok_or(FileError::Exists)?;
        let before = self.get(path).map_or((0, 0), Entry::weight);
        let after = entry.weight();
        let bytes = self.bytes + after.0 - before.0.min(self.bytes + after.0);
        let entries = self.entries + after.1 - before.1.min(self.entries + after.1);
        if bytes > MOST_BYTES || entries > MOST_ENTRIES {
            return Err(FileError::NoSpace);
        }
        let modified = entry.modified;
        let parent = self.get_mut(parent)?;
        let Kind::Directory(siblings) = &mut parent.kind else {
            return Err(FileError::NotDirectory);
        };
        siblings.insert(name.clone(), entry);
        parent.modified = modified;
        (self.bytes, self.entries) = (bytes, entries);
        Ok(())
    }

    /// Appends to a file, or replaces its bytes.
    pub(crate) fn write(
        &mut self,
        path: &[String],
        bytes: &[u8],
        append: bool,
        now: Timestamp,
    ) -> Result<(), FileError> {
        let room = MOST_BYTES.saturating_sub(self.bytes);
        match self.get_mut(path) {
            Ok(entry) => match &mut entry.kind {
                Kind::File(old) => {
                    let before = if append { 0 } else { old.len() };
                    if bytes.len() > room + before {
                        return Err(FileError::NoSpace);
                    }
                    match append {
                        true => Arc::make_mut(old).extend_from_slice(bytes),
                        false => *old = Arc::new(bytes.to_vec()),
                    }
                    entry.modified = now;
                    self.bytes = self.bytes + bytes.len() - before;
                    Ok(())
                }
                Kind::Directory(_) => Err(FileError::IsDirectory),
                Kind::Link(_) => Err(FileError::NotFound),
            },
            Err(FileError::NotFound) => self.put(path, Entry::file(bytes.to_vec(), 0o644, now)),
            Err(error) => Err(error),
        }
    }

    /// Removes an entry recursively.
    pub(crate) fn remove(&mut self, path: &[String]) -> Result<Entry, FileError> {
        let (name, parent) = path.split_last().ok_or(FileError::Busy)?;
        let Kind::Directory(siblings) = &mut self.get_mut(parent)?.kind else {
            return Err(FileError::NotDirectory);
        };
        let removed = siblings.remove(name).ok_or(FileError::NotFound)?;
        let (bytes, entries) = removed.weight();
        self.bytes = self.bytes.saturating_sub(bytes);
        self.entries = self.entries.saturating_sub(entries);
        Ok(removed)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::absolute, *};

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    #[test]
    fn a_tree_is_bounded() {
        let mut tree = Tree::default();
        let path = |text: &str| absolute("/", text);
        let half = vec![0; MOST_BYTES / 2];
        tree.write(&path("a"), &half, false, NOW).unwrap();
        tree.write(&path("a"), &half, true, NOW).unwrap();
        assert_eq!(
            tree.write(&path("a"), b"x", true, NOW),
            Err(FileError::NoSpace)
        );
        assert_eq!(
            tree.write(&path("b"), b"x", false, NOW),
            Err(FileError::NoSpace)
        );
        tree.write(&path("a"), &half, false, NOW).unwrap();
        tree.write(&path("b"), b"x", false, NOW).unwrap();
        tree.remove(&path("a")).unwrap();
        assert_eq!((tree.bytes, tree.entries), (1, 1));
    }

    #[test]
    fn paths_below_files_are_errors() {
        let mut tree = Tree::default();
        let path = |text: &str| absolute("/", text);
        tree.write(&path("a"), b"x", false, NOW).unwrap();
        assert_eq!(
            tree.write(&path("a/b"), b"x", false, NOW),
            Err(FileError::NotDirectory)
        );
        assert_eq!(
            tree.write(&path("c/d"), b"x", false, NOW),
            Err(FileError::NotFound)
        );
        assert_eq!(tree.create_all(&path("a/b"), NOW), Err(FileError::Exists));
        tree.create_all(&path("c/d"), NOW).unwrap();
        assert_eq!(
            tree.write(&path("c/d"), b"x", false, NOW),
            Err(FileError::IsDirectory)
        );
    }
}
