//! `add version`: adds a version of a kind.
//!
//! The new version starts as a copy of an existing one. Unless it is made the storage version, objects are stored as before and
//! served in both. A separate file converts between the two; a test checks that nothing is lost.

use crate::{
    Error,
    commands::{api, conversion::Conversion, kube_attribute, registration, storage},
    names,
    plan::Plan,
    project::{PROJECT_FILE, Project},
};

/// Adds a version of a kind.
///
/// ```
/// # use kubewright_scaffold::{AddApi, AddVersion, Dependency, Gvk, NewProject, Project};
/// # let directory = std::env::temp_dir().join(format!("kubewright-doc-version-{}", std::process::id()));
/// # let new = NewProject { name: "crew".into(), domain: "example.com".into(), namespaced: false, kubewright: Dependency::Version("0.1.0".into()), package: Default::default() };
/// # new.plan(&directory)?.write()?;
/// # let captain = AddApi { gvk: Gvk::parse("crew/v1/Captain")?, plural: None, namespaced: true, resource: true, controller: true, force: false };
/// # captain.plan(&Project::read(&directory)?)?.write()?;
/// # let project = Project::read(&directory)?;
/// let add = AddVersion {
///     group: "crew".into(),
///     kind: "Captain".into(),
///     version: "v2".into(),
///     from: "v1".into(),
///     storage: false,
/// };
/// let plan = add.plan(&project)?;
/// assert!(plan.changes().iter().any(|change| change.path == "src/api/crew/v2/captain.rs"));
/// # std::fs::remove_dir_all(&directory).unwrap();
/// # Ok::<(), kubewright_scaffold::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct AddVersion {
    /// The group. May be empty if the kind is unique.
    pub group: String,
    /// The kind. May be empty if the project has only one.
    pub kind: String,
    /// The version to add.
    pub version: String,
    /// The version to copy the types from.
    pub from: String,
    /// Makes the new version the storage version, which the controllers of the kind use from then on.
    pub storage: bool,
}

impl AddVersion {
    /// Plans the changes to the project.
    ///
    /// # Errors
    ///
    /// Fails if the kind or the version to copy does not exist, or if the new version does.
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
        if old.aggregated.is_some() {
            return Err(Error::new(
                format_args!("the program serves {} itself", old.kind),
                "write its other versions by hand, and add them with Kind::versions",
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
        new.owns.clear();
        new.webhooks = Default::default();
        let mut plan = Plan::new(project.root());
        let source = storage::types(&plan, old)?;
        let copy = kube_attribute::with_version(&source, &self.from, &self.version)?;
        let copy = kube_attribute::with_storage(&copy, &self.version, false)?;
        plan.create(&new.types_path(), copy)?;
        api::modules(&mut plan, project, &new)?;
        plan.create(&new.sample_path(), api::sample(project, &new))?;
        let conversion = Conversion::new(project, &new, &self.from);
        plan.create(&conversion.path(), conversion.source(&source))?;
        registration::declare(&mut plan, &conversion.parent(), &conversion.module(), "")?;
        registration::register(&mut plan, &conversion.register_line())?;
        plan.create(&conversion.test_path(), conversion.test())?;
        let mut file = project.file().clone();
        file.put(&new);
        if self.storage {
            let mut versions = project.matching(&old.group, "", &old.kind);
            versions.push(&new);
            storage::move_to(&mut plan, &mut file, &versions, &new)?;
        }
        plan.set(PROJECT_FILE, Some(file.written()))?;
        Ok(plan)
    }
}
