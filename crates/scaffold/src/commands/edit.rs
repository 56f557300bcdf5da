//! `edit`: settings of a project.

use crate::{
    Error, names,
    plan::Plan,
    project::{PROJECT_FILE, Project},
};

/// Settings to change.
#[derive(Clone, Debug, Default)]
pub struct Edit {
    /// The domain of groups to come. It cannot change once there are kinds.
    pub domain: Option<String>,
    /// Whether the operator works in namespaces of its own only.
    pub namespaced: Option<bool>,
}

impl Edit {
    /// What is to be done to the project.
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
        Ok(plan)
    }
}
