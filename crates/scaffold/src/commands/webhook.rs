//! `create webhook`: adds webhooks for a kind of the project or a built-in kind.
//!
//! Defaulting and validation of a kind are in one file, `src/webhook/<name>.rs`, with a test. A webhook that is added later goes
//! into the same file. Conversion is a file for each pair of versions, as `add version` makes it.

use crate::{
    Error,
    commands::{
        controller::check_name,
        conversion::Conversion,
        registration, storage,
        targets::{self, Target},
    },
    names::{self, Gvk},
    plan::Plan,
    project::{PROJECT_FILE, Project, Resource, Webhooks, plain},
    rust_text,
    templates::{self, Values},
};

/// The file that declares the modules of webhooks.
pub(super) const WEBHOOK_MOD: &str = "src/webhook/mod.rs";

/// Adds webhooks to a project.
///
/// ```
/// # use kubewright_scaffold::{AddApi, AddWebhook, Dependency, Gvk, NewProject, Project};
/// # let directory = std::env::temp_dir().join(format!("kubewright-doc-webhook-{}", std::process::id()));
/// # let new = NewProject { name: "crew".into(), domain: "example.com".into(), namespaced: false, kubewright: Dependency::Version("0.1.0".into()), package: Default::default() };
/// # new.plan(&directory)?.write()?;
/// # let captain = AddApi { gvk: Gvk::parse("crew/v1/Captain")?, plural: None, namespaced: true, resource: true, controller: true, force: false };
/// # captain.plan(&Project::read(&directory)?)?.write()?;
/// # let project = Project::read(&directory)?;
/// let add = AddWebhook {
///     target: Gvk::parse("crew/v1/Captain")?,
///     name: None,
///     defaulting: true,
///     validation: true,
///     conversion: false,
///     spokes: vec![],
///     force: false,
/// };
/// let plan = add.plan(&project)?;
/// assert!(plan.diff().contains("+    webhook::captain::register(operator);"));
/// # std::fs::remove_dir_all(&directory).unwrap();
/// # Ok::<(), kubewright_scaffold::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct AddWebhook {
    /// The kind: one of the project, or a built-in one.
    pub target: Gvk,
    /// The name of the module. Defaults to that of the kind.
    pub name: Option<String>,
    /// Adds a webhook that sets defaults.
    pub defaulting: bool,
    /// Adds a webhook that validates.
    pub validation: bool,
    /// Adds conversion between the version of the target, the hub, and others.
    pub conversion: bool,
    /// The other versions. Defaults to all versions of the kind.
    pub spokes: Vec<String>,
    /// Overwrites existing files.
    pub force: bool,
}

impl AddWebhook {
    /// Plans the changes to the project.
    ///
    /// # Errors
    ///
    /// Fails if the kind is not known, or if it has such a webhook.
    pub fn plan(&self, project: &Project) -> Result<Plan, Error> {
        if !(self.defaulting || self.validation || self.conversion) {
            return Err(Error::new(
                "there is no webhook to create",
                "use at least one of --defaulting, --programmatic-validation and --conversion",
            ));
        }
        if !self.conversion && !self.spokes.is_empty() {
            return Err(Error::new(
                "--spoke names versions to convert",
                "use it with --conversion",
            ));
        }
        let target = targets::find(project, &self.target)?;
        let resource = recorded(project, &target.resource);
        if resource.aggregated.is_some() {
            return Err(Error::new(
                format_args!("the program serves {} itself", resource.kind),
                "add rules with Kind::admission; clusters call no webhooks for such kinds",
            ));
        }
        let mut plan = Plan::new(project.root());
        let mut file = project.file().clone();
        let mut changed = resource.clone();
        if self.defaulting || self.validation {
            changed.webhooks = self.admission(&mut plan, project, &target, &resource)?;
        }
        if self.conversion {
            changed.webhooks.spokes = self.conversions(&mut plan, project, &resource)?;
            let versions = project.matching(&resource.group, "", &resource.kind);
            let stored = storage::current(project, &resource)?;
            if stored.as_ref() != Some(&resource.version) {
                storage::move_to(&mut plan, &mut file, &versions, &changed)?;
            }
        }
        file.put(&changed);
        plan.set(PROJECT_FILE, Some(file.written()))?;
        Ok(plan)
    }

    /// Adds defaulting and validation. Returns the webhooks that the kind has then.
    fn admission(
        &self,
        plan: &mut Plan,
        project: &Project,
        target: &Target,
        resource: &Resource,
    ) -> Result<Webhooks, Error> {
        let before = &resource.webhooks;
        let name = self.module_name(project, resource)?;
        for (asked, there, what) in [
            (self.defaulting, before.defaulting, "defaulting"),
            (self.validation, before.validation, "validating"),
        ] {
            if asked && there && !self.force {
                return Err(Error::new(
                    format_args!("{} has a {what} webhook already", resource.kind),
                    "replace it with --force",
                ));
            }
        }
        let after = Webhooks {
            name: name.clone(),
            defaulting: before.defaulting || self.defaulting,
            validation: before.validation || self.validation,
            spokes: before.spokes.clone(),
        };
        let path = path(&name);
        let fresh = source(target, &after);
        let text = match plan.read(&path)? {
            Some(text) if before.has_admission() && !self.force => {
                match text == source(target, before) {
                    true => fresh,
                    false => extended(&text, &path, target, &after, before)?,
                }
            }
            _ => fresh,
        };
        let replaces = self.force || before.has_admission();
        plan.put(&path, text, replaces)?;
        let test_path = test_path(&name);
        let untouched = |text: &str| text == test(project, resource, before);
        match plan.read(&test_path)? {
            Some(text) if before.has_admission() && !self.force && !untouched(&text) => {}
            _ => plan.put(&test_path, test(project, resource, &after), replaces)?,
        }
        let module = names::module(&name);
        registration::declare(plan, WEBHOOK_MOD, &module, templates::WEBHOOK_MOD)?;
        registration::declare(plan, "src/lib.rs", "webhook", "")?;
        registration::register(plan, &register_line(&name))?;
        Ok(after)
    }

    /// Returns the name of the module, which no other kind may have.
    fn module_name(&self, project: &Project, resource: &Resource) -> Result<String, Error> {
        if resource.webhooks.has_admission() {
            return Ok(resource.webhooks.name.clone());
        }
        let name = match &self.name {
            Some(name) => name.replace('-', "_"),
            None => plain(&resource.kind_module()).to_owned(),
        };
        check_name(&name)?;
        let mut others = project.resources.iter().map(|other| &other.webhooks);
        match others.any(|other| other.has_admission() && other.name == name) {
            false => Ok(name),
            true => Err(Error::new(
                format_args!("another version or kind has webhooks in {}", path(&name)),
                "choose another name with --name",
            )),
        }
    }

    /// Adds the conversions between the hub and its spokes. Returns the spokes.
    fn conversions(
        &self,
        plan: &mut Plan,
        project: &Project,
        hub: &Resource,
    ) -> Result<Vec<String>, Error> {
        if !hub.api {
            return Err(Error::new(
                format_args!("{} is built into Kubernetes", hub.kind),
                "objects of a kind of the project can be converted",
            ));
        }
        let versions = project.matching(&hub.group, "", &hub.kind);
        let others = versions.iter().filter(|one| one.version != hub.version);
        let others: Vec<&Resource> = others.copied().collect();
        let spokes: Vec<&Resource> = match self.spokes.is_empty() {
            true => others,
            false => self
                .spokes
                .iter()
                .map(|spoke| spoke_of(&others, hub, spoke))
                .collect::<Result<_, _>>()?,
        };
        if spokes.is_empty() {
            return Err(Error::new(
                format_args!("{} is the only version of {}", hub.version, hub.kind),
                "add another with `kubewright add version`, which makes the conversion too",
            ));
        }
        let mut names = Vec::new();
        for spoke in spokes {
            names.push(spoke.version.clone());
            let forth = Conversion::new(project, spoke, &hub.version);
            let back = Conversion::new(project, hub, &spoke.version);
            let exists = plan.read(&forth.path())?.is_some() || plan.read(&back.path())?.is_some();
            if exists && !self.force {
                continue;
            }
            let conversion = match plan.read(&back.path())? {
                Some(_) => back,
                None => forth,
            };
            let types = storage::types(plan, hub)?;
            plan.put(&conversion.path(), conversion.source(&types), self.force)?;
            registration::declare(plan, &conversion.parent(), &conversion.module(), "")?;
            registration::register(plan, &conversion.register_line())?;
            plan.put(&conversion.test_path(), conversion.test(), self.force)?;
        }
        names.sort();
        Ok(names)
    }
}

/// Returns the entry of a kind in the project file, or a new one.
pub(super) fn recorded(project: &Project, resource: &Resource) -> Resource {
    let Resource {
        group,
        version,
        kind,
        ..
    } = resource;
    // A built-in kind of the core group has no group, which matches every group.
    let known = project.matching(group, version, kind);
    let known = known.into_iter().find(|one| one.group == *group);
    known.unwrap_or(resource).clone()
}

fn spoke_of<'a>(
    others: &[&'a Resource],
    hub: &Resource,
    spoke: &str,
) -> Result<&'a Resource, Error> {
    let found = others.iter().find(|one| one.version == spoke);
    found.copied().ok_or_else(|| {
        Error::new(
            format_args!("{} has no other version {spoke:?}", hub.kind),
            "add it with `kubewright add version`",
        )
    })
}

/// Returns the path of webhooks.
pub(super) fn path(name: &str) -> String {
    format!("src/webhook/{}.rs", plain(&names::module(name)))
}

/// Returns the path of their test.
pub(super) fn test_path(name: &str) -> String {
    format!("tests/{}_webhook.rs", plain(&names::module(name)))
}

pub(super) fn register_line(name: &str) -> String {
    format!("webhook::{}::register(operator);", names::module(name))
}

/// Returns the scaffolded webhooks.
pub(super) fn source(target: &Target, webhooks: &Webhooks) -> String {
    let items: String = parts(webhooks).map(|part| part.item).collect();
    let lines: Vec<String> = register_lines(target, webhooks).collect();
    let body = format!("{}{items}", templates::WEBHOOK);
    values(target)
        .with("register", lines.join("\n    "))
        .fill(&body)
}

/// Returns the scaffolded test of webhooks.
pub(super) fn test(project: &Project, resource: &Resource, webhooks: &Webhooks) -> String {
    let kind = &resource.kind;
    let package = project.crate_name();
    let types: Vec<String> = parts(webhooks)
        .map(|part| format!("{kind}{}", part.name))
        .collect();
    let types = match &types[..] {
        [one] => one.clone(),
        all => format!("{{{}}}", all.join(", ")),
    };
    let module = names::module(&webhooks.name);
    let own = format!("use {package}::webhook::{module}::{types};");
    let imports = match resource.api {
        true => format!("use {package}::{};\n{own}", resource.type_path()),
        false => {
            let built_in = targets::import(&resource.group, &resource.version, kind);
            format!("use {built_in};\n\n{own}")
        }
    };
    let tests: String = parts(webhooks).map(|part| part.test).collect();
    let body = format!("{}{tests}", templates::WEBHOOK_TEST);
    let word = resource.kind_module();
    Values::default()
        .with("kind", kind)
        .with("var", &word)
        .with("word", plain(&word))
        .with("imports", imports)
        .fill(&body)
}

/// A trait of webhooks, and the parts of the files that it needs.
struct Part {
    name: &'static str,
    method: &'static str,
    item: &'static str,
    test: &'static str,
}

const DEFAULTER: Part = Part {
    name: "Defaulter",
    method: "defaulter",
    item: templates::DEFAULTER,
    test: templates::DEFAULTER_TEST,
};

const VALIDATOR: Part = Part {
    name: "Validator",
    method: "validator",
    item: templates::VALIDATOR,
    test: templates::VALIDATOR_TEST,
};

fn parts(webhooks: &Webhooks) -> impl Iterator<Item = Part> {
    let defaulter = webhooks.defaulting.then_some(DEFAULTER);
    let validator = webhooks.validation.then_some(VALIDATOR);
    defaulter.into_iter().chain(validator)
}

/// Returns the lines that register webhooks.
fn register_lines(target: &Target, webhooks: &Webhooks) -> impl Iterator<Item = String> {
    let kind = target.resource.kind.clone();
    parts(webhooks).map(move |part| {
        let Part { name, method, .. } = part;
        format!("operator.{method}({kind}{name});")
    })
}

fn values(target: &Target) -> Values {
    Values::default()
        .with("kind", &target.resource.kind)
        .with("var", target.resource.kind_module())
        .with("import", &target.import)
}

/// Returns an edited file with the parts that it lacks.
fn extended(
    text: &str,
    path: &str,
    target: &Target,
    after: &Webhooks,
    before: &Webhooks,
) -> Result<String, Error> {
    let added = Webhooks {
        defaulting: after.defaulting && !before.defaulting,
        validation: after.validation && !before.validation,
        ..Webhooks::default()
    };
    let mut text = text.to_owned();
    for line in register_lines(target, &added) {
        text = rust_text::append_to_fn(&text, "register", &line).ok_or_else(|| {
            Error::new(
                format_args!("{path} has no function `register`"),
                format_args!("add one with the line {line}, or replace the file with --force"),
            )
        })?;
    }
    let items = parts(&added).map(|part| values(target).fill(part.item));
    text.extend(items);
    Ok(text)
}
