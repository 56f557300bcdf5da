//! `kubewright new` and `kubewright init`: a project.

use std::path::{Path, PathBuf};

use clap::Args;
use kubewright_scaffold::{
    Refusal,
    commands::new::{Dependency, NewProject},
    plan::finish_interrupted,
};

use super::planned::{Answer, Kubebuilder, here};

/// The checkout that this program was built from, if it was.
const CHECKOUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../kubewright");

#[derive(Args)]
pub(crate) struct New {
    /// The directory to make.
    directory: PathBuf,

    #[command(flatten)]
    options: Options,
}

#[derive(Args)]
pub(crate) struct Init {
    #[command(flatten)]
    options: Options,
}

#[derive(Args)]
struct Options {
    /// The domain of the project's groups.
    #[arg(long, default_value = "my.domain")]
    domain: String,

    /// The name of the project. By default that of the directory.
    #[arg(long, visible_alias = "name", value_name = "NAME")]
    project_name: Option<String>,

    /// The operator works in namespaces of its own only.
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL", require_equals = true)]
    namespaced: Option<bool>,

    /// Where the project finds kubewright: a version, or the path of a checkout. By default the checkout that this program was
    /// built from, if it is there, or the version of this program.
    #[arg(long, value_name = "PATH|VERSION")]
    kubewright: Option<String>,

    #[arg(long, hide = true)]
    repo: Option<String>,
    #[arg(long, hide = true)]
    license: Option<String>,
    #[arg(long, hide = true)]
    license_file: Option<String>,
    #[arg(long, hide = true)]
    owner: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true)]
    multigroup: Option<Option<bool>>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true)]
    fetch_deps: Option<Option<bool>>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true)]
    skip_go_version_check: Option<Option<bool>>,
    #[arg(long, hide = true)]
    project_version: Option<String>,

    #[command(flatten)]
    kubebuilder: Kubebuilder,

    #[command(flatten)]
    answer: Answer,
}

impl New {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let root = here()?.join(&self.directory);
        finish_interrupted(&root)?;
        if root.is_dir()
            && root
                .read_dir()
                .is_ok_and(|mut entries| entries.next().is_some())
        {
            return Err(Refusal::new(
                format_args!("{} is not empty", self.directory.display()),
                "choose another directory, or go there and use `kubewright init`",
            )
            .into());
        }
        let next = format!(
            "cd {} && kubewright create api --group crew --version v1 --kind Captain",
            self.directory.display()
        );
        self.options.run(&root, &next)
    }
}

impl Init {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let next = "kubewright create api --group crew --version v1 --kind Captain";
        finish_interrupted(&here()?)?;
        self.options.run(&here()?, next)
    }
}

impl Options {
    fn run(self, root: &Path, next: &str) -> anyhow::Result<()> {
        let name = match self.project_name {
            Some(name) => name,
            None => {
                let directory = root.file_name().unwrap_or_default();
                directory.to_string_lossy().into_owned()
            }
        };
        let project = NewProject {
            name,
            domain: self.domain,
            namespaced: self.namespaced.unwrap_or_default(),
            kubewright: dependency(self.kubewright.as_deref())?,
        };
        self.answer.give(&project.plan(root)?, next)
    }
}

/// Where a project finds kubewright.
pub(crate) fn dependency(wanted: Option<&str>) -> Result<Dependency, Refusal> {
    let facade = |path: &Path| {
        [path.to_owned(), path.join("crates/kubewright")]
            .into_iter()
            .find(|path| path.join("src/lib.rs").is_file() && path.ends_with("kubewright"))
            .and_then(|path| path.canonicalize().ok())
    };
    match wanted {
        None => Ok(facade(Path::new(CHECKOUT)).map_or_else(
            || Dependency::Version(env!("CARGO_PKG_VERSION").to_owned()),
            Dependency::Path,
        )),
        Some(version)
            if version.starts_with(|c: char| c.is_ascii_digit() || "=^~*".contains(c)) =>
        {
            Ok(Dependency::Version(version.to_owned()))
        }
        Some(path) => facade(&here()?.join(path))
            .map(Dependency::Path)
            .ok_or_else(|| {
                Refusal::new(
                    format_args!("{path:?} is neither a version nor a checkout of kubewright"),
                    "give a version such as 0.1.0, or the directory of a checkout",
                )
            }),
    }
}
