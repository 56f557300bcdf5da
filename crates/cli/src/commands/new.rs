//! `kubewright new` and `kubewright init`: create a project.

use std::path::{Component, Path, PathBuf};

use clap::Args;
use kubewright_scaffold::{Error, NewProject, finish_interrupted};

use crate::{
    output::PlanArgs,
    project::{
        dependency, here,
        kubebuilder::{GoFlags, Kubebuilder, LayoutFlags, PackageFlags},
    },
};

#[derive(Args)]
pub(crate) struct New {
    /// Directory to create
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
    /// Domain for API groups
    #[arg(long, default_value = "my.domain")]
    domain: String,

    /// Name of the project [default: the name of the directory]
    #[arg(long, visible_alias = "name", value_name = "NAME")]
    project_name: Option<String>,

    /// Restrict the operator to its own namespaces
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL", require_equals = true)]
    namespaced: Option<bool>,

    /// Create an API server, whose program serves its kinds itself; controllers can be added
    #[arg(long)]
    apiserver: bool,

    /// Dependency on kubewright: a version, a git repository such as git+https://host/repository.git?rev=COMMIT (or ?tag=,
    /// ?branch=), or the path of a checkout [default: the checkout that this program was built from if it exists, or
    /// the version of this program]
    #[arg(long, value_name = "VERSION|git+URL|PATH")]
    kubewright: Option<String>,

    #[command(flatten)]
    package: PackageFlags,

    #[command(flatten)]
    layout: LayoutFlags,

    #[command(flatten)]
    go: GoFlags,

    #[command(flatten)]
    kubebuilder: Kubebuilder,

    #[command(flatten)]
    plan: PlanArgs,
}

impl New {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        if self.goes_up_again() {
            return Err(Error::new(
                format_args!("{} goes down and up again", self.directory.display()),
                "write the path without the detour",
            )
            .into());
        }
        let root = here()?.join(&self.directory);
        finish_interrupted(&root)?;
        if root.is_dir()
            && root
                .read_dir()
                .is_ok_and(|mut entries| entries.next().is_some())
        {
            return Err(Error::new(
                format_args!("{} is not empty", self.directory.display()),
                "choose another directory, or run `kubewright init` in it",
            )
            .into());
        }
        let before = format!("cd {} && ", self.directory.display());
        self.options.run(&root, &before)
    }

    /// Returns whether `..` follows a name, as in `a/../../b`: the path would create `a` and then leave it.
    fn goes_up_again(&self) -> bool {
        let parts = self.directory.components();
        let mut after_name = parts.skip_while(|part| !matches!(part, Component::Normal(_)));
        after_name.any(|part| part == Component::ParentDir)
    }
}

impl Init {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        finish_interrupted(&here()?)?;
        self.options.run(&here()?, "")
    }
}

impl Options {
    /// Creates the project. The text before the next command leads to its directory.
    fn run(self, root: &Path, before: &str) -> anyhow::Result<()> {
        self.kubebuilder.check()?;
        self.layout.check()?;
        self.go.check()?;
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
            package: self.package.package()?,
        };
        let plan = match self.apiserver {
            true => project.plan_apiserver(root)?,
            false => project.plan(root)?,
        };
        let next = format!(
            "{before}kubewright create api {}",
            match self.apiserver {
                true => "--aggregated --group sky --version v1 --kind Planet",
                false => "--group crew --version v1 --kind Captain",
            }
        );
        self.plan.carry_out(&plan, &next)
    }
}
