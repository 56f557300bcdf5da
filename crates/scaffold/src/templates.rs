//! The files of a project as templates with `{{name}}` placeholders.

use std::collections::BTreeMap;

macro_rules! templates {
    ($($name:ident = $file:literal,)*) => {
        $(pub(crate) const $name: &str = include_str!(concat!("../templates/", $file, ".tmpl"));)*
    };
}

templates! {
    CARGO_TOML = "Cargo.toml",
    CI = "ci.yml",
    DOCKERFILE = "Dockerfile",
    GITIGNORE = "gitignore",
    README = "README.md",
    MAIN = "main.rs",
    LIB = "lib.rs",
    API_MOD = "api_mod.rs",
    CONTROLLER_MOD = "controller_mod.rs",
    GROUP_MOD = "group_mod.rs",
    VERSION_MOD = "version_mod.rs",
    KIND = "kind.rs",
    CONTROLLER = "controller.rs",
    PLAIN_CONTROLLER = "plain_controller.rs",
    CONVERSION = "conversion.rs",
    TEST = "test.rs",
    VERSIONS_TEST = "versions_test.rs",
    SAMPLE = "sample.yaml",
    WEBHOOK_MOD = "webhook_mod.rs",
    WEBHOOK = "webhook.rs",
    DEFAULTER = "defaulter.rs",
    VALIDATOR = "validator.rs",
    WEBHOOK_TEST = "webhook_test.rs",
    DEFAULTER_TEST = "defaulter_test.rs",
    VALIDATOR_TEST = "validator_test.rs",
    README_APISERVER = "README_apiserver.md",
    APISERVER_MOD = "apiserver_mod.rs",
    APISERVER_STORAGE = "apiserver_storage.rs",
    APISERVER_STORE = "apiserver_store.rs",
    AGGREGATED_CONTROLLER_TEST = "aggregated_controller_test.rs",
    APISERVER_TEST = "apiserver_test.rs",
    SUBRESOURCE_OBJECT = "subresource_object.rs",
    SUBRESOURCE_LOG = "subresource_log.rs",
    SUBRESOURCE_UPDATE = "subresource_update.rs",
    SUBRESOURCE_CREATE = "subresource_create.rs",
    SUBRESOURCE_EXEC = "subresource_exec.rs",
    SUBRESOURCE_PORT_FORWARD = "subresource_port_forward.rs",
    SUBRESOURCE_TEST = "subresource_test.rs",
}

/// The values of a template.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values(BTreeMap<&'static str, String>);

impl Values {
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.0.insert(name, value.into());
        self
    }

    /// Returns the template with its values filled in. Placeholders without a value are kept, so that tests notice them.
    pub(crate) fn fill(&self, template: &str) -> String {
        let mut text = template.to_owned();
        for (name, value) in &self.0 {
            text = text.replace(&format!("{{{{{name}}}}}"), value);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_put_in() {
        let values = Values::default().with("kind", "Captain");
        assert_eq!(
            values.fill("{{{kind}}, {{kind}}Spec} {{left}}"),
            "{Captain, CaptainSpec} {{left}}"
        );
    }
}
