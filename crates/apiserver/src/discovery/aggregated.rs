//! The aggregated documents (`APIGroupDiscoveryList`), with their entity tags.
//!
//! The tag is the hash of the document without its type, which makes it equal to the tag of kube-apiserver for an equal
//! document.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use kubewright_machinery::gvk::GroupVersionKind;
use ring::digest::{SHA512, digest};
use serde::Serialize;
use serde_json::Value;

use super::{
    Format,
    groups::{DiscoveredGroup, DiscoveredVersion, Source},
    legacy::verbs,
};
use crate::registry::{Resource, Shape, Subresource, SubresourceKind};

/// An aggregated document.
#[derive(Clone, Debug)]
pub(crate) struct Aggregated {
    /// JSON on one line.
    pub json: Bytes,
    /// The entity tag, quoted.
    pub etag: HeaderValue,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct List<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    kind: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    api_version: &'static str,
    metadata: Metadata<'a>,
    items: &'a [GroupItem<'a>],
}

#[derive(Default, Serialize)]
struct Metadata<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
}

#[derive(Serialize)]
struct GroupItem<'a> {
    metadata: Metadata<'a>,
    versions: Vec<VersionItem<'a>>,
}

#[derive(Serialize)]
struct VersionItem<'a> {
    version: &'a str,
    resources: Resources<'a>,
    freshness: &'static str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Resources<'a> {
    Local(Vec<ResourceItem<'a>>),
    Remote(&'a [Value]),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceItem<'a> {
    resource: &'a str,
    response_kind: Kind<'a>,
    scope: &'static str,
    singular_resource: &'a str,
    verbs: Vec<String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    short_names: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    categories: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subresources: Vec<SubresourceItem<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SubresourceItem<'a> {
    subresource: &'a str,
    response_kind: Kind<'a>,
    verbs: Vec<String>,
}

#[derive(Serialize)]
struct Kind<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a str,
}

impl Aggregated {
    /// Builds the document of the core group, or of all others.
    pub(super) fn new(groups: &[DiscoveredGroup], core: bool) -> Self {
        let items: Vec<GroupItem<'_>> = groups
            .iter()
            .filter(|group| group.name.is_empty() == core)
            .map(|group| GroupItem {
                metadata: Metadata { name: &group.name },
                versions: group.versions.iter().map(version_item).collect(),
            })
            .collect();
        let document = |kind, api_version| {
            let list = List {
                kind,
                api_version,
                metadata: Metadata::default(),
                items: &items,
            };
            serde_json::to_vec(&list).expect("a document is plain data")
        };
        let mut tag = String::from("\"");
        for byte in digest(&SHA512, &document("", "")).as_ref() {
            tag.push_str(&format!("{byte:02X}"));
        }
        tag.push('"');
        Self {
            json: document("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2").into(),
            etag: HeaderValue::try_from(tag).expect("hexadecimal digits"),
        }
    }

    /// Returns whether the client has this document already, and gets a 304 without a body.
    pub(crate) fn is_known(&self, request: &HeaderMap) -> bool {
        request.get(header::IF_NONE_MATCH) == Some(&self.etag)
    }

    /// Returns the headers of the response. A 304 has no content, and so no format.
    pub(crate) fn headers(&self, format: Option<Format>) -> HeaderMap {
        let mut headers = HeaderMap::with_capacity(4);
        headers.insert(header::ETAG, self.etag.clone());
        headers.insert(header::VARY, HeaderValue::from_static("Accept"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public"));
        if let Some(format) = format {
            headers.insert(
                header::CONTENT_TYPE,
                HeaderValue::from_static(format.content_type()),
            );
        }
        headers
    }
}

fn version_item(version: &DiscoveredVersion) -> VersionItem<'_> {
    let (resources, stale) = match &version.source {
        Source::Local(all) => {
            let items = all.iter().map(|resource| resource_item(resource));
            (Resources::Local(items.collect()), false)
        }
        Source::Remote(remote) => (Resources::Remote(&remote.resources), remote.stale),
    };
    VersionItem {
        version: &version.name,
        resources,
        freshness: if stale { "Stale" } else { "Current" },
    }
}

fn resource_item(resource: &Resource) -> ResourceItem<'_> {
    ResourceItem {
        resource: &resource.spec.plural,
        response_kind: response_kind(resource, &resource.spec.kind),
        scope: if resource.spec.namespaced {
            "Namespaced"
        } else {
            "Cluster"
        },
        singular_resource: &resource.spec.singular,
        verbs: verbs(&resource.spec.verbs, &resource.handlers),
        short_names: &resource.spec.short_names,
        categories: &resource.spec.categories,
        subresources: resource
            .subresources
            .iter()
            .map(|s| subresource_item(resource, s))
            .collect(),
    }
}

fn subresource_item<'a>(resource: &'a Resource, sub: &'a Subresource) -> SubresourceItem<'a> {
    let kind = match &sub.kind {
        SubresourceKind::Parent => &resource.spec.kind,
        SubresourceKind::Other(kind, _) => kind,
    };
    SubresourceItem {
        subresource: &sub.name,
        response_kind: response_kind(resource, kind),
        verbs: verbs(&sub.verbs, &sub.handlers),
    }
}

/// Returns the kind of responses. Built-in kinds of the same version have neither group nor version; custom kinds have both.
fn response_kind<'a>(resource: &Resource, kind: &'a GroupVersionKind) -> Kind<'a> {
    let built_in = matches!(resource.spec.shape, Shape::Typed(_));
    if built_in && kind.group_version() == resource.spec.group_version {
        return Kind {
            group: "",
            version: "",
            kind: &kind.kind,
        };
    }
    Kind {
        group: &kind.group,
        version: &kind.version,
        kind: &kind.kind,
    }
}
