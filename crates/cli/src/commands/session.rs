//! What a running `kubewright dev` leaves for other commands: where its cluster and its operator are.

use std::{
    fs,
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

impl Session {
    /// The directory for files that go with a project and belong to no repository.
    pub(crate) fn directory(root: &Path) -> PathBuf {
        root.join("target").join("kubewright")
    }

    fn path(root: &Path) -> PathBuf {
        Self::directory(root).join("dev.json")
    }

    /// Tells others.
    pub(crate) fn write(&self, root: &Path) -> Result<(), Refusal> {
        let path = Self::path(root);
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        fs::write(&path, text).map_err(|e| Refusal::io("write", &path, &e))
    }

    /// There is none any more.
    pub(crate) fn remove(root: &Path) {
        // It need not be there.
        let _ = fs::remove_file(Self::path(root));
    }

    /// That of the project that the command was called in, if there is one.
    pub(crate) fn find() -> Option<Self> {
        let project = Project::find(&here().ok()?).ok()?;
        let text = fs::read_to_string(Self::path(project.root())).ok()?;
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
