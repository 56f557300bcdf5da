//! [`Project`]: a directory with `operator.toml`, which records the scaffolded parts.
//!
//! The file mirrors kubebuilder's `PROJECT`: a domain, and an entry for each version of each kind. Comments and the order of
//! keys are preserved.

mod aggregated;
mod certificates;
mod file;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

pub use aggregated::{Aggregated, ObjectData, SubresourceType};
pub use certificates::WebhookCertificates;
pub(crate) use file::File;

use crate::{
    Error,
    names::{self, Gvk},
};

/// The name of the project file.
pub const PROJECT_FILE: &str = "operator.toml";

/// A project as recorded in its file.
///
/// ```
/// # use kubewright_scaffold::{AddApi, Dependency, Gvk, NewProject, Project};
/// # let directory = std::env::temp_dir().join(format!("kubewright-doc-project-{}", std::process::id()));
/// # let new = NewProject { name: "crew".into(), domain: "example.com".into(), namespaced: false, kubewright: Dependency::Version("0.1.0".into()), package: Default::default() };
/// # new.plan(&directory)?.write()?;
/// # let captain = AddApi { gvk: Gvk::parse("crew/v1/Captain")?, plural: None, namespaced: true, resource: true, controller: true, force: false };
/// # captain.plan(&Project::read(&directory)?)?.write()?;
/// # let project = Project::read(&directory)?;
/// assert_eq!(project.full_group("crew"), "crew.example.com");
/// let captain = project.one("crew", "v1", "Captain")?;
/// assert_eq!(captain.types_path(), "src/api/crew/v1/captain.rs");
/// # std::fs::remove_dir_all(&directory).unwrap();
/// # Ok::<(), kubewright_scaffold::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Project {
    root: PathBuf,
    file: File,
    /// The name of the program.
    pub name: String,
    /// The domain of its API groups, such as `example.com`.
    pub domain: String,
    /// Set if the operator is restricted to its own namespace.
    pub namespaced: bool,
    /// The image of the Deployment. Defaults to the name and version of the project.
    pub image: Option<String>,
    /// The port on which pods of the operator serve metrics to the network, over HTTPS and to authorized users. By default only
    /// the pod itself can read them.
    pub metrics_port: Option<u16>,
    /// The source of the certificate of the webhooks.
    pub webhook_certificates: WebhookCertificates,
    /// The targets of `kubewright generate`, by name. Defaults to all.
    pub generate: Option<Vec<String>>,
    /// The kinds and their controllers, in the order they were added.
    pub resources: Vec<Resource>,
}

/// A version of a kind, and its controllers.
///
/// ```
/// use kubewright_scaffold::Resource;
///
/// let captain = Resource {
///     group: "crew".into(),
///     version: "v1".into(),
///     kind: "Captain".into(),
///     plural: "captains".into(),
///     namespaced: true,
///     api: true,
///     controllers: vec!["captain".into()],
///     owns: Default::default(),
///     webhooks: Default::default(),
///     aggregated: None,
/// };
/// assert_eq!(captain.types_path(), "src/api/crew/v1/captain.rs");
/// assert_eq!(captain.sample_path(), "config/samples/crew_v1_captain.yaml");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The group without the domain; the full group for built-in kinds.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The plural name of the resource.
    pub plural: String,
    /// Set if the kind is namespaced.
    pub namespaced: bool,
    /// Set if the project defines the kind. Otherwise it is built in.
    pub api: bool,
    /// The names of its controllers.
    pub controllers: Vec<String>,
    /// The kinds that its controllers own, by the name of the controller.
    pub owns: BTreeMap<String, Vec<Gvk>>,
    /// Its webhooks.
    pub webhooks: Webhooks,
    /// Set if the program serves the kind itself. Otherwise it is a custom resource, or built in.
    pub aggregated: Option<Aggregated>,
}

/// The webhooks of a version of a kind.
///
/// ```
/// use kubewright_scaffold::Webhooks;
///
/// let webhooks = Webhooks { name: "captain".into(), validation: true, ..Webhooks::default() };
/// assert!(webhooks.has_admission());
/// assert!(!Webhooks::default().has_admission());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Webhooks {
    /// The module with defaulting and validation.
    pub name: String,
    /// Set if objects are defaulted.
    pub defaulting: bool,
    /// Set if objects are validated.
    pub validation: bool,
    /// The versions that this version, as the hub, is converted from and to.
    pub spokes: Vec<String>,
}

impl Webhooks {
    /// Reports whether objects are defaulted or validated.
    pub fn has_admission(&self) -> bool {
        self.defaulting || self.validation
    }

    /// Reports whether there are none.
    pub fn is_empty(&self) -> bool {
        !self.has_admission() && self.spokes.is_empty()
    }
}

impl Project {
    /// Reads the project of a directory or of the nearest parent that has one.
    ///
    /// # Errors
    ///
    /// Fails if there is no project, or if its file is not valid.
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

    /// Reads the project of a directory.
    ///
    /// # Errors
    ///
    /// Fails if there is no project, or if its file is not valid.
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
            metrics_port: file.some_port("metrics_port")?,
            webhook_certificates: file.webhook_certificates("webhook_certificates")?,
            generate: file.some_texts("generate")?,
            resources: file.resources()?,
            file,
        })
    }

    /// Returns the directory of the project.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the name of its Rust crate.
    pub fn crate_name(&self) -> String {
        self.name.replace('-', "_")
    }

    /// Returns the full name of a group: with the domain of the project.
    pub fn full_group(&self, group: &str) -> String {
        format!("{group}.{}", self.domain)
    }

    /// Returns the full names of the groups that the project defines.
    pub fn own_groups(&self) -> Vec<String> {
        let own = self.resources.iter().filter(|one| one.api);
        own.map(|one| self.full_group(&one.group)).collect()
    }

    /// Returns the entries with this group, version and kind; an empty part matches all.
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

    /// Returns the only entry with this group, version and kind.
    ///
    /// # Errors
    ///
    /// Fails if there is none, or more than one.
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
    /// Returns the module of the group.
    pub(crate) fn group_module(&self) -> String {
        names::module(&self.group)
    }

    /// Returns the module of the kind.
    pub(crate) fn kind_module(&self) -> String {
        names::module(&self.kind)
    }

    /// Returns the path of the types.
    pub fn types_path(&self) -> String {
        let (group, kind) = (self.group_module(), self.kind_module());
        format!(
            "src/api/{}/{}/{}.rs",
            plain(&group),
            self.version,
            plain(&kind)
        )
    }

    /// Returns the path of the sample.
    pub fn sample_path(&self) -> String {
        let kind = self.kind.to_ascii_lowercase();
        format!("config/samples/{}_{}_{kind}.yaml", self.group, self.version)
    }

    /// Returns the path of the type in the crate of the project.
    pub(crate) fn type_path(&self) -> String {
        format!(
            "api::{}::{}::{}",
            self.group_module(),
            self.version,
            self.kind
        )
    }
}

/// Returns the path of a controller.
pub(crate) fn controller_path(name: &str) -> String {
    format!("src/controller/{}.rs", plain(&names::module(name)))
}

/// Returns the path of the test of a controller.
pub(crate) fn test_path(name: &str) -> String {
    format!("tests/{}.rs", plain(&names::module(name)))
}

/// Returns the name of a module without `r#`, as used in file names.
pub(crate) fn plain(module: &str) -> &str {
    module.trim_start_matches("r#")
}
