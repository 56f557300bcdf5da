//! `create api`: adds a kind and its controller.

use std::collections::BTreeMap;

use crate::{
    Error,
    commands::{controller, registration, storage, targets, version::AddVersion},
    names::{self, Gvk},
    plan::Plan,
    project::{PROJECT_FILE, Project, Resource, plain, test_path},
    templates::{self, Values},
};

/// Adds a kind to a project, with its controller.
///
/// A further version of a kind of the project is added as [`AddVersion`] does, as a copy of the storage version; its
/// controllers stay as they are.
///
/// ```
/// # use kubewright_scaffold::{AddApi, Dependency, Gvk, NewProject, Project};
/// # let directory = std::env::temp_dir().join(format!("kubewright-doc-api-{}", std::process::id()));
/// # let new = NewProject { name: "crew".into(), domain: "example.com".into(), namespaced: false, kubewright: Dependency::Version("0.1.0".into()), package: Default::default() };
/// # new.plan(&directory)?.write()?;
/// # let project = Project::read(&directory)?;
/// let add = AddApi {
///     gvk: Gvk::parse("crew/v1/Captain")?,
///     plural: None,
///     namespaced: true,
///     resource: true,
///     controller: true,
///     force: false,
/// };
/// let plan = add.plan(&project)?;
/// assert!(plan.changes().iter().any(|change| change.path == "src/api/crew/v1/captain.rs"));
/// # std::fs::remove_dir_all(&directory).unwrap();
/// # Ok::<(), kubewright_scaffold::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct AddApi {
    /// The group (without the domain), version and kind.
    pub gvk: Gvk,
    /// The plural, if it differs from the usual one.
    pub plural: Option<String>,
    /// Makes the kind namespaced.
    pub namespaced: bool,
    /// Creates the type. Otherwise only the controller is created, for an existing type.
    pub resource: bool,
    /// Creates a controller.
    pub controller: bool,
    /// Overwrites existing files.
    pub force: bool,
}

impl AddApi {
    /// Plans the changes to the project.
    ///
    /// # Errors
    ///
    /// Fails if the kind cannot be added, for example because its name is taken.
    pub fn plan(&self, project: &Project) -> Result<Plan, Error> {
        let mut plan = Plan::new(project.root());
        if !self.resource {
            if !self.controller {
                return Err(Error::new(
                    "there is nothing to make without a resource and without a controller",
                    "leave out one of --resource=false and --controller=false",
                ));
            }
            let add = controller::AddController {
                target: self.gvk.clone(),
                name: None,
                owns: Vec::new(),
                force: self.force,
            };
            return add.plan(project);
        }
        if let Some(add) = self.further_version(project)? {
            return add.plan(project);
        }
        let resource = self.checked(project)?;
        let (group, version) = (&resource.group, &resource.version);
        let mut served = project
            .resources
            .iter()
            .filter(|one| one.aggregated.is_some());
        if served.any(|one| (&one.group, &one.version) == (group, version)) {
            return Err(Error::new(
                format_args!("the program serves {group}/{version} itself"),
                "a group version is served by one server; choose another group or version, or use --aggregated",
            ));
        }
        let mut file = project.file().clone();
        let mut recorded = resource.clone();
        types(&mut plan, project, &resource, self.force)?;
        registration::register(&mut plan, &register_line(&resource))?;
        if self.controller {
            let name = plain(&resource.kind_module()).to_owned();
            let target = targets::Target::own(&resource);
            controller::write(&mut plan, &name, &target, &[], self.force)?;
            plan.put(
                &test_path(&name),
                controller::test(project, &resource, &name),
                self.force,
            )?;
            recorded.controllers.push(name);
        }
        file.put(&recorded);
        plan.set(PROJECT_FILE, Some(file.written()))?;
        Ok(plan)
    }

    /// Returns the version to add, if the project has the kind in another version.
    fn further_version(&self, project: &Project) -> Result<Option<AddVersion>, Error> {
        let Gvk {
            group,
            version,
            kind,
        } = &self.gvk;
        let known = project.matching(group, "", kind);
        let known: Vec<&Resource> = known.into_iter().filter(|one| one.api).collect();
        let Some(first) = known.first().filter(|_| !group.is_empty()) else {
            return Ok(None);
        };
        if known.iter().any(|one| one.version == *version) {
            return Ok(None);
        }
        if first.aggregated.is_some() {
            return Err(Error::new(
                format_args!("the program serves {kind} itself"),
                "write its other versions by hand, and add them with Kind::versions",
            ));
        }
        if self.namespaced != first.namespaced {
            let (scope, flag) = match first.namespaced {
                true => ("namespaced", "true"),
                false => ("cluster-scoped", "false"),
            };
            return Err(Error::new(
                format_args!("{group}/{}/{kind} is {scope}", first.version),
                format_args!("use --namespaced={flag}"),
            ));
        }
        if self.plural.as_ref().is_some_and(|it| *it != first.plural) {
            return Err(Error::new(
                format_args!("the plural of {kind} is {:?}", first.plural),
                "leave out --plural",
            ));
        }
        let stored = storage::current(project, first)?;
        Ok(Some(AddVersion {
            group: first.group.clone(),
            kind: kind.clone(),
            version: version.clone(),
            from: stored.unwrap_or_else(|| first.version.clone()),
            storage: false,
        }))
    }

    /// Returns the entry for the project file, if the kind can be added.
    pub(super) fn checked(&self, project: &Project) -> Result<Resource, Error> {
        let Gvk {
            group,
            version,
            kind,
        } = &self.gvk;
        names::check_group(group)?;
        names::check_version(version)?;
        names::check_kind(kind)?;
        let plural = self.plural.clone().unwrap_or_else(|| names::plural(kind));
        names::check_plural(&plural)?;
        let there = project.matching(group, version, kind);
        if !self.force && !there.is_empty() {
            return Err(Error::new(
                format_args!("{} exists already", self.gvk),
                "choose another name, or replace it with --force",
            ));
        }
        let same_group = project
            .resources
            .iter()
            .filter(|other| other.api && other.group == *group);
        for other in same_group {
            if other.kind != *kind && other.plural == plural {
                return Err(Error::new(
                    format_args!("the plural {plural:?} belongs to {} already", other.kind),
                    "choose another with --plural",
                ));
            }
        }
        let module = names::module(kind);
        let clash = |other: &&Resource| {
            other.kind != *kind && (names::module(&other.kind) == module) && other.group == *group
        };
        if let Some(other) = project.resources.iter().find(clash) {
            return Err(Error::new(
                format_args!("{kind} would have the same file as {}", other.kind),
                "choose another kind",
            ));
        }
        // `batch` under a domain is another group than `batch` of Kubernetes.
        let full_group = project.full_group(group);
        if targets::is_built_in_group(&full_group) {
            return Err(Error::new(
                format_args!("the group {full_group} is built into Kubernetes"),
                "choose another group, or make a controller for its kinds with --resource=false",
            ));
        }
        Ok(Resource {
            group: group.clone(),
            version: version.clone(),
            kind: kind.clone(),
            plural,
            namespaced: self.namespaced,
            api: true,
            controllers: Vec::new(),
            owns: BTreeMap::new(),
            webhooks: Default::default(),
            aggregated: None,
        })
    }
}

/// Adds the types of a kind, its modules and its sample.
pub(super) fn types(
    plan: &mut Plan,
    project: &Project,
    resource: &Resource,
    force: bool,
) -> Result<(), Error> {
    plan.put(
        &resource.types_path(),
        kind_source(project, resource),
        force,
    )?;
    let full = project.full_group(&resource.group);
    declare_modules(plan, &full, resource, &reexport_line(resource))?;
    plan.put(&resource.sample_path(), sample(project, resource), force)
}

/// Adds the modules that contain a kind, and its registration.
pub(super) fn modules(
    plan: &mut Plan,
    project: &Project,
    resource: &Resource,
) -> Result<(), Error> {
    let full = project.full_group(&resource.group);
    modules_of(plan, &full, resource, &reexport_line(resource))
}

/// Like [`modules`], for a kind with a full group name and another re-export.
pub(crate) fn modules_of(
    plan: &mut Plan,
    full_group: &str,
    resource: &Resource,
    reexport: &str,
) -> Result<(), Error> {
    declare_modules(plan, full_group, resource, reexport)?;
    registration::register(plan, &register_line(resource))
}

/// Adds the modules that contain a kind.
fn declare_modules(
    plan: &mut Plan,
    full_group: &str,
    resource: &Resource,
    reexport: &str,
) -> Result<(), Error> {
    let values = Values::default()
        .with("full_group", full_group)
        .with("version", &resource.version);
    let (group, kind) = (resource.group_module(), resource.kind_module());
    let group_directory = format!("src/api/{}", plain(&group));
    registration::declare(plan, "src/api/mod.rs", &group, templates::API_MOD)?;
    let group_mod = format!("{group_directory}/mod.rs");
    registration::declare(
        plan,
        &group_mod,
        &resource.version,
        &values.fill(templates::GROUP_MOD),
    )?;
    let version_mod = format!("{group_directory}/{}/mod.rs", resource.version);
    registration::declare(
        plan,
        &version_mod,
        &kind,
        &values.fill(templates::VERSION_MOD),
    )?;
    registration::reexport(plan, &version_mod, reexport)
}

pub(super) fn register_line(resource: &Resource) -> String {
    format!("operator.api::<{}>();", resource.type_path())
}

pub(super) fn reexport_line(resource: &Resource) -> String {
    let kind = &resource.kind;
    format!(
        "pub use {}::{{{kind}, {kind}Spec, {kind}Status}};",
        resource.kind_module()
    )
}

/// Returns the scaffolded types of a kind.
pub(super) fn kind_source(project: &Project, resource: &Resource) -> String {
    values(project, resource).fill(templates::KIND)
}

/// Reports whether the types of a kind are unchanged since they were scaffolded, as a new kind or as a further version.
pub(super) fn is_scaffolded(project: &Project, resource: &Resource, text: &str) -> bool {
    let source = kind_source(project, resource);
    let version = format!("version = \"{}\",\n", resource.version);
    text == source || text == source.replace(&version, &format!("{version}    storage = false,\n"))
}

/// Returns the scaffolded sample of a kind.
pub(crate) fn sample(project: &Project, resource: &Resource) -> String {
    values(project, resource).fill(templates::SAMPLE)
}

/// Returns the template values of a kind of the project.
pub(super) fn values(project: &Project, resource: &Resource) -> Values {
    let module = resource.kind_module();
    let scope = match resource.namespaced {
        true => "    namespaced,\n",
        false => "",
    };
    let all = match resource.namespaced {
        true => "default_namespaced",
        false => "all",
    };
    Values::default()
        .with("crate", project.crate_name())
        .with("full_group", project.full_group(&resource.group))
        .with("group_mod", resource.group_module())
        .with("version", &resource.version)
        .with("kind", &resource.kind)
        .with("plural", &resource.plural)
        .with("word", plain(&module))
        .with("var", &module)
        .with(
            "sample",
            format!("{}-sample", resource.kind.to_ascii_lowercase()),
        )
        .with("scope", scope)
        .with("api_all", all)
}
