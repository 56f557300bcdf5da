//! `edit`: changes the settings of a project.

use crate::{
    Error,
    commands::package::Package,
    names,
    plan::Plan,
    project::{PROJECT_FILE, Project},
};

/// Changes the settings of a project.
///
/// ```
/// # use kubewright_scaffold::{Dependency, Edit, NewProject, Project};
/// # let directory = std::env::temp_dir().join(format!("kubewright-doc-edit-{}", std::process::id()));
/// # let new = NewProject { name: "crew".into(), domain: "example.com".into(), namespaced: false, kubewright: Dependency::Version("0.1.0".into()), package: Default::default() };
/// # new.plan(&directory)?.write()?;
/// # let project = Project::read(&directory)?;
/// let edit = Edit { domain: Some("ships.example".into()), ..Edit::default() };
/// let plan = edit.plan(&project)?;
/// assert!(plan.diff().contains("+domain = \"ships.example\""));
/// # std::fs::remove_dir_all(&directory).unwrap();
/// # Ok::<(), kubewright_scaffold::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Edit {
    /// The domain of new groups. It cannot be changed once the project has kinds.
    pub domain: Option<String>,
    /// Restricts the operator to its own namespace.
    pub namespaced: Option<bool>,
    /// Descriptive entries of `Cargo.toml`.
    pub package: Package,
}

impl Edit {
    /// Plans the changes to the project.
    ///
    /// # Errors
    ///
    /// Fails if a setting is not valid or cannot be changed any more.
    pub fn plan(&self, project: &Project) -> Result<Plan, Error> {
        let mut plan = Plan::new(project.root());
        let mut file = project.file().clone();
        if let Some(domain) = &self.domain {
            names::check_domain(domain)?;
            if let Some(kind) = project
                .resources
                .iter()
                .find(|one| one.api && *domain != project.domain)
            {
                return Err(Error::new(
                    format_args!(
                        "{} is in the group {} already",
                        kind.kind,
                        project.full_group(&kind.group)
                    ),
                    "keep the domain, or remove the kinds first",
                ));
            }
            file.set_text("domain", domain);
        }
        if let Some(namespaced) = self.namespaced {
            file.set_flag("namespaced", namespaced);
        }
        plan.set(PROJECT_FILE, Some(file.written()))?;
        if !self.package.is_empty() {
            let manifest = plan.read("Cargo.toml")?.unwrap_or_default();
            plan.set("Cargo.toml", Some(self.package.applied_to(&manifest)?))?;
        }
        Ok(plan)
    }
}
