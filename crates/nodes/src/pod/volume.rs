//! The volumes of a pod's spec.

use std::borrow::Cow;

use kubewright_machinery::quantity::Quantity;
use serde::{Deserialize, de::IgnoredAny};

use super::plan::FieldRef;

/// A volume.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct VolumePlan {
    pub(crate) name: String,
    config_map: Option<VolumeRef>,
    secret: Option<VolumeRef>,
    #[serde(rename = "downwardAPI")]
    downward_api: Option<VolumeRef>,
    projected: Option<Projected>,
    pub(crate) host_path: Option<HostPath>,
    pub(crate) empty_dir: Option<EmptyDir>,
    persistent_volume_claim: Option<Claim>,
    ephemeral: Option<IgnoredAny>,
    pub(crate) image: Option<ImageSource>,
}

/// An image whose files a volume contains.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct ImageSource {
    pub(crate) reference: String,
}

/// A directory that lives as long as its pod.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct EmptyDir {
    medium: String,
}

/// An object whose data a volume contains.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct VolumeRef {
    name: String,
    secret_name: String,
    optional: bool,
    items: Vec<Item>,
    default_mode: Option<u32>,
}

/// A key and the path of its file.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Item {
    pub(crate) key: String,
    pub(crate) path: String,
    pub(crate) mode: Option<u32>,
    pub(crate) field_ref: Option<FieldRef>,
    pub(crate) resource_field_ref: Option<ResourceRef>,
}

/// A request or limit of a container.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ResourceRef {
    pub(crate) container_name: String,
    pub(crate) resource: String,
    pub(crate) divisor: Option<Quantity>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Projected {
    sources: Vec<ProjectedSource>,
    default_mode: Option<u32>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ProjectedSource {
    config_map: Option<VolumeRef>,
    secret: Option<VolumeRef>,
    #[serde(rename = "downwardAPI")]
    downward_api: Option<VolumeRef>,
    service_account_token: Option<TokenRef>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TokenRef {
    pub(crate) audience: String,
    pub(crate) expiration_seconds: Option<i64>,
    path: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct HostPath {
    pub(crate) path: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Claim {
    claim_name: String,
}

/// A source of the files of a volume.
pub(crate) enum Source<'a> {
    ConfigMap {
        name: &'a str,
        items: &'a [Item],
        optional: bool,
    },
    Secret {
        name: &'a str,
        items: &'a [Item],
        optional: bool,
    },
    Downward {
        items: &'a [Item],
    },
    Token {
        token: &'a TokenRef,
        path: &'a str,
    },
}

impl VolumePlan {
    /// Reports whether the files of the volume are kept in memory.
    pub(crate) fn is_in_memory(&self) -> bool {
        let directory = self.empty_dir.as_ref();
        self.shows_objects() || directory.is_some_and(|directory| directory.medium == "Memory")
    }

    /// Reports whether the files of the volume come from objects.
    pub(crate) fn shows_objects(&self) -> bool {
        self.config_map.is_some()
            || self.secret.is_some()
            || self.downward_api.is_some()
            || self.projected.is_some()
    }

    /// Returns the name of the claim whose volume it is.
    pub(crate) fn claim(&self, pod: &str) -> Option<Cow<'_, str>> {
        match &self.persistent_volume_claim {
            Some(claim) => Some(claim.claim_name.as_str().into()),
            None => {
                let name = &self.name;
                self.ephemeral.map(|_| format!("{pod}-{name}").into())
            }
        }
    }

    /// Returns the sources of the files, with the modes of the files.
    pub(crate) fn sources(&self) -> Vec<(Source<'_>, Option<u32>)> {
        let mut found = Vec::new();
        if let Some(map) = &self.config_map {
            found.push((map.as_config_map(), map.default_mode));
        }
        if let Some(secret) = &self.secret {
            found.push((secret.as_secret(&secret.secret_name), secret.default_mode));
        }
        if let Some(downward) = &self.downward_api {
            let items = downward.items.as_slice();
            found.push((Source::Downward { items }, downward.default_mode));
        }
        let Some(projected) = &self.projected else {
            return found;
        };
        for source in &projected.sources {
            let mode = projected.default_mode;
            if let Some(map) = &source.config_map {
                found.push((map.as_config_map(), mode));
            }
            if let Some(secret) = &source.secret {
                found.push((secret.as_secret(&secret.name), mode));
            }
            if let Some(downward) = &source.downward_api {
                let items = downward.items.as_slice();
                found.push((Source::Downward { items }, mode));
            }
            if let Some(token) = &source.service_account_token {
                let path = token.path.as_str();
                found.push((Source::Token { token, path }, mode));
            }
        }
        found
    }
}

impl VolumeRef {
    fn as_config_map(&self) -> Source<'_> {
        Source::ConfigMap {
            name: &self.name,
            items: &self.items,
            optional: self.optional,
        }
    }

    fn as_secret<'a>(&'a self, name: &'a str) -> Source<'a> {
        Source::Secret {
            name,
            items: &self.items,
            optional: self.optional,
        }
    }
}
