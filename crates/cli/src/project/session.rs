//! The session file of a running `kubewright dev`, by which other commands find its cluster and operator.
//!
//! The session holds a file lock, so a session file without a lock is stale.

use std::{
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
};

use kubewright_cluster::write_secret_file;
use kubewright_scaffold::{Error, Project};
use serde::{Deserialize, Serialize};

use crate::{cluster::Cluster, project::here};

/// A running `kubewright dev`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Session {
    /// The kubeconfig of its cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context in the kubeconfig.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) context: Option<String>,
    /// The address of the operator's endpoints, such as `127.0.0.1:41234`.
    pub(crate) operator: String,
    /// The URL of its console, with the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) console: Option<String>,
}

/// Marks a running `kubewright dev` in a project until it is dropped.
pub(crate) struct SessionLock {
    root: PathBuf,
    _lock: File,
}

impl SessionLock {
    /// Locks the project, unless another `kubewright dev` runs in it.
    pub(crate) fn acquire(root: &Path) -> Result<Self, Error> {
        let directory = Session::directory(root);
        fs::create_dir_all(&directory).map_err(|e| Error::io("make", &directory, &e))?;
        let path = Session::lock(root);
        // The file is only locked. Whatever it leads to keeps its content.
        let mut options = File::options();
        let lock = options.create(true).write(true).truncate(false).open(&path);
        let lock = lock.map_err(|e| Error::io("write", &path, &e))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self {
                root: root.to_owned(),
                _lock: lock,
            }),
            Err(TryLockError::WouldBlock) => Err(Error::new(
                "`kubewright dev` is already running in this project",
                "stop it first, or use the running one",
            )),
            Err(TryLockError::Error(error)) => Err(Error::io("lock", &path, &error)),
        }
    }
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        // It may not exist.
        let _ = fs::remove_file(Session::path(&self.root));
    }
}

impl Session {
    /// Returns the directory for files of a project that do not belong in a repository.
    pub(crate) fn directory(root: &Path) -> PathBuf {
        root.join("target").join("kubewright")
    }

    fn path(root: &Path) -> PathBuf {
        Self::directory(root).join("dev.json")
    }

    fn lock(root: &Path) -> PathBuf {
        Self::directory(root).join("dev.lock")
    }

    /// Writes the session file.
    pub(crate) fn write(&self, root: &Path) -> Result<(), Error> {
        let path = Self::path(root);
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        write_secret_file(&path, text).map_err(|e| Error::io("write", &path, &e))
    }

    /// Returns the session of the current project, if one is running.
    pub(crate) fn find() -> Option<Self> {
        let project = Project::find(&here().ok()?).ok()?;
        Self::of(project.root())
    }

    fn of(root: &Path) -> Option<Self> {
        let lock = File::open(Self::lock(root)).ok()?;
        // The lock is free, so no session is running.
        let Err(TryLockError::WouldBlock) = lock.try_lock_shared() else {
            return None;
        };
        let text = fs::read_to_string(Self::path(root)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Returns the flags that select its cluster.
    pub(crate) fn cluster(&self) -> Cluster {
        Cluster {
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
        }
    }
}

/// Returns the cluster that the flags select, or else that of a running `kubewright dev`.
pub(crate) fn or_session(flags: &Cluster) -> Cluster {
    match flags.is_named() {
        true => flags.clone(),
        false => Session::find().map_or_else(Cluster::default, |session| session.cluster()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_killed_session_are_ignored() {
        let root = std::env::temp_dir().join(format!("kubewright-session-{}", std::process::id()));
        let root = root.as_path();
        let session = Session {
            kubeconfig: None,
            context: Some("kind".into()),
            operator: "127.0.0.1:1".into(),
            console: None,
        };
        let lock = SessionLock::acquire(root).unwrap();
        session.write(root).unwrap();
        assert_eq!(Session::of(root), Some(session.clone()));
        let refusal = SessionLock::acquire(root).err().unwrap();
        assert!(refusal.to_string().contains("already running"), "{refusal}");

        drop(lock);
        assert_eq!(Session::of(root), None);
        // The process may have died before it could remove the file.
        session.write(root).unwrap();
        assert_eq!(Session::of(root), None);
        SessionLock::acquire(root).unwrap();
        fs::remove_dir_all(root).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn the_session_file_is_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let root = std::env::temp_dir().join(format!("kubewright-owner-{}", std::process::id()));
        let session = Session {
            kubeconfig: None,
            context: None,
            operator: "127.0.0.1:1".into(),
            console: Some("http://127.0.0.1:2/#t=secret".into()),
        };
        let _lock = SessionLock::acquire(&root).unwrap();
        session.write(&root).unwrap();
        let metadata = fs::metadata(Session::path(&root)).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
        fs::remove_dir_all(&root).unwrap();
    }
}
