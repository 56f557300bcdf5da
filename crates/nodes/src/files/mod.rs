//! [`Files`]: the files of a container, in memory.

mod archive;
mod error;
mod path;
mod tree;

use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;

pub(crate) use archive::{pack, unpack};
pub(crate) use error::FileError;
pub(crate) use path::{absolute, join};
pub(crate) use tree::{Entry, Kind, Tree};

/// The number of links that are followed.
const MOST_LINKS: usize = 16;

/// A volume, which containers of a pod may share.
pub(crate) type Volume = Arc<Mutex<Tree>>;

/// The files that a container sees: its own, and those of its volumes. Clones share them.
#[derive(Clone)]
pub(crate) struct Files {
    /// The file system of the container itself comes first.
    mounts: Arc<Vec<Mount>>,
}

/// A volume and its mount point.
pub(crate) struct Mount {
    at: Vec<String>,
    volume: Volume,
    /// The part of the volume that is mounted.
    below: Vec<String>,
    is_read_only: bool,
}

impl Mount {
    pub(crate) fn new(at: &str, volume: Volume, below: &str, is_read_only: bool) -> Self {
        Self {
            at: absolute("/", at),
            volume,
            below: absolute("/", below),
            is_read_only,
        }
    }
}

/// A path within a volume.
struct Place<'a> {
    mount: &'a Mount,
    path: Vec<String>,
}

impl Files {
    /// Returns the files of a container, which may be read-only, with these volumes. Missing mount points are created.
    pub(crate) fn new(
        (own, is_read_only): (Tree, bool),
        mounts: Vec<Mount>,
        now: Timestamp,
    ) -> Self {
        let mut own = own;
        for mount in &mounts {
            // A file at the mount point stays, and hides the volume.
            let _ = own.create_all(&mount.at, now);
            let _ = mount.volume.lock().create_alike(&mount.below, now);
        }
        let own = Mount::new("/", Arc::new(Mutex::new(own)), "", is_read_only);
        let mounts = std::iter::once(own).chain(mounts).collect();
        Self {
            mounts: Arc::new(mounts),
        }
    }

    /// Returns the entry at a path. Links are followed.
    pub(crate) fn entry(&self, path: &[String]) -> Result<Entry, FileError> {
        let place = self.resolve(path, true)?;
        place.mount.volume.lock().get(&place.path).cloned()
    }

    /// Returns the entry at a path. A link at its end is not followed.
    pub(crate) fn own_entry(&self, path: &[String]) -> Result<Entry, FileError> {
        let place = self.resolve(path, false)?;
        place.mount.volume.lock().get(&place.path).cloned()
    }

    /// Returns the bytes of a file.
    pub(crate) fn read(&self, path: &[String]) -> Result<Arc<Vec<u8>>, FileError> {
        match self.entry(path)?.kind {
            Kind::File(bytes) => Ok(bytes),
            Kind::Directory(_) => Err(FileError::IsDirectory),
            Kind::Link(_) => Err(FileError::NotFound),
        }
    }

    /// Returns the names in a directory.
    pub(crate) fn list(&self, path: &[String]) -> Result<Vec<String>, FileError> {
        match self.entry(path)?.kind {
            Kind::Directory(entries) => Ok(entries.into_keys().collect()),
            _ => Err(FileError::NotDirectory),
        }
    }

    /// Appends to a file, or replaces it.
    pub(crate) fn write(
        &self,
        path: &[String],
        bytes: &[u8],
        append: bool,
        now: Timestamp,
    ) -> Result<(), FileError> {
        self.change(path, |tree, path| tree.write(path, bytes, append, now))
    }

    pub(crate) fn create_directory(
        &self,
        path: &[String],
        parents: bool,
        now: Timestamp,
    ) -> Result<(), FileError> {
        self.change(path, |tree, path| match parents {
            true => tree.create_all(path, now),
            false => tree.insert(path, Entry::directory(now)),
        })
    }

    /// Stores an entry, and replaces any other at its path.
    pub(crate) fn put(&self, path: &[String], entry: Entry) -> Result<(), FileError> {
        let place = self.resolve(path, false)?;
        place.change(|tree, path| tree.put(path, entry))
    }

    /// Removes an entry recursively.
    pub(crate) fn remove(&self, path: &[String]) -> Result<(), FileError> {
        if self.mounts.iter().any(|mount| mount.at == path) {
            return Err(FileError::Busy);
        }
        let place = self.resolve(path, false)?;
        place.change(|tree, path| tree.remove(path).map(drop))
    }

    /// Changes the mode of an entry.
    pub(crate) fn set_mode(&self, path: &[String], mode: u32) -> Result<(), FileError> {
        self.change(path, |tree, path| {
            tree.get_mut(path).map(|entry| entry.mode = mode)
        })
    }

    fn change(
        &self,
        path: &[String],
        change: impl FnOnce(&mut Tree, &[String]) -> Result<(), FileError>,
    ) -> Result<(), FileError> {
        self.resolve(path, true)?.change(change)
    }

    /// Resolves a path, whether an entry exists there or not.
    fn resolve(&self, path: &[String], follow: bool) -> Result<Place<'_>, FileError> {
        let mut path = path.to_vec();
        for _ in 0..MOST_LINKS {
            let mount = self.mount(&path);
            let mut inner = mount.below.clone();
            inner.extend_from_slice(&path[mount.at.len()..]);
            let link = mount.volume.lock().first_link(&inner, follow);
            let Some((depth, target)) = link else {
                return Ok(Place { mount, path: inner });
            };
            // The path of the link, as the container sees it.
            let at = depth + mount.at.len() - mount.below.len();
            let parent = format!("/{}", path[..at].join("/"));
            let mut next = absolute(&parent, &target);
            next.extend_from_slice(&path[at + 1..]);
            path = next;
        }
        Err(FileError::TooManyLinks)
    }

    /// Returns the innermost mount of a path.
    fn mount(&self, path: &[String]) -> &Mount {
        let covering = self
            .mounts
            .iter()
            .filter(|mount| path.starts_with(&mount.at));
        covering
            .max_by_key(|mount| mount.at.len())
            .unwrap_or(&self.mounts[0])
    }
}

impl Place<'_> {
    fn change(
        &self,
        change: impl FnOnce(&mut Tree, &[String]) -> Result<(), FileError>,
    ) -> Result<(), FileError> {
        if self.mount.is_read_only {
            return Err(FileError::ReadOnly);
        }
        change(&mut self.mount.volume.lock(), &self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn path(text: &str) -> Vec<String> {
        absolute("/", text)
    }

    fn files() -> Files {
        let data = Volume::default();
        let shown = Volume::default();
        shown.lock().create_all(&path("/sub"), NOW).unwrap();
        shown
            .lock()
            .write(&path("/sub/key"), b"value", false, NOW)
            .unwrap();
        let mounts = vec![
            Mount::new("/data", data, "", false),
            Mount::new("/etc/config", shown, "sub", true),
        ];
        Files::new((Tree::default(), false), mounts, NOW)
    }

    #[test]
    fn volumes_appear_at_their_mount_points() {
        let files = files();
        assert_eq!(files.list(&path("/")).unwrap(), ["data", "etc"]);
        assert_eq!(*files.read(&path("/etc/config/key")).unwrap(), b"value");
        files.write(&path("/data/a"), b"1", false, NOW).unwrap();
        files.write(&path("/data/a"), b"2", true, NOW).unwrap();
        assert_eq!(*files.read(&path("/data/a")).unwrap(), b"12");
        let refused = files.write(&path("/etc/config/key"), b"", false, NOW);
        assert_eq!(refused, Err(FileError::ReadOnly));
        assert_eq!(files.remove(&path("/data")), Err(FileError::Busy));
    }

    #[test]
    fn links_cross_volumes_and_loops_are_errors() {
        let files = files();
        let link = |at: &str, to: &str| files.put(&path(at), Entry::link(to, NOW)).unwrap();
        link("/config", "etc/config");
        link("/data/up", "../etc");
        assert_eq!(*files.read(&path("/config/key")).unwrap(), b"value");
        assert_eq!(*files.read(&path("/data/up/config/key")).unwrap(), b"value");
        link("/a", "b");
        link("/b", "/a");
        assert_eq!(files.read(&path("/a")), Err(FileError::TooManyLinks));
        assert!(matches!(
            files.own_entry(&path("/a")).unwrap().kind,
            Kind::Link(_)
        ));
        files.remove(&path("/a")).unwrap();
        assert_eq!(files.read(&path("/b")), Err(FileError::NotFound));
    }
}
