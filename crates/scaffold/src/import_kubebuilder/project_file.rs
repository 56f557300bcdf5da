//! Reads kubebuilder's `PROJECT` file.

use kubewright_schema::yaml::parse_yaml;
use serde::Deserialize;

use crate::Error;

/// The parts of the file that matter here.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GoProject {
    #[serde(default)]
    pub(super) domain: String,
    #[serde(default)]
    pub(super) project_name: String,
    #[serde(default)]
    pub(super) namespaced: bool,
    #[serde(default)]
    version: String,
    #[serde(default)]
    pub(super) resources: Vec<GoResource>,
}

/// A version of a kind, with its controllers and webhooks.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GoResource {
    #[serde(default)]
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
    #[serde(default)]
    pub(super) domain: String,
    /// Set if the project defines the kind.
    pub(super) api: Option<GoApi>,
    #[serde(default)]
    controller: bool,
    #[serde(default)]
    controllers: Vec<GoController>,
    /// Set if the kind has webhooks.
    pub(super) webhooks: Option<serde_json::Value>,
}

/// The properties of a kind that the project defines.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct GoApi {}

/// A controller with its own name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct GoController {
    name: String,
}

impl GoProject {
    pub(super) fn read(text: &str) -> Result<GoProject, Error> {
        let wrong = |e: &dyn std::fmt::Display| {
            Error::new(
                format_args!("PROJECT cannot be read: {e}"),
                "give the directory of a project that kubebuilder made",
            )
        };
        let yaml = parse_yaml(text.as_bytes()).map_err(|e| wrong(&e))?;
        let value = yaml.node.into_value().map_err(|e| wrong(&e))?;
        let project: GoProject = serde_json::from_value(value).map_err(|e| wrong(&e))?;
        match project.version.as_str() {
            "3" => Ok(project),
            other => Err(Error::new(
                format_args!("PROJECT is of version {other:?}"),
                "bring it to version 3 with kubebuilder first",
            )),
        }
    }
}

impl GoResource {
    /// Returns the names of its controllers; an empty name means that of the kind.
    pub(super) fn controllers(&self) -> Vec<String> {
        let named = self.controllers.iter().map(|it| it.name.clone());
        let mut all: Vec<String> = named.collect();
        if all.is_empty() && self.controller {
            all.push(String::new());
        }
        all
    }

    /// Returns the full group name.
    pub(super) fn full_group(&self) -> String {
        let parts = [self.group.as_str(), self.domain.as_str()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join(".")
    }
}
