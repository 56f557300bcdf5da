//! The project that a command was called in.

pub(crate) mod clean_tree;
mod dependency;
pub(crate) mod kubebuilder;
pub(crate) mod permissions;
pub(crate) mod session;

use std::path::{Path, PathBuf};

use kubewright_scaffold::{Error, Project};

pub(crate) use dependency::dependency;

/// Finds the project that the command was called in.
pub(crate) fn project() -> anyhow::Result<Project> {
    Ok(Project::find(&here()?)?)
}

/// Returns the current directory.
pub(crate) fn here() -> Result<PathBuf, Error> {
    std::env::current_dir().map_err(|e| Error::io("find", Path::new("the current directory"), &e))
}
