//! `remove`: removes scaffolded parts.
//!
//! Unchanged scaffolded files are removed. Edited files are removed only with [`Edits::Discard`].

use crate::{
    Error,
    commands::{
        aggregated, api, controller, conversion::Conversion, registration, storage,
        subresource::Part, targets, webhook,
    },
    generate::stamp::{Mark, mark},
    names::{self, Gvk},
    plan::{Edits, Plan},
    project::{PROJECT_FILE, Project, Resource, controller_path, plain, test_path},
};

/// The part to remove.
///
/// ```
/// # use kubewright_scaffold::{AddApi, Dependency, Edits, Gvk, NewProject, Project, Remove};
/// # let directory = std::env::temp_dir().join(format!("kubewright-doc-remove-{}", std::process::id()));
/// # let new = NewProject { name: "crew".into(), domain: "example.com".into(), namespaced: false, kubewright: Dependency::Version("0.1.0".into()), package: Default::default() };
/// # new.plan(&directory)?.write()?;
/// # let captain = AddApi { gvk: Gvk::parse("crew/v1/Captain")?, plural: None, namespaced: true, resource: true, controller: true, force: false };
/// # captain.plan(&Project::read(&directory)?)?.write()?;
/// # let project = Project::read(&directory)?;
/// let remove = Remove::Api { group: "crew".into(), kind: "Captain".into() };
/// let plan = remove.plan(&project, Edits::Keep)?;
/// assert!(plan.changes().iter().any(|change| change.after.is_none()));
/// # std::fs::remove_dir_all(&directory).unwrap();
/// # Ok::<(), kubewright_scaffold::Error>(())
/// ```
#[derive(Clone, Debug)]
pub enum Remove {
    /// A kind, with all its versions and controllers.
    Api {
        /// The group. May be empty if the kind is unique.
        group: String,
        /// The kind.
        kind: String,
    },
    /// One version of a kind that has others.
    Version {
        /// The group. May be empty if the kind is unique.
        group: String,
        /// The version.
        version: String,
        /// The kind.
        kind: String,
    },
    /// The webhooks that default and validate a version of a kind.
    Webhook {
        /// The group. May be empty if the kind is unique.
        group: String,
        /// The version. May be empty if only one has webhooks.
        version: String,
        /// The kind.
        kind: String,
    },
    /// A controller.
    Controller {
        /// The name of the controller.
        name: String,
    },
}

impl Remove {
    /// Plans the changes to the project.
    ///
    /// # Errors
    ///
    /// Fails if the part does not exist, or if a file was edited and edits are to be kept.
    pub fn plan(&self, project: &Project, edits: Edits) -> Result<Plan, Error> {
        let mut removal = Removal {
            project,
            plan: Plan::new(project.root()),
            edits,
        };
        let mut file = project.file().clone();
        match self {
            Remove::Api { group, kind } => {
                let all = project.matching(group, "", kind);
                let first = all.first().map(|one| one.group.as_str());
                if first.is_none() || kind.is_empty() {
                    return Err(Error::new(
                        format_args!("the project has no {kind}"),
                        "look at what it has with `kubewright list`",
                    ));
                }
                if all.iter().any(|one| Some(one.group.as_str()) != first) {
                    return Err(Error::new(
                        format_args!("more than one group has a {kind}"),
                        "say which with --group",
                    ));
                }
                for resource in all {
                    for name in &resource.controllers {
                        removal.controller(name, resource)?;
                    }
                    removal.webhooks(resource)?;
                    removal.aggregated(resource)?;
                    if resource.api {
                        removal.types(resource)?;
                    }
                    file.remove(resource);
                }
            }
            Remove::Version {
                group,
                version,
                kind,
            } => {
                let resource = project.one(group, version, kind)?;
                if project.matching(&resource.group, "", &resource.kind).len() == 1 {
                    return Err(Error::new(
                        format_args!("{version} is the only version of {}", resource.kind),
                        "remove the whole kind with `kubewright remove api`",
                    ));
                }
                if storage::current(project, resource)?.as_ref() == Some(version) {
                    return Err(Error::new(
                        format_args!("{version} is the storage version of {}", resource.kind),
                        "move it first with `kubewright edit --storage-version`",
                    ));
                }
                if let Some(name) = resource.controllers.first() {
                    return Err(Error::new(
                        format_args!("the controller {name:?} is for {version}"),
                        "have it use another version, or remove it with `kubewright remove controller`",
                    ));
                }
                removal.check_way_between_others(resource)?;
                removal.webhooks(resource)?;
                removal.types(resource)?;
                file.remove(resource);
                for other in project.matching(&resource.group, "", &resource.kind) {
                    let mut left = other.clone();
                    left.webhooks.spokes.retain(|spoke| spoke != version);
                    if left != *other && left.version != *version {
                        file.put(&left);
                    }
                }
            }
            Remove::Webhook {
                group,
                version,
                kind,
            } => {
                let matching = project.matching(group, version, kind);
                let with = matching
                    .into_iter()
                    .filter(|one| one.webhooks.has_admission());
                let with: Vec<&Resource> = with.collect();
                let [resource] = with[..] else {
                    return Err(match with.is_empty() {
                        true => Error::new(
                            format_args!("{kind} has no webhooks"),
                            "look at what there is with `kubewright list`",
                        ),
                        false => Error::new(
                            format_args!("more than one {kind} has webhooks"),
                            "say which with --group and --version",
                        ),
                    });
                };
                removal.webhooks(resource)?;
                let mut left = resource.clone();
                left.webhooks.defaulting = false;
                left.webhooks.validation = false;
                left.webhooks.name.clear();
                match left.api || !left.controllers.is_empty() {
                    true => file.put(&left),
                    false => file.remove(resource),
                }
            }
            Remove::Controller { name } => {
                let owner = project
                    .resources
                    .iter()
                    .find(|one| one.controllers.contains(name));
                let resource = owner.ok_or_else(|| {
                    Error::new(
                        format_args!("there is no controller {name:?}"),
                        "look at what there is with `kubewright list`",
                    )
                })?;
                removal.controller(name, resource)?;
                let mut left = resource.clone();
                left.controllers.retain(|other| other != name);
                left.owns.remove(name);
                match left.api || !left.controllers.is_empty() || !left.webhooks.is_empty() {
                    true => file.put(&left),
                    false => file.remove(resource),
                }
            }
        }
        removal.plan.set(PROJECT_FILE, Some(file.written()))?;
        Ok(removal.plan)
    }
}

struct Removal<'a> {
    project: &'a Project,
    plan: Plan,
    edits: Edits,
}

impl Removal<'_> {
    fn controller(&mut self, name: &str, resource: &Resource) -> Result<(), Error> {
        let gvk = Gvk {
            group: resource.group.clone(),
            version: resource.version.clone(),
            kind: resource.kind.clone(),
        };
        let target = targets::find(self.project, &gvk)?;
        let owned = targets::owned(self.project, resource, name)?;
        self.file(
            &controller_path(name),
            &controller::source(name, &target, &owned),
        )?;
        if resource.api {
            self.file(
                &test_path(name),
                &controller::test(self.project, resource, name),
            )?;
        }
        let module = format!("pub mod {};", names::module(name));
        registration::remove_lines(&mut self.plan, "src/controller/mod.rs", &[&module])?;
        registration::unregister(&mut self.plan, &controller::register_line(name))
    }

    /// Removes the webhooks that default and validate, and the modules that are left empty.
    fn webhooks(&mut self, resource: &Resource) -> Result<(), Error> {
        let webhooks = &resource.webhooks;
        if !webhooks.has_admission() {
            return Ok(());
        }
        let target = match resource.api {
            true => targets::Target::own(resource),
            false => targets::Target {
                import: targets::import(&resource.group, &resource.version, &resource.kind),
                resource: resource.clone(),
            },
        };
        let name = &webhooks.name;
        self.file(&webhook::path(name), &webhook::source(&target, webhooks))?;
        let test = webhook::test(self.project, resource, webhooks);
        self.file(&webhook::test_path(name), &test)?;
        registration::unregister(&mut self.plan, &webhook::register_line(name))?;
        let declared = format!("pub mod {};", names::module(name));
        self.without(webhook::WEBHOOK_MOD, &[&declared])?;
        if self.plan.read(webhook::WEBHOOK_MOD)?.is_none() {
            registration::remove_lines(&mut self.plan, "src/lib.rs", &["pub mod webhook;"])?;
        }
        Ok(())
    }

    /// Removes the server of a kind, with its subresources.
    fn aggregated(&mut self, resource: &Resource) -> Result<(), Error> {
        let Some(of_kind) = &resource.aggregated else {
            return Ok(());
        };
        let path = aggregated::path(resource);
        for (name, type_) in &of_kind.subresources {
            let part = Part::new(resource, name, *type_);
            self.file(&part.path(), &part.source(self.project))?;
            self.file(&part.test_path(), &part.test(self.project))?;
            registration::remove_lines(&mut self.plan, &path, &[&part.register_line()])?;
            let module = part.module_line();
            registration::remove_lines(&mut self.plan, aggregated::APISERVER_MOD, &[&module])?;
        }
        self.file(&path, &aggregated::source(self.project, resource))?;
        let test = aggregated::test(self.project, resource);
        self.file(&aggregated::test_path(resource), &test)?;
        let module = format!("pub mod {};", aggregated::module(resource));
        registration::remove_lines(&mut self.plan, aggregated::APISERVER_MOD, &[&module])?;
        registration::unregister(&mut self.plan, &aggregated::register_line(resource))
    }

    fn types(&mut self, resource: &Resource) -> Result<(), Error> {
        let path = resource.types_path();
        let now = self.plan.read(&path)?.unwrap_or_default();
        let expected = match api::is_scaffolded(self.project, resource, &now) {
            true => now,
            false => api::kind_source(self.project, resource),
        };
        self.file(&path, &expected)?;
        self.file(
            &resource.sample_path(),
            &api::sample(self.project, resource),
        )?;
        for other in self.project.matching(&resource.group, "", &resource.kind) {
            self.conversion(resource, &other.version)?;
            self.conversion(other, &resource.version)?;
        }
        registration::unregister(&mut self.plan, &api::register_line(resource))?;
        let (group, kind) = (resource.group_module(), resource.kind_module());
        let directory = format!("src/api/{}", plain(&group));
        let version_mod = format!("{directory}/{}/mod.rs", resource.version);
        let declared = format!("pub mod {kind};");
        // Imported types have another re-export line.
        let imported = format!("pub use {kind}::{};", resource.kind);
        let lines = [api::reexport_line(resource), imported, declared];
        self.without(&version_mod, &[&lines[0], &lines[1], &lines[2]])?;
        if self.plan.read(&version_mod)?.is_none() {
            let group_mod = format!("{directory}/mod.rs");
            self.without(&group_mod, &[&format!("pub mod {};", resource.version)])?;
            if self.plan.read(&group_mod)?.is_none() {
                let line = format!("pub mod {group};");
                registration::remove_lines(&mut self.plan, "src/api/mod.rs", &[&line])?;
            }
        }
        Ok(())
    }

    /// Fails if other versions are converted into each other by way of this one.
    fn check_way_between_others(&self, resource: &Resource) -> Result<(), Error> {
        let others = self.project.matching(&resource.group, "", &resource.kind);
        let converts = |a: &Resource, b: &Resource| -> Result<bool, Error> {
            for (to, from) in [(a, b), (b, a)] {
                let conversion = Conversion::new(self.project, to, &from.version);
                if self.plan.read(&conversion.path())?.is_some() {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        let mut neighbours = Vec::new();
        for other in others.iter().filter(|it| it.version != resource.version) {
            if converts(resource, other)? {
                neighbours.push(*other);
            }
        }
        for pair in neighbours.windows(2) {
            let [a, b] = pair else { continue };
            if !converts(a, b)? {
                return Err(Error::new(
                    format_args!(
                        "{} and {} are converted by way of {}",
                        a.version, b.version, resource.version
                    ),
                    "remove one of them first, or convert them directly",
                ));
            }
        }
        Ok(())
    }

    /// Removes the conversion between a version and another.
    fn conversion(&mut self, to: &Resource, from: &str) -> Result<(), Error> {
        let conversion = Conversion::new(self.project, to, from);
        let path = conversion.path();
        self.file(&conversion.test_path(), &conversion.test())?;
        if let Some(text) = self.plan.read(&path)? {
            self.file(&path, &conversion.source(&text))?;
            let line = format!("pub mod {};", conversion.module());
            registration::remove_lines(&mut self.plan, &conversion.parent(), &[&line])?;
            registration::unregister(&mut self.plan, &conversion.register_line())?;
        }
        Ok(())
    }

    /// Removes a file if it is unchanged since it was scaffolded.
    fn file(&mut self, path: &str, scaffolded: &str) -> Result<(), Error> {
        match self.plan.read(path)? {
            None => Ok(()),
            Some(text)
                if text == scaffolded
                    || self.edits == Edits::Discard
                    || mark(&text) == Mark::Untouched =>
            {
                self.plan.set(path, None)
            }
            Some(_) => Err(Error::new(
                format_args!("{path} has work in it"),
                "save what you need, then remove it with --force",
            )),
        }
    }

    /// Removes lines from a file, and the file itself if only comments are left.
    fn without(&mut self, path: &str, lines: &[&str]) -> Result<(), Error> {
        registration::remove_lines(&mut self.plan, path, lines)?;
        let left = self.plan.read(path)?.unwrap_or_default();
        let empty = |line: &str| line.trim().is_empty() || line.trim_start().starts_with("//");
        match left.lines().all(empty) {
            true => self.plan.set(path, None),
            false => Ok(()),
        }
    }
}
