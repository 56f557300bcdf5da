//! The output of `cargo metadata`, as far as the tasks read it.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::cargo;

/// The packages that cargo knows of.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    /// The packages of the workspace; with [`Scope::All`] every dependency as well.
    pub(crate) packages: Vec<Package>,
}

/// A package: a crate of the workspace or a dependency.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    /// The name in `[package]`.
    pub(crate) name: String,
    /// The version that was resolved.
    pub(crate) version: String,
    /// An SPDX expression.
    pub(crate) license: Option<String>,
    /// The registry or repository; `None` for a package of the workspace.
    pub(crate) source: Option<String>,
    /// The path of its `Cargo.toml`.
    pub(crate) manifest_path: String,
    /// Features with the features that each turns on.
    #[serde(default)]
    pub(crate) features: BTreeMap<String, Vec<String>>,
    /// The dependencies of all kinds.
    #[serde(default)]
    pub(crate) dependencies: Vec<Dependency>,
}

/// A line of `[dependencies]` or a table like it.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    /// `dev`, `build`, or `None` for an ordinary one.
    pub(crate) kind: Option<String>,
    /// The name of the package.
    #[serde(default)]
    pub(crate) name: String,
    /// The name in the sources, if it is another.
    #[serde(default)]
    pub(crate) rename: Option<String>,
    /// The features that are turned on.
    #[serde(default)]
    pub(crate) features: Vec<String>,
    /// The folder, for a dependency within the workspace.
    pub(crate) path: Option<String>,
    /// Set if a feature turns it on.
    #[serde(default)]
    pub(crate) optional: bool,
}

/// The packages to report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The packages of the workspace.
    Workspace,
    /// Those and all their dependencies on any platform.
    All,
}

impl Metadata {
    /// Runs `cargo metadata` in the workspace at `root`.
    ///
    /// # Errors
    ///
    /// Fails if cargo fails or prints something else than metadata.
    pub(crate) fn load(root: &Path, scope: Scope) -> Result<Self> {
        let mut command = cargo::command();
        command.args(["metadata", "--format-version", "1", "--locked"]);
        if scope == Scope::Workspace {
            command.arg("--no-deps");
        }
        let output = command
            .current_dir(root)
            .output()
            .context("cargo metadata")?;
        ensure!(
            output.status.success(),
            "cargo metadata: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

impl Package {
    /// The name of its folder, if it is one of `crates/`.
    pub(crate) fn crate_folder(&self) -> Option<&str> {
        let folder = self.manifest_path.strip_suffix("/Cargo.toml")?;
        let (parent, name) = folder.rsplit_once('/')?;
        parent.ends_with("/crates").then_some(name)
    }
}
