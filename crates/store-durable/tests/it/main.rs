//! The durable store on a real disk.

mod bad_directories;
mod formats;
mod threads;
mod tools;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use kubewright_store::{Key, Payload};

/// A directory that is removed when dropped.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("durable-{}-{number}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns the key of a pod.
pub(crate) fn key(path: &str) -> Key {
    Key::new("pods", path)
}

/// Returns an object with a text, and the offset for its revision.
pub(crate) fn object(says: &str) -> Payload {
    Payload {
        revision_at: Some(7),
        ..Payload::plain(format!(r#"{{"rv":"","says":"{says}"}}"#))
    }
}
