//! Plans the changes that bring the generated files up to date.

use kubewright_operator::Model;
use std::{collections::BTreeSet, fs, io};

use super::{
    File, Owner, Settings, Target, kustomize, render,
    stamp::{Mark, is_free, mark},
};
use crate::{
    Error,
    commands::api,
    plan::{Edits, Plan},
    project::Project,
};

/// Plans the changes that bring the files of a project up to date.
///
/// # Errors
///
/// Fails if a generated file was edited and edits are to be kept.
pub fn plan(
    project: &Project,
    model: &Model,
    targets: &[Target],
    edits: Edits,
) -> Result<Plan, Error> {
    let settings = Settings::of(project, model);
    let mut plan = Plan::new(project.root());
    let files = render(model, &settings, targets)?;
    let mut wanted: BTreeSet<String> = files.iter().map(|file| file.path.clone()).collect();
    // The kustomize tree includes this file in the samples.
    if model.definitions().next().is_some() {
        wanted.insert(kustomize::SAMPLES.to_owned());
    }
    for file in files {
        put(&mut plan, project, file, edits)?;
    }
    let directories: BTreeSet<&str> = Target::ALL
        .into_iter()
        .filter(|part| targets.iter().any(|target| target.includes(*part)))
        .flat_map(Target::directories)
        .copied()
        .collect();
    for directory in directories {
        for path in listed(project, directory)? {
            if !wanted.contains(&path) {
                drop_stale(&mut plan, &path, edits)?;
            }
        }
    }
    Ok(plan)
}

fn put(plan: &mut Plan, project: &Project, file: File, edits: Edits) -> Result<(), Error> {
    let Some(there) = plan.read(&file.path)? else {
        return plan.set(&file.path, Some(file.text));
    };
    match (file.owner, mark(&there)) {
        (Owner::User, _) => Ok(()),
        (Owner::FirstEditor, mark) => {
            match mark == Mark::Untouched || is_scaffolded(project, &file.path, &there) {
                true => plan.set(&file.path, Some(file.text)),
                false => Ok(()),
            }
        }
        (Owner::Tool, Mark::Untouched) => plan.set(&file.path, Some(file.text)),
        (Owner::Tool, _) if edits == Edits::Discard => plan.set(&file.path, Some(file.text)),
        (Owner::Tool, Mark::Edited) => Err(edited(&file.path)),
        (Owner::Tool, Mark::Absent) => Err(Error::new(
            format_args!("{} is there and was not generated", file.path),
            "move it away, or replace it with --force",
        )),
    }
}

fn drop_stale(plan: &mut Plan, path: &str, edits: Edits) -> Result<(), Error> {
    let there = plan.read(path)?.unwrap_or_default();
    match mark(&there) {
        Mark::Absent => Ok(()),
        Mark::Edited if is_free(&there) => Ok(()),
        Mark::Edited if edits == Edits::Keep => Err(edited(path)),
        Mark::Edited | Mark::Untouched => plan.set(path, None),
    }
}

fn edited(path: &str) -> Error {
    Error::new(
        format_args!("{path} was generated and then edited"),
        "move the change to the types, to operator.toml or to config/overlays, then discard it here with --force",
    )
}

/// Reports whether a sample is the one that `create api` wrote.
fn is_scaffolded(project: &Project, path: &str, text: &str) -> bool {
    let resource = project
        .resources
        .iter()
        .find(|one| one.sample_path() == path);
    resource.is_some_and(|resource| api::sample(project, resource) == text)
}

/// Returns the files of a directory.
fn listed(project: &Project, directory: &str) -> Result<Vec<String>, Error> {
    let full = project.root().join(directory);
    let entries = match fs::read_dir(&full) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Error::io("read", &full, &e)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|e| Error::io("read", &full, &e))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let readable = [".yaml", ".json", ".tpl", ".txt"];
        if entry.path().is_file() && readable.iter().any(|end| name.ends_with(end)) {
            names.push(format!("{directory}/{name}"));
        }
    }
    names.sort();
    Ok(names)
}
