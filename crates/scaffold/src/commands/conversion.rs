//! The conversion between two versions of a kind: a file next to the types of the newer version.

use crate::{
    commands::api,
    project::{Project, Resource, plain},
    templates::{self, Values},
};

/// A file with the conversion between two versions.
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

    /// Returns the file that declares the module.
    pub(super) fn parent(&self) -> String {
        let group = self.to.group_module();
        format!("src/api/{}/{}/mod.rs", plain(&group), self.to.version)
    }

    pub(super) fn path(&self) -> String {
        self.parent()
            .replace("/mod.rs", &format!("/{}.rs", self.module()))
    }

    /// Returns the line that registers the conversion.
    pub(super) fn register_line(&self) -> String {
        let (group, version) = (self.to.group_module(), &self.to.version);
        format!(
            "api::{group}::{version}::{}::register(operator);",
            self.module()
        )
    }

    /// Returns the scaffolded file. The types, or an existing conversion, tell whether there is a status.
    pub(super) fn source(&self, seen: &str) -> String {
        let status = match seen.contains("status = \"") || seen.contains("status: old.status") {
            true => "            status: old.status.as_ref().map(copy_fields).transpose()?,\n",
            false => "",
        };
        self.values()
            .with("status", status)
            .fill(templates::CONVERSION)
    }

    /// Returns the path of the test.
    pub(super) fn test_path(&self) -> String {
        let (module, version) = (self.to.kind_module(), &self.to.version);
        format!("tests/{}_{}_{version}.rs", plain(&module), self.from)
    }

    /// Returns the scaffolded test.
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
