//! `status`: shows which scaffolded files have changed.

use serde::Serialize;

use crate::{
    Error,
    commands::{
        aggregated, api, controller, conversion::Conversion, subresource::Part, targets, webhook,
    },
    generate::stamp::{Mark, mark},
    names::Gvk,
    plan::Plan,
    project::{Project, controller_path, test_path},
};

/// The state of a scaffolded file or line.
///
/// ```
/// # use kubewright_scaffold::{AddApi, Dependency, Gvk, NewProject};
/// use kubewright_scaffold::{PartState, Project, status};
///
/// # let directory = std::env::temp_dir().join(format!("kubewright-doc-part-{}", std::process::id()));
/// # let new = NewProject { name: "crew".into(), domain: "example.com".into(), namespaced: false, kubewright: Dependency::Version("0.1.0".into()), package: Default::default() };
/// # new.plan(&directory)?.write()?;
/// # let captain = AddApi { gvk: Gvk::parse("crew/v1/Captain")?, plural: None, namespaced: true, resource: true, controller: true, force: false };
/// # captain.plan(&Project::read(&directory)?)?.write()?;
/// let project = Project::read(&directory)?;
/// let types = "src/api/crew/v1/captain.rs";
/// std::fs::remove_file(directory.join(types)).unwrap();
///
/// let parts = status(&project)?;
/// let part = parts.iter().find(|part| part.path == types).expect("a part");
/// assert_eq!((part.part.as_str(), part.state), ("crew/v1/Captain", PartState::Missing));
/// # std::fs::remove_dir_all(&directory).unwrap();
/// # Ok::<(), kubewright_scaffold::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartStatus {
    /// The kind or controller it belongs to, such as `crew/v1/Captain`.
    pub part: String,
    /// The path of the file.
    pub path: String,
    /// The state.
    pub state: PartState,
}

/// The state of a scaffolded file or line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PartState {
    /// Unchanged since it was scaffolded.
    New,
    /// Edited.
    Edited,
    /// Missing.
    Missing,
    /// Present, but not registered in `register`.
    Unregistered,
}

/// Returns the state of everything that the project file records.
///
/// # Errors
///
/// Fails if a file cannot be read.
///
/// ```
/// # use kubewright_scaffold::{AddApi, Dependency, Gvk, NewProject, PartState, Project, status};
/// # let directory = std::env::temp_dir().join(format!("kubewright-doc-status-{}", std::process::id()));
/// # let new = NewProject { name: "crew".into(), domain: "example.com".into(), namespaced: false, kubewright: Dependency::Version("0.1.0".into()), package: Default::default() };
/// # new.plan(&directory)?.write()?;
/// # let captain = AddApi { gvk: Gvk::parse("crew/v1/Captain")?, plural: None, namespaced: true, resource: true, controller: true, force: false };
/// # captain.plan(&Project::read(&directory)?)?.write()?;
/// # let project = Project::read(&directory)?;
/// for part in status(&project)? {
///     assert_eq!(part.state, PartState::New, "{} is unchanged", part.path);
/// }
/// # std::fs::remove_dir_all(&directory).unwrap();
/// # Ok::<(), kubewright_scaffold::Error>(())
/// ```
pub fn status(project: &Project) -> Result<Vec<PartStatus>, Error> {
    let plan = Plan::new(project.root());
    let library = plan.read("src/lib.rs")?.unwrap_or_default();
    let registered = |line: &str| library.lines().any(|existing| existing.trim() == line);
    let mut all = Vec::new();
    for resource in &project.resources {
        let part = format!("{}/{}/{}", resource.group, resource.version, resource.kind);
        let mut add = |path: String, scaffolded: Option<String>, line: Option<String>| {
            let state = match plan.read(&path)? {
                None => PartState::Missing,
                Some(_) if line.is_some_and(|line| !registered(&line)) => PartState::Unregistered,
                Some(text)
                    if scaffolded.as_ref() == Some(&text) || mark(&text) == Mark::Untouched =>
                {
                    PartState::New
                }
                Some(_) => PartState::Edited,
            };
            all.push(PartStatus {
                part: part.clone(),
                path,
                state,
            });
            Ok::<(), Error>(())
        };
        if resource.api {
            let path = resource.types_path();
            let now = plan.read(&path)?;
            let scaffolded = now.filter(|it| api::is_scaffolded(project, resource, it));
            let line = match resource.aggregated {
                Some(_) => aggregated::register_line(resource),
                None => api::register_line(resource),
            };
            add(path, scaffolded, Some(line))?;
            add(
                resource.sample_path(),
                Some(api::sample(project, resource)),
                None,
            )?;
        }
        if let Some(of_kind) = &resource.aggregated {
            let mut lines = Vec::new();
            for (name, type_) in &of_kind.subresources {
                let part = Part::new(resource, name, *type_);
                add(part.path(), Some(part.source(project)), None)?;
                add(part.test_path(), Some(part.test(project)), None)?;
                lines.push(part.register_line());
            }
            let path = aggregated::path(resource);
            let now = plan.read(&path)?.unwrap_or_default();
            let plain = aggregated::without(&now, &lines);
            let scaffolded = (plain == aggregated::source(project, resource)).then_some(now);
            add(path, scaffolded, None)?;
            let test = aggregated::test(project, resource);
            add(aggregated::test_path(resource), Some(test), None)?;
        }
        for other in project.matching(&resource.group, "", &resource.kind) {
            let conversion = Conversion::new(project, resource, &other.version);
            // The project file does not record the version it was copied from, so existing conversions are looked for.
            if let Some(text) = plan.read(&conversion.path())? {
                let scaffolded = conversion.source(&text);
                add(
                    conversion.path(),
                    Some(scaffolded),
                    Some(conversion.register_line()),
                )?;
                add(conversion.test_path(), Some(conversion.test()), None)?;
            }
        }
        let gvk = Gvk {
            group: resource.group.clone(),
            version: resource.version.clone(),
            kind: resource.kind.clone(),
        };
        let webhooks = &resource.webhooks;
        if webhooks.has_admission() {
            let target = targets::find(project, &gvk).ok();
            add(
                webhook::path(&webhooks.name),
                target.map(|target| webhook::source(&target, webhooks)),
                Some(webhook::register_line(&webhooks.name)),
            )?;
            let test = webhook::test(project, resource, webhooks);
            add(webhook::test_path(&webhooks.name), Some(test), None)?;
        }
        for name in &resource.controllers {
            let target = targets::find(project, &gvk).ok();
            let owned = targets::owned(project, resource, name).ok();
            let scaffolded = target
                .zip(owned)
                .map(|(target, owned)| controller::source(name, &target, &owned));
            add(
                controller_path(name),
                scaffolded,
                Some(controller::register_line(name)),
            )?;
            if resource.api {
                add(
                    test_path(name),
                    Some(controller::test(project, resource, name)),
                    None,
                )?;
            }
        }
    }
    Ok(all)
}
