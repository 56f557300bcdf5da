//! What an operator says of itself: the source of all manifests.
//!
//! It is JSON on the way to the tool, so its fields only ever become more; [`VERSION`] says when that rule was broken.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::ApiResource;
use kubewright_controller::Builder;
use serde::{Deserialize, Serialize};

/// The version of this form.
pub const VERSION: u32 = 1;

/// An operator, described.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// The version of this form: [`VERSION`].
    pub model: u32,
    /// The name of the program.
    pub name: String,
    /// The version of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// A definition for each kind, with all its versions.
    pub definitions: Vec<CustomResourceDefinition>,
    /// The names of definitions whose objects it converts from version to version.
    #[serde(default)]
    pub conversions: Vec<String>,
    /// The controllers.
    pub controllers: Vec<ControllerModel>,
    /// The permissions it needs, as they were found: not merged.
    pub rules: Vec<RuleModel>,
}

/// A controller, described.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControllerModel {
    /// Its name.
    pub name: String,
    /// The kind it is for.
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    pub main: Option<KindModel>,
    /// The kinds whose objects it owns.
    #[serde(default)]
    pub owns: Vec<KindModel>,
    /// The other kinds it watches.
    #[serde(default)]
    pub watches: Vec<KindModel>,
}

/// A kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct KindModel {
    /// The group; empty for the core.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The resource.
    pub plural: String,
}

/// A permission.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RuleModel {
    /// The groups; empty text for the core.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub api_groups: Vec<String>,
    /// The resources, subresources included.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// The names of the objects. Empty: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_names: Vec<String>,
    /// The URLs that are no resources.
    #[serde(rename = "nonResourceURLs", skip_serializing_if = "Vec::is_empty")]
    pub urls: Vec<String>,
    /// What may be done.
    pub verbs: Vec<String>,
    /// The namespace it holds in. `None`: wherever the operator works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The role it is part of. `None`: the operator's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
}

impl ControllerModel {
    /// What a controller will do, before there is one.
    pub fn of(builder: &Builder) -> Self {
        let main = builder.main_kind().map(KindModel::of);
        let owns: Vec<KindModel> = builder.owned_kinds().iter().map(KindModel::of).collect();
        let watches = builder
            .watched_kinds()
            .map(KindModel::of)
            .filter(|kind| Some(kind) != main.as_ref() && !owns.contains(kind))
            .collect();
        ControllerModel {
            name: builder.name().unwrap_or_default(),
            main,
            owns,
            watches,
        }
    }
}

impl KindModel {
    /// A kind, as kube names it.
    pub fn of(resource: &ApiResource) -> Self {
        KindModel {
            group: resource.group.clone(),
            version: resource.version.clone(),
            kind: resource.kind.clone(),
            plural: resource.plural.clone(),
        }
    }
}

impl RuleModel {
    /// A permission within one group.
    pub fn new(group: &str, resources: &[&str], verbs: &[&str]) -> Self {
        RuleModel {
            api_groups: vec![group.to_owned()],
            resources: texts(resources),
            verbs: texts(verbs),
            ..RuleModel::default()
        }
    }

    /// A permission for URLs that are no resources: `/metrics`.
    pub fn urls(urls: &[&str], verbs: &[&str]) -> Self {
        RuleModel {
            urls: texts(urls),
            verbs: texts(verbs),
            ..RuleModel::default()
        }
    }

    /// Only for objects of these names.
    #[must_use]
    pub fn named(mut self, names: &[&str]) -> Self {
        self.resource_names = texts(names);
        self
    }

    /// Only in this namespace.
    #[must_use]
    pub fn within(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// In a role of this name.
    #[must_use]
    pub fn in_role(mut self, role: &str) -> Self {
        self.role = Some(role.to_owned());
        self
    }
}

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|&text| text.to_owned()).collect()
}
