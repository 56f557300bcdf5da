//! Flags of kubebuilder, so that its commands work unchanged.
//!
//! A flag either has its effect here, requests the default behavior, or is rejected. None is ignored.

use clap::Args;
use kubewright_scaffold::{Error, License, Package};

/// The flags of every command that scaffolds.
#[derive(Args)]
pub(crate) struct Kubebuilder {
    #[arg(long, hide = true, value_delimiter = ',', value_name = "KEY")]
    plugins: Vec<String>,
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    make: Option<bool>,
}

/// The flags of `init` and `edit` about the package.
#[derive(Args)]
pub(crate) struct PackageFlags {
    /// Repository of the project, for Cargo.toml: a URL, or a path such as github.com/acme/crew
    #[arg(long, value_name = "URL")]
    repo: Option<String>,

    /// License for Cargo.toml: apache2, copyright, none, or an SPDX expression
    #[arg(long)]
    license: Option<String>,

    /// Owner of the copyright: the author in Cargo.toml
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,

    #[arg(long, hide = true, value_name = "FILE")]
    license_file: Option<String>,
}

/// The flags of `init` and `edit` about the layout.
#[derive(Args)]
pub(crate) struct LayoutFlags {
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    multigroup: Option<bool>,
}

/// The flags of `init` about Go.
#[derive(Args)]
pub(crate) struct GoFlags {
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    fetch_deps: Option<bool>,
    // There is no Go whose version could be checked.
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    skip_go_version_check: Option<bool>,
    #[arg(long, hide = true)]
    project_version: Option<String>,
}

impl Kubebuilder {
    pub(crate) fn check(&self) -> Result<(), Error> {
        // These name kubebuilder's layout, which projects here have in the form of Rust, and the Helm chart.
        let known = ["go", "base", "kustomize", "helm"];
        let name = |key: &str| key.split(['/', '.']).next().unwrap_or_default().to_owned();
        let other = self
            .plugins
            .iter()
            .find(|key| !known.contains(&name(key).as_str()));
        if let Some(key) = other {
            return Err(Error::new(
                format_args!("the plugin {key:?} of kubebuilder has no counterpart here"),
                "leave out --plugins",
            ));
        }
        match self.make {
            Some(true) => Err(Error::new(
                "there is no Makefile to run",
                "leave out --make, and generate manifests with `kubewright generate`",
            )),
            _ => Ok(()),
        }
    }
}

impl PackageFlags {
    /// Returns the entries for `Cargo.toml`.
    pub(crate) fn package(&self) -> Result<Package, Error> {
        if self.license_file.is_some() {
            return Err(Error::new(
                "files have no license header that --license-file could be put into",
                "leave it out, and set license-file in Cargo.toml",
            ));
        }
        if self.license.as_deref() == Some("copyright") && self.owner.is_none() {
            return Err(Error::new(
                "--license copyright needs an owner",
                "name the owner with --owner",
            ));
        }
        Ok(Package {
            repository: self.repo.clone(),
            license: self.license.as_deref().map(License::parse).transpose()?,
            owner: self.owner.clone(),
        })
    }
}

impl LayoutFlags {
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.multigroup {
            Some(false) => Err(Error::new(
                "kinds are always in directories by group",
                "leave out --multigroup=false",
            )),
            _ => Ok(()),
        }
    }
}

impl GoFlags {
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.fetch_deps == Some(true) {
            return Err(Error::new(
                "cargo fetches the dependencies with the first build",
                "leave out --fetch-deps",
            ));
        }
        match self.project_version.as_deref() {
            None | Some("3") => Ok(()),
            Some(other) => Err(Error::new(
                format_args!("there is no project version {other:?}"),
                "leave out --project-version",
            )),
        }
    }
}
