//! `add controller`: adds a controller for a kind of the project or a built-in kind.

use crate::{
    Error,
    commands::{
        api, features, registration,
        targets::{self, Target},
    },
    names::{self, Gvk},
    plan::Plan,
    project::{PROJECT_FILE, Project, Resource, controller_path, plain, test_path},
    templates::{self, Values},
};

/// Adds a controller to a project.
///
/// ```
/// # use kubewright_scaffold::{AddController, Dependency, Gvk, NewProject, Project};
/// # let directory = std::env::temp_dir().join(format!("kubewright-doc-controller-{}", std::process::id()));
/// # let new = NewProject { name: "crew".into(), domain: "example.com".into(), namespaced: false, kubewright: Dependency::Version("0.1.0".into()), package: Default::default() };
/// # new.plan(&directory)?.write()?;
/// # let project = Project::read(&directory)?;
/// let add = AddController {
///     target: Gvk::parse("apps/v1/Deployment")?,
///     name: Some("rollouts".into()),
///     owns: vec![],
///     force: false,
/// };
/// let plan = add.plan(&project)?;
/// assert!(plan.diff().contains("+    controller::rollouts::register(operator);"));
/// # std::fs::remove_dir_all(&directory).unwrap();
/// # Ok::<(), kubewright_scaffold::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct AddController {
    /// The kind to reconcile: a kind of the project, or a built-in one.
    pub target: Gvk,
    /// The name. Defaults to that of the kind.
    pub name: Option<String>,
    /// The kinds whose objects it owns.
    pub owns: Vec<Gvk>,
    /// Overwrites existing files.
    pub force: bool,
}

impl AddController {
    /// Plans the changes to the project.
    ///
    /// # Errors
    ///
    /// Fails if a kind is not known, or if the project has a controller with this name.
    pub fn plan(&self, project: &Project) -> Result<Plan, Error> {
        let target = targets::find(project, &self.target)?;
        let owned = self
            .owns
            .iter()
            .map(|gvk| targets::find(project, gvk))
            .collect::<Result<Vec<Target>, Error>>()?;
        let name = match &self.name {
            Some(name) => name.replace('-', "_"),
            None => plain(&target.resource.kind_module()).to_owned(),
        };
        check_name(&name)?;
        let taken = project
            .resources
            .iter()
            .flat_map(|resource| &resource.controllers);
        if !self.force && taken.into_iter().any(|other| *other == name) {
            return Err(Error::new(
                format_args!("there is a controller {name:?} already"),
                "choose another name with --name, or replace it with --force",
            ));
        }
        let mut plan = Plan::new(project.root());
        write(&mut plan, &name, &target, &owned, self.force)?;
        let mut file = project.file().clone();
        let mut resource = project
            .matching(
                &target.resource.group,
                &target.resource.version,
                &target.resource.kind,
            )
            .first()
            .map_or_else(|| target.resource.clone(), |known| (*known).clone());
        if !resource.controllers.contains(&name) {
            resource.controllers.push(name.clone());
        }
        resource.owns.insert(name.clone(), self.owns.clone());
        let test = test_path(&name);
        if target.resource.api && plan.read(&test)?.is_none() {
            plan.create(&test, self::test(project, &resource, &name))?;
            if runs_pods(&resource, &name) {
                features::enable_in_tests(&mut plan, "workloads")?;
            }
        }
        file.put(&resource);
        plan.set(PROJECT_FILE, Some(file.written()))?;
        Ok(plan)
    }
}

/// Adds the file of the controller, its module and its registration.
pub(super) fn write(
    plan: &mut Plan,
    name: &str,
    target: &Target,
    owned: &[Target],
    force: bool,
) -> Result<(), Error> {
    write_source(plan, name, source(name, target, owned), force)
}

/// Adds a controller that reads the object and does nothing else, for types that were not scaffolded.
pub(crate) fn write_plain(plan: &mut Plan, name: &str, target: &Target) -> Result<(), Error> {
    let source = filled(name, target, &[], templates::PLAIN_CONTROLLER);
    write_source(plan, name, source, false)
}

fn write_source(plan: &mut Plan, name: &str, source: String, force: bool) -> Result<(), Error> {
    plan.put(&controller_path(name), source, force)?;
    let module = names::module(name);
    registration::declare(
        plan,
        "src/controller/mod.rs",
        &module,
        templates::CONTROLLER_MOD,
    )?;
    registration::declare(plan, "src/lib.rs", "controller", "")?;
    registration::register(plan, &register_line(name))
}

pub(super) fn register_line(name: &str) -> String {
    format!("controller::{}::register(operator);", names::module(name))
}

/// Returns the scaffolded controller.
pub(super) fn source(name: &str, target: &Target, owned: &[Target]) -> String {
    let template = match target.resource.api {
        true => templates::CONTROLLER,
        false => templates::PLAIN_CONTROLLER,
    };
    filled(name, target, owned, template)
}

fn filled(name: &str, target: &Target, owned: &[Target], template: &str) -> String {
    let resource = &target.resource;
    let module = resource.kind_module();
    let mut imports: Vec<String> = [target]
        .into_iter()
        .chain(owned)
        .map(|target| format!("use {};\n", target.import))
        .collect();
    // rustfmt sorts `crate` first.
    imports.sort_by_key(|line| (!line.starts_with("use crate::"), line.clone()));
    imports.dedup();
    let mut builder = vec![format!("Controller::for_::<{}>()", resource.kind)];
    if name != plain(&module) {
        builder.push(format!(".named({name:?})"));
    }
    builder.extend(
        owned
            .iter()
            .map(|owned| format!(".owns::<{}>()", owned.resource.kind)),
    );
    let builder = match builder.concat() {
        line if line.len() <= 60 || builder.len() == 1 => line,
        _ => builder.join("\n        "),
    };
    Values::default()
        .with("kind", &resource.kind)
        .with("var", &module)
        .with("uses", imports.concat())
        .with(
            "register",
            format!("let builder = {builder};\n    operator.controller(builder, reconcile);"),
        )
        .fill(template)
}

/// Returns the scaffolded test of a controller.
pub(super) fn test(project: &Project, resource: &Resource, name: &str) -> String {
    let template = match resource.aggregated {
        Some(_) => templates::AGGREGATED_CONTROLLER_TEST,
        None => templates::TEST,
    };
    let start = match runs_pods(resource, name) {
        true => "start_test_with_nodes(1)",
        false => "start_test()",
    };
    api::values(project, resource)
        .with("start", start)
        .fill(template)
}

/// Reports whether a controller owns objects that pods are made of.
fn runs_pods(resource: &Resource, name: &str) -> bool {
    let mut owned = resource.owns.get(name).into_iter().flatten();
    owned.any(|kind| match kind.group.as_str() {
        "apps" | "batch" => true,
        "" | "core" => matches!(kind.kind.as_str(), "Pod" | "ReplicationController"),
        _ => false,
    })
}

pub(crate) fn check_name(name: &str) -> Result<(), Error> {
    let good = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && name != "mod";
    match good {
        true => Ok(()),
        false => Err(Error::new(
            format_args!("{name:?} cannot be the name of a controller"),
            "use small letters, digits and dashes, and begin with a letter",
        )),
    }
}
