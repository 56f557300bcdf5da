//! `create api --aggregated`: adds a kind that the program serves itself.

use crate::{
    Error,
    commands::{api, features, registration},
    names::{self, Gvk},
    plan::Plan,
    project::{Aggregated, ObjectData, PROJECT_FILE, Project, Resource, plain},
    templates::{self, Values},
};

/// The file that declares the modules of kinds that the program serves.
pub(super) const APISERVER_MOD: &str = "src/apiserver/mod.rs";

/// Adds a kind that the program serves itself, behind the API server of the cluster, with a test.
///
/// ```
/// # use kubewright_scaffold::{AddAggregatedApi, Dependency, Gvk, NewProject, ObjectData, Project};
/// # let directory = std::env::temp_dir().join(format!("kubewright-doc-aggregated-{}", std::process::id()));
/// # let new = NewProject { name: "sky".into(), domain: "example.com".into(), namespaced: false, kubewright: Dependency::Version("0.1.0".into()), package: Default::default() };
/// # new.plan(&directory)?.write()?;
/// # let project = Project::read(&directory)?;
/// let add = AddAggregatedApi {
///     gvk: Gvk::parse("space/v1/Planet")?,
///     plural: None,
///     namespaced: false,
///     data: ObjectData::Storage,
///     force: false,
/// };
/// let plan = add.plan(&project)?;
/// assert!(plan.changes().iter().any(|change| change.path == "src/apiserver/planet.rs"));
/// # std::fs::remove_dir_all(&directory).unwrap();
/// # Ok::<(), kubewright_scaffold::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct AddAggregatedApi {
    /// The group (without the domain), version and kind.
    pub gvk: Gvk,
    /// The plural, if it differs from the usual one.
    pub plural: Option<String>,
    /// Makes the kind namespaced.
    pub namespaced: bool,
    /// The place of its objects.
    pub data: ObjectData,
    /// Overwrites existing files.
    pub force: bool,
}

impl AddAggregatedApi {
    /// Plans the changes to the project.
    ///
    /// # Errors
    ///
    /// Fails if the kind cannot be added, for example because its name is taken, or because the project has custom resources of the
    /// same group version.
    pub fn plan(&self, project: &Project) -> Result<Plan, Error> {
        let add = api::AddApi {
            gvk: self.gvk.clone(),
            plural: self.plural.clone(),
            namespaced: self.namespaced,
            resource: true,
            controller: false,
            force: self.force,
        };
        let mut resource = add.checked(project)?;
        let Gvk { group, version, .. } = &self.gvk;
        let mut others = project.resources.iter().filter(|one| one.api);
        let shares = |one: &&Resource| {
            one.aggregated.is_none() && one.group == *group && one.version == *version
        };
        if let Some(other) = others.find(shares) {
            return Err(Error::new(
                format_args!(
                    "{}/{version} has custom resources: {}",
                    other.group, other.kind
                ),
                "a group version is served by one server; choose another group or version",
            ));
        }
        let taken = |one: &&Resource| {
            one.aggregated.is_some()
                && module(one) == module(&resource)
                && (&one.group, &one.kind) != (&resource.group, &resource.kind)
        };
        if let Some(other) = project.resources.iter().find(taken) {
            return Err(Error::new(
                format_args!("{} has the file {} already", other.kind, path(other)),
                "choose another kind",
            ));
        }
        resource.aggregated = Some(Aggregated {
            data: self.data,
            subresources: Default::default(),
        });
        let mut plan = Plan::new(project.root());
        api::types(&mut plan, project, &resource, self.force)?;
        plan.put(&path(&resource), source(project, &resource), self.force)?;
        plan.put(&test_path(&resource), test(project, &resource), self.force)?;
        registration::declare(
            &mut plan,
            APISERVER_MOD,
            &module(&resource),
            templates::APISERVER_MOD,
        )?;
        registration::declare(&mut plan, "src/lib.rs", "apiserver", "")?;
        registration::register(&mut plan, &register_line(&resource))?;
        features::enable(&mut plan, "apiserver")?;
        let mut file = project.file().clone();
        file.put(&resource);
        plan.set(PROJECT_FILE, Some(file.written()))?;
        Ok(plan)
    }
}

/// Returns the module of a kind among those that the program serves.
pub(super) fn module(resource: &Resource) -> String {
    names::module(&resource.kind)
}

/// Returns the path of the file with the objects of a kind.
pub(super) fn path(resource: &Resource) -> String {
    format!("src/apiserver/{}.rs", plain(&module(resource)))
}

/// Returns the path of its test.
pub(super) fn test_path(resource: &Resource) -> String {
    format!("tests/{}_api.rs", plain(&module(resource)))
}

pub(super) fn register_line(resource: &Resource) -> String {
    format!("apiserver::{}::register(operator);", module(resource))
}

/// Returns the scaffolded file of a kind, without its subresources.
pub(super) fn source(project: &Project, resource: &Resource) -> String {
    let data = resource.aggregated.as_ref().map(|it| it.data);
    let template = match data {
        Some(ObjectData::Store) => templates::APISERVER_STORE,
        _ => templates::APISERVER_STORAGE,
    };
    values(project, resource).fill(template)
}

/// Returns a file of a kind without the lines of its subresources.
pub(super) fn without(source: &str, lines: &[String]) -> String {
    let own = |text: &&str| !lines.iter().any(|line| text.trim() == line);
    source.split_inclusive('\n').filter(own).collect()
}

/// Returns the scaffolded test of a kind.
pub(super) fn test(project: &Project, resource: &Resource) -> String {
    values(project, resource).fill(templates::APISERVER_TEST)
}

pub(super) fn values(project: &Project, resource: &Resource) -> Values {
    api::values(project, resource).with("type_path", resource.type_path())
}
