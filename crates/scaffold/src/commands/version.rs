//! `add version`: another version of a kind of the project.
//!
//! The new version begins as a copy of the types of another, and is not the one that is stored: objects are kept as before,
//! and seen through both. How one becomes the other is said in a file of its own; a test watches that nothing is lost.

use crate::{
    Error,
    commands::{api, conversion::Conversion, registration},
    names,
    plan::Plan,
    project::{PROJECT_FILE, Project},
};

/// A version to be.
#[derive(Clone, Debug)]
pub struct AddVersion {
    /// The group; empty if the kind says enough.
    pub group: String,
    /// The kind; empty if the project has only one.
    pub kind: String,
    /// The version to make.
    pub version: String,
    /// The version to copy.
    pub from: String,
}

impl AddVersion {
    /// What is to be done to the project.
    pub fn plan(&self, project: &Project) -> Result<Plan, Error> {
        names::check_version(&self.version)?;
        names::check_version(&self.from)?;
        let old = project.one(&self.group, &self.from, &self.kind)?;
        if !old.api {
            return Err(Error::new(
                format_args!("{} is built into Kubernetes", old.kind),
                "name a kind of the project",
            ));
        }
        if !project
            .matching(&old.group, &self.version, &old.kind)
            .is_empty()
        {
            return Err(Error::new(
                format_args!("{}/{}/{} exists already", old.group, self.version, old.kind),
                "choose another version",
            ));
        }
        let mut new = old.clone();
        new.version.clone_from(&self.version);
        new.controllers.clear();
        let mut plan = Plan::new(project.root());
        let source = plan.read(&old.types_path())?.ok_or_else(|| {
            Error::new(
                format_args!("{} is not there", old.types_path()),
                "put the types there, or make them anew with `kubewright create api --force`",
            )
        })?;
        plan.create(&new.types_path(), self.copied(&source)?, false)?;
        api::modules(&mut plan, project, &new)?;
        plan.create(&new.sample_path(), api::sample(project, &new), false)?;
        let conversion = Conversion::new(project, &new, &self.from);
        plan.create(&conversion.path(), conversion.source(&source), false)?;
        registration::declare(&mut plan, &conversion.parent(), &conversion.module(), "")?;
        registration::register(&mut plan, &conversion.register_line())?;
        plan.create(&conversion.test_path(), conversion.test(), false)?;
        let mut file = project.file().clone();
        file.put(&new);
        plan.set(PROJECT_FILE, Some(file.written()))?;
        Ok(plan)
    }

    /// The types with the new version, which is not stored.
    fn copied(&self, source: &str) -> Result<String, Error> {
        let old = format!("version = \"{}\"", self.from);
        if source.matches(&old).count() != 1 {
            return Err(Error::new(
                format_args!("the types of {} do not say {old} once", self.from),
                "write it in #[kube(...)], on a line of its own",
            ));
        }
        let without = source
            .lines()
            .filter(|line| !matches!(line.trim(), "storage = true," | "storage = false,"))
            .fold(String::new(), |text, line| text + line + "\n");
        let new = format!("version = \"{}\",\n    storage = false", self.version);
        Ok(without.replacen(&old, &new, 1))
    }
}
