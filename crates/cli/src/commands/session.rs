//! What a running `kubewright dev` leaves for other commands: where its cluster and its operator are.
//!
//! It holds a lock for as long as it lives, however it ends; what was left by one that is gone counts for nothing.

use std::{
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
};

use kubewright_scaffold::{Refusal, project::Project};
use serde::{Deserialize, Serialize};

use super::{cluster::Cluster, planned::here};

/// A running `kubewright dev`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Session {
    /// The kubeconfig of its cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) context: Option<String>,
    /// Where the operator answers: `127.0.0.1:41234`.
    pub(crate) operator: String,
}

/// The sign that a `kubewright dev` runs in a project; ends with the process.
pub(crate) struct Alive {
    root: PathBuf,
    _lock: File,
}

impl Alive {
    /// Begins, unless another runs in the project.
    pub(crate) fn begin(root: &Path) -> Result<Self, Refusal> {
        let directory = Session::directory(root);
        fs::create_dir_all(&directory).map_err(|e| Refusal::io("make", &directory, &e))?;
        let path = Session::lock(root);
        let lock = File::create(&path).map_err(|e| Refusal::io("write", &path, &e))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self {
                root: root.to_owned(),
                _lock: lock,
            }),
            Err(TryLockError::WouldBlock) => Err(Refusal::new(
                "`kubewright dev` already runs in this project",
                "stop it first, or work with the one that runs",
            )),
            Err(TryLockError::Error(error)) => Err(Refusal::io("lock", &path, &error)),
        }
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        // It need not be there.
        let _ = fs::remove_file(Session::path(&self.root));
    }
}

impl Session {
    /// The directory for files that go with a project and belong to no repository.
    pub(crate) fn directory(root: &Path) -> PathBuf {
        root.join("target").join("kubewright")
    }

    fn path(root: &Path) -> PathBuf {
        Self::directory(root).join("dev.json")
    }

    fn lock(root: &Path) -> PathBuf {
        Self::directory(root).join("dev.lock")
    }

    /// Tells others.
    pub(crate) fn write(&self, root: &Path) -> Result<(), Refusal> {
        let path = Self::path(root);
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        fs::write(&path, text).map_err(|e| Refusal::io("write", &path, &e))
    }

    /// That of the project that the command was called in, if there is one.
    pub(crate) fn find() -> Option<Self> {
        let project = Project::find(&here().ok()?).ok()?;
        Self::of(project.root())
    }

    fn of(root: &Path) -> Option<Self> {
        let lock = File::open(Self::lock(root)).ok()?;
        // Who gets the lock is alone.
        let Err(TryLockError::WouldBlock) = lock.try_lock_shared() else {
            return None;
        };
        let text = fs::read_to_string(Self::path(root)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Its cluster.
    pub(crate) fn cluster(&self) -> Cluster {
        Cluster {
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
        }
    }
}

/// The cluster that the flags name, or else that of a running `kubewright dev`.
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
    fn what_a_killed_one_left_counts_for_nothing() {
        let root = std::env::temp_dir().join(format!("kubewright-session-{}", std::process::id()));
        let root = root.as_path();
        let session = Session {
            kubeconfig: None,
            context: Some("kind".into()),
            operator: "127.0.0.1:1".into(),
        };
        let alive = Alive::begin(root).unwrap();
        session.write(root).unwrap();
        assert_eq!(Session::of(root), Some(session.clone()));
        let refusal = Alive::begin(root).err().unwrap();
        assert!(refusal.to_string().contains("already runs"), "{refusal}");

        drop(alive);
        assert_eq!(Session::of(root), None);
        // As if there had been no time to remove it.
        session.write(root).unwrap();
        assert_eq!(Session::of(root), None);
        Alive::begin(root).unwrap();
        fs::remove_dir_all(root).unwrap();
    }
}
