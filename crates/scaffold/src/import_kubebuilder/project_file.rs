//! kubebuilder's `PROJECT`: what it has scaffolded.

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

/// A version of a kind, and what there is for it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GoResource {
    #[serde(default)]
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
    #[serde(default)]
    pub(super) domain: String,
    /// Whether the project defines it.
    pub(super) api: Option<GoApi>,
    #[serde(default)]
    controller: bool,
    #[serde(default)]
    controllers: Vec<GoController>,
    /// Whether there are webhooks for it.
    pub(super) webhooks: Option<serde_json::Value>,
}

/// What is known of a kind that the project defines.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct GoApi {}

/// A controller that has a name of its own.
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
    /// The names of its controllers; an empty one is that of the kind.
    pub(super) fn controllers(&self) -> Vec<String> {
        let named = self.controllers.iter().map(|it| it.name.clone());
        let mut all: Vec<String> = named.collect();
        if all.is_empty() && self.controller {
            all.push(String::new());
        }
        all
    }

    /// The group as the API says it.
    pub(super) fn full_group(&self) -> String {
        let parts = [self.group.as_str(), self.domain.as_str()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join(".")
    }
}
