//! How one version of a kind becomes another, and back: a file beside the types of the newer one.

use crate::{
    commands::api,
    project::{Project, Resource, plain},
    templates::{self, Values},
};

/// A file that converts.
pub(super) struct Conversion<'a> {
    project: &'a Project,
    to: &'a Resource,
    from: &'a str,
}

impl<'a> Conversion<'a> {
    pub(super) fn new(project: &'a Project, to: &'a Resource, from: &'a str) -> Self {
        Conversion { project, to, from }
    }

    pub(super) fn module(&self) -> String {
        format!("{}_from_{}", plain(&self.to.kind_module()), self.from)
    }

    /// The file that declares the module.
    pub(super) fn parent(&self) -> String {
        let group = self.to.group_module();
        format!("src/api/{}/{}/mod.rs", plain(&group), self.to.version)
    }

    pub(super) fn path(&self) -> String {
        self.parent()
            .replace("/mod.rs", &format!("/{}.rs", self.module()))
    }

    /// The line that registers it.
    pub(super) fn register_line(&self) -> String {
        let (group, version) = (self.to.group_module(), &self.to.version);
        format!(
            "api::{group}::{version}::{}::register(operator);",
            self.module()
        )
    }

    /// As it is scaffolded. Whether there is a status is seen in the types, or in a conversion that is there.
    pub(super) fn source(&self, seen: &str) -> String {
        let status = match seen.contains("status = \"") || seen.contains("status: old.status") {
            true => "            status: old.status.as_ref().map(alike).transpose()?,\n",
            false => "",
        };
        self.values()
            .with("status", status)
            .fill(templates::CONVERSION)
    }

    /// The file of the test.
    pub(super) fn test_path(&self) -> String {
        let (module, version) = (self.to.kind_module(), &self.to.version);
        format!("tests/{}_{}_{version}.rs", plain(&module), self.from)
    }

    /// The test, as it is scaffolded.
    pub(super) fn test(&self) -> String {
        self.values().fill(templates::VERSIONS_TEST)
    }

    fn values(&self) -> Values {
        let mut both = [self.from, self.to.version.as_str()];
        both.sort_unstable();
        api::values(self.project, self.to)
            .with("from", self.from)
            .with("both", both.join(", "))
    }
}
