//! OpenAPI documents.
//!
//! `/openapi/v3` lists documents, one for each group version and a few small ones; `/openapi/v2` is one document with
//! everything. `kubectl explain`, `diff`, `edit`, `create` and `apply` use them.
//!
//! An [`OpenApi`] belongs to one [`Registry`]. A document is built on the first request, cached in compressed form, and sent
//! from the cache. Paths and operations are derived from the resources and their handlers. Schemas come from the catalog for
//! typed kinds, and from the resource for others ([`ResourceSpec::openapi`](crate::registry::ResourceSpec::openapi)); one
//! document may have both. Descriptions come from a separate source ([`Descriptions`]).
//!
//! Fields have the order of kube-apiserver, so that equal documents have equal bytes and its hashes.

mod answer;
mod custom;
mod definitions;
mod describe;
mod json;
mod kept;
mod merged;
mod model;
mod names;
mod parameters;
mod path_item;
mod paths;
mod protobuf;
mod schema;
mod v2;
mod v3;

use std::{
    collections::BTreeMap,
    io::Write,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use kubewright_machinery::gvk::GroupVersion;
use serde::Serialize;

pub use describe::{Descriptions, Undescribed};
pub use merged::OpenApiV2;
pub(crate) use merged::{MergedV2, parts as remote_parts};

use crate::{
    aggregation::GroupVersionInfo,
    registry::{Registry, Resource},
};
use kept::Kept;
use model::Path;

/// The OpenAPI documents of a registry.
pub(crate) struct OpenApi {
    registry: Arc<Registry>,
    descriptions: Arc<dyn Descriptions>,
    version: String,
    documents: BTreeMap<String, (Part, Kept)>,
    index: OnceLock<Bytes>,
    all: Kept,
    all_protobuf: Kept,
}

/// The subject of a v3 document.
enum Part {
    /// `/api/`
    Core,
    /// `/apis/`
    Groups,
    /// `/apis/apps/`
    Group(String),
    /// `/apis/apps/v1` and below
    Version(GroupVersion),
    /// `/version/`
    VersionInfo,
}

#[derive(Serialize)]
struct Index<'a> {
    paths: BTreeMap<&'a str, IndexEntry>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct IndexEntry {
    #[serde(rename = "serverRelativeURL")]
    server_relative_url: String,
}

/// The info object of a document.
#[derive(Serialize)]
struct Info<'a> {
    title: &'static str,
    version: &'a str,
}

/// The security scheme.
#[derive(Serialize)]
#[serde(untagged)]
enum SecurityScheme {
    V2 {
        description: &'static str,
        r#type: &'static str,
        name: &'static str,
        r#in: &'static str,
    },
    V3 {
        r#type: &'static str,
        description: &'static str,
        name: &'static str,
        r#in: &'static str,
    },
}

impl OpenApi {
    /// Returns the documents of a registry. The version is that of Kubernetes: `1.36`.
    pub(crate) fn new(
        registry: Arc<Registry>,
        descriptions: Arc<dyn Descriptions>,
        version: impl Into<String>,
    ) -> Self {
        let mut parts = vec![
            ("apis".to_owned(), Part::Groups),
            ("version".to_owned(), Part::VersionInfo),
        ];
        for group in registry.groups() {
            let built_in = |(_, resources): &(String, Vec<Arc<Resource>>)| {
                resources.iter().any(|r| paths::is_built_in(r))
            };
            let base = match group.name.as_str() {
                "" => "api".to_owned(),
                name => format!("apis/{name}"),
            };
            for (version, _) in &group.versions {
                let version = GroupVersion::new(&group.name, version);
                parts.push((
                    format!("{base}/{}", version.version),
                    Part::Version(version),
                ));
            }
            if group.name.is_empty() {
                parts.push((base, Part::Core));
            } else if group.versions.iter().any(built_in) {
                parts.push((base, Part::Group(group.name.clone())));
            }
        }
        Self {
            registry,
            descriptions,
            version: version.into(),
            documents: parts
                .into_iter()
                .map(|(name, part)| (name, (part, Kept::default())))
                .collect(),
            index: OnceLock::new(),
            all: Kept::default(),
            all_protobuf: Kept::default(),
        }
    }

    /// Returns the list of documents, each with a URL that changes with its content.
    pub(crate) fn index(&self) -> Bytes {
        let make = || {
            let paths = self.documents.iter().map(|(name, (part, kept))| {
                let hash = &kept.seal(|out| self.write(part, out)).hash;
                let server_relative_url = address(name, hash);
                (
                    name.as_str(),
                    IndexEntry {
                        server_relative_url,
                    },
                )
            });
            let paths = paths.collect();
            json::encode(&Index { paths }).into()
        };
        self.index.get_or_init(make).clone()
    }

    /// Returns the list of documents with those of other servers, which go before those of this one.
    pub(crate) fn merged_index(&self, infos: &[GroupVersionInfo]) -> Bytes {
        let remote = infos.iter().filter_map(|info| {
            let url = info.remote.as_ref()?.openapi.as_ref()?;
            Some((format!("apis/{}/{}", info.group, info.version), url))
        });
        let remote: Vec<(String, &String)> = remote.collect();
        let own = self.index();
        if remote.is_empty() {
            return own;
        }
        let mut index: serde_json::Value = serde_json::from_slice(&own).unwrap_or_default();
        for (name, url) in remote {
            index["paths"][name] = serde_json::json!({"serverRelativeURL": url});
        }
        index.to_string().into()
    }

    /// Returns a document by its name in the index (`apis/apps/v1`).
    #[cfg(test)]
    pub(crate) fn document(&self, name: &str) -> Option<Vec<u8>> {
        let (part, _) = self.documents.get(name)?;
        let mut out = Vec::new();
        self.write(part, &mut out);
        Some(out)
    }

    /// Returns the v2 document.
    pub(crate) fn all(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write_all(&mut out);
        out
    }

    /// Returns the v2 document as protobuf.
    pub(crate) fn all_protobuf(&self) -> Vec<u8> {
        protobuf::encode(&self.all()).unwrap_or_default()
    }

    fn write_all(&self, out: &mut dyn Write) {
        let descriptions = &*self.descriptions;
        let mut all = vec![paths::of_groups(), paths::of_version_info()];
        for (part, _) in self.documents.values() {
            match part {
                Part::Core => all.push(paths::of_core()),
                Part::Group(name) => all.push(paths::of_group(name)),
                Part::Version(version) => all.extend(paths::of_version(
                    &version.group,
                    &version.version,
                    self.resources(version),
                    descriptions,
                )),
                Part::Groups | Part::VersionInfo => {}
            }
        }
        json::write(&v2::Document::new(self.info(), all, descriptions), out);
    }

    fn write_protobuf(&self, out: &mut dyn Write) {
        if let Err(error) = out.write_all(&self.all_protobuf()) {
            tracing::error!(%error, "a document could not be written");
        }
    }

    fn write(&self, part: &Part, out: &mut dyn Write) {
        let descriptions = &*self.descriptions;
        let mut home = GroupVersion::new("", "v1");
        let mut built_in = true;
        let paths: Vec<Path<'_>> = match part {
            Part::Core => vec![paths::of_core()],
            Part::Groups => vec![paths::of_groups()],
            Part::Group(name) => vec![paths::of_group(name)],
            Part::VersionInfo => vec![paths::of_version_info()],
            Part::Version(version) => {
                home = version.clone();
                let resources = self.resources(version);
                built_in = resources.iter().any(|r| paths::is_built_in(r));
                paths::of_version(&version.group, &version.version, resources, descriptions)
            }
        };
        let info = if built_in {
            self.info()
        } else {
            Info {
                title: "Kubernetes CRD Swagger",
                version: "v0.1.0",
            }
        };
        let document = v3::Document::new(info, built_in, paths, descriptions, home);
        json::write(&document, out);
    }

    fn info(&self) -> Info<'_> {
        Info {
            title: "Kubernetes",
            version: &self.version,
        }
    }

    fn resources(&self, wanted: &GroupVersion) -> &[Arc<Resource>] {
        let groups = self.registry.groups();
        let group = groups.iter().find(|group| group.name == wanted.group);
        let versions = group.map(|group| group.versions.as_slice());
        versions
            .unwrap_or_default()
            .iter()
            .find(|(version, _)| *version == wanted.version)
            .map(|(_, resources)| resources.as_slice())
            .unwrap_or_default()
    }
}

impl SecurityScheme {
    const TYPE: &'static str = "apiKey";
    const DESCRIPTION: &'static str = "Bearer Token authentication";
    const NAME: &'static str = "authorization";
    const IN: &'static str = "header";

    fn v2() -> Self {
        Self::V2 {
            description: Self::DESCRIPTION,
            r#type: Self::TYPE,
            name: Self::NAME,
            r#in: Self::IN,
        }
    }

    fn v3() -> Self {
        Self::V3 {
            r#type: Self::TYPE,
            description: Self::DESCRIPTION,
            name: Self::NAME,
            r#in: Self::IN,
        }
    }
}

/// Returns the URL of a document.
fn address(name: &str, hash: &str) -> String {
    format!("/openapi/v3/{name}?hash={hash}")
}

/// Returns the text of a status code.
fn reason(code: u16) -> &'static str {
    match code {
        201 => "Created",
        202 => "Accepted",
        401 => "Unauthorized",
        _ => "OK",
    }
}

#[cfg(test)]
mod tests;
