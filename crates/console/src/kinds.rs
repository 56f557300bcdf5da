//! The kinds of the cluster, with the numbers of their objects.

use futures_util::{StreamExt, stream};
use http::StatusCode;
use kubewright_client::DiscoveryClient;
use serde_json::{Value, json};

use crate::forward;

/// The number of concurrent requests.
const AT_ONCE: usize = 8;

/// A kind, as described to the pages.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) resource: String,
    pub(crate) kind: String,
    pub(crate) namespaced: bool,
    pub(crate) short_names: Vec<String>,
    pub(crate) verbs: Vec<String>,
}

impl Kind {
    /// Returns the path of the objects, in all namespaces or in one.
    pub(crate) fn path(&self, namespace: Option<&str>) -> String {
        let root = match self.group.as_str() {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        };
        match namespace {
            Some(namespace) if self.namespaced => {
                format!("{root}/namespaces/{namespace}/{}", self.resource)
            }
            _ => format!("{root}/{}", self.resource),
        }
    }

    pub(crate) fn can(&self, verb: &str) -> bool {
        self.verbs.iter().any(|known| known == verb)
    }
}

/// Returns the kinds that can be listed, in their preferred versions.
pub(crate) async fn discover(client: &kube::Client) -> Result<Vec<Kind>, (StatusCode, String)> {
    let discovery = DiscoveryClient::new(client.clone());
    let found = discovery.discover().await;
    let found = found.map_err(|e| {
        (
            StatusCode::BAD_GATEWAY,
            format!("cannot discover the kinds: {e}"),
        )
    })?;
    let mut kinds = Vec::new();
    for list in found.preferred() {
        let (group, version) = list
            .group_version
            .split_once('/')
            .unwrap_or(("", list.group_version.as_str()));
        let resources = list.resources.iter().filter(|it| !it.name.contains('/'));
        kinds.extend(resources.map(|resource| Kind {
            group: group.to_owned(),
            version: version.to_owned(),
            resource: resource.name.clone(),
            kind: resource.kind.clone(),
            namespaced: resource.namespaced,
            short_names: resource.short_names.clone().unwrap_or_default(),
            verbs: resource.verbs.clone(),
        }));
    }
    kinds.retain(|kind| kind.can("list"));
    Ok(kinds)
}

/// Describes the kinds with the numbers of their objects, unless they cannot be listed.
pub(crate) async fn kinds(client: &kube::Client) -> Result<Value, (StatusCode, String)> {
    let kinds = discover(client).await?;
    let counted = stream::iter(kinds).map(|kind: Kind| {
        let client = client.clone();
        async move {
            let count = count(&client, &kind).await;
            json!({
                "group": kind.group,
                "version": kind.version,
                "resource": kind.resource,
                "kind": kind.kind,
                "namespaced": kind.namespaced,
                "shortNames": kind.short_names,
                "verbs": kind.verbs,
                "path": kind.path(None),
                "count": count,
            })
        }
    });
    let counted: Vec<Value> = counted.buffered(AT_ONCE).collect().await;
    Ok(json!({ "kinds": counted }))
}

async fn count(client: &kube::Client, kind: &Kind) -> Option<u64> {
    let path = format!("{}?limit=1", kind.path(None));
    let list = forward::get_json(client, &path).await?;
    let first = list["items"].as_array()?.len();
    let rest = list["metadata"]["remainingItemCount"].as_u64();
    Some(first as u64 + rest.unwrap_or(0))
}
