//! `status`: what became of what was scaffolded.

use serde::Serialize;

use crate::{
    Error,
    commands::{api, controller, conversion::Conversion, targets},
    generate::stamp::{Mark, mark},
    names::Gvk,
    plan::Plan,
    project::{Project, controller_path, test_path},
};

/// What became of a file, or of a line in one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartStatus {
    /// What it belongs to: `crew/v1/Captain`.
    pub part: String,
    /// The file.
    pub path: String,
    /// What became of it.
    pub state: State,
}

/// What became of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It is as it was scaffolded.
    New,
    /// It has been worked on.
    Edited,
    /// It is not there.
    Missing,
    /// It is there, but `register` does not name it.
    Unregistered,
}

/// What became of everything that the project file records.
pub fn status(project: &Project) -> Result<Vec<PartStatus>, Error> {
    let plan = Plan::new(project.root());
    let library = plan.read("src/lib.rs")?.unwrap_or_default();
    let registered = |line: &str| library.lines().any(|existing| existing.trim() == line);
    let mut all = Vec::new();
    for resource in &project.resources {
        let part = format!("{}/{}/{}", resource.group, resource.version, resource.kind);
        let mut add = |path: String, scaffolded: Option<String>, line: Option<String>| {
            let state = match plan.read(&path)? {
                None => State::Missing,
                Some(_) if line.is_some_and(|line| !registered(&line)) => State::Unregistered,
                Some(text)
                    if scaffolded.as_ref() == Some(&text) || mark(&text) == Mark::Untouched =>
                {
                    State::New
                }
                Some(_) => State::Edited,
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
            add(path, scaffolded, Some(api::register_line(resource)))?;
            add(
                resource.sample_path(),
                Some(api::sample(project, resource)),
                None,
            )?;
        }
        for other in project.matching(&resource.group, "", &resource.kind) {
            let conversion = Conversion::new(project, resource, &other.version);
            // Which versions it was copied from is not recorded: those whose conversion is there.
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
        for name in &resource.controllers {
            let gvk = Gvk {
                group: resource.group.clone(),
                version: resource.version.clone(),
                kind: resource.kind.clone(),
            };
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
                    Some(controller::test(project, resource)),
                    None,
                )?;
            }
        }
    }
    Ok(all)
}
