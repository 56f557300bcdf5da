//! [`Project`]: a directory with `operator.toml`, which records what was scaffolded.
//!
//! The file mirrors kubebuilder's `PROJECT`: a domain, and an entry for each version of each kind. Comments and the order of
//! keys are the user's, and stay.

mod file;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

pub(crate) use file::File;

use crate::{
    Error,
    names::{self, Gvk},
};

/// The name of the file.
pub const PROJECT_FILE: &str = "operator.toml";

/// A project, as its file records it.
#[derive(Clone, Debug)]
pub struct Project {
    root: PathBuf,
    file: File,
    /// The name of the program.
    pub name: String,
    /// The domain of its groups: `example.com`.
    pub domain: String,
    /// Whether it works in namespaces of its own only.
    pub namespaced: bool,
    /// The image that its Deployment runs. `None`: one of the project's name and version.
    pub image: Option<String>,
    /// What `kubewright generate` makes, by name. `None`: everything.
    pub generate: Option<Vec<String>>,
    /// What it has, in the order it came.
    pub resources: Vec<Resource>,
}

/// A version of a kind, and what there is for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The group, without the domain; the full group for kinds that are not the project's.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The resource.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether the project defines it. Otherwise it is built in.
    pub api: bool,
    /// Its controllers, by name.
    pub controllers: Vec<String>,
    /// The kinds that its controllers own, by the name of the controller.
    pub owns: BTreeMap<String, Vec<Gvk>>,
}

impl Project {
    /// The project in a directory, or in one above it.
    pub fn find(start: &Path) -> Result<Project, Error> {
        let root = start
            .ancestors()
            .find(|directory| directory.join(PROJECT_FILE).is_file())
            .ok_or_else(|| {
                Error::new(
                    format_args!("there is no {PROJECT_FILE} here or above"),
                    "go to a project, or make one with `kubewright new`",
                )
            })?;
        crate::plan::finish_interrupted(root)?;
        Project::read(root)
    }

    /// The project in a directory.
    pub fn read(root: &Path) -> Result<Project, Error> {
        let path = root.join(PROJECT_FILE);
        let text = std::fs::read_to_string(&path).map_err(|e| Error::io("read", &path, &e))?;
        let file = File::parse(&text)?;
        Ok(Project {
            root: root.to_owned(),
            name: file.text("name")?,
            domain: file.text("domain")?,
            namespaced: file.flag("namespaced"),
            image: file.some_text("image"),
            generate: file.some_texts("generate")?,
            resources: file.resources()?,
            file,
        })
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The name of its crate in Rust.
    pub fn crate_name(&self) -> String {
        self.name.replace('-', "_")
    }

    /// The group with the project's domain, as the API says it.
    pub fn full_group(&self, group: &str) -> String {
        format!("{group}.{}", self.domain)
    }

    /// The groups of the kinds that the project defines, as the API says them.
    pub fn own_groups(&self) -> Vec<String> {
        let own = self.resources.iter().filter(|one| one.api);
        own.map(|one| self.full_group(&one.group)).collect()
    }

    /// What there is of a kind, by group, version and kind; a part that is empty matches all.
    pub fn matching(&self, group: &str, version: &str, kind: &str) -> Vec<&Resource> {
        let one = |wanted: &str, has: &str| wanted.is_empty() || wanted == has;
        self.resources
            .iter()
            .filter(|has| {
                let group = one(group, &has.group) || group == self.full_group(&has.group);
                group && one(version, &has.version) && one(kind, &has.kind)
            })
            .collect()
    }

    /// The only one of them.
    pub fn one(&self, group: &str, version: &str, kind: &str) -> Result<&Resource, Error> {
        let mut wanted = vec![group, version, kind];
        wanted.retain(|part| !part.is_empty());
        match self.matching(group, version, kind)[..] {
            [one] => Ok(one),
            [] => Err(Error::new(
                format_args!("the project has no {}", wanted.join("/")),
                "look at what it has with `kubewright list`",
            )),
            _ => Err(Error::new(
                format_args!("the project has more than one {}", wanted.join("/")),
                "say which with --group and --version",
            )),
        }
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }
}

impl Resource {
    /// The module of its group.
    pub(crate) fn group_module(&self) -> String {
        names::module(&self.group)
    }

    /// The module of its kind.
    pub(crate) fn kind_module(&self) -> String {
        names::module(&self.kind)
    }

    /// The file of its types.
    pub fn types_path(&self) -> String {
        let (group, kind) = (self.group_module(), self.kind_module());
        format!(
            "src/api/{}/{}/{}.rs",
            plain(&group),
            self.version,
            plain(&kind)
        )
    }

    /// The file of its sample.
    pub fn sample_path(&self) -> String {
        let kind = self.kind.to_ascii_lowercase();
        format!("config/samples/{}_{}_{kind}.yaml", self.group, self.version)
    }

    /// Its type, in the project's crate.
    pub(crate) fn type_path(&self) -> String {
        format!(
            "api::{}::{}::{}",
            self.group_module(),
            self.version,
            self.kind
        )
    }
}

/// The file of a controller.
pub(crate) fn controller_path(name: &str) -> String {
    format!("src/controller/{}.rs", plain(&names::module(name)))
}

/// The file of the test of a controller.
pub(crate) fn test_path(name: &str) -> String {
    format!("tests/{}.rs", plain(&names::module(name)))
}

/// A module's name without `r#`, as its file has it.
pub(crate) fn plain(module: &str) -> &str {
    module.trim_start_matches("r#")
}
