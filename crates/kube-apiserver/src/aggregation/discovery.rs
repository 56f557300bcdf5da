//! The resources of another server, from its discovery documents.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::HeaderValue;
use kubewright_apiserver::aggregation::{OpenApiV2, RemoteResources};
use kubewright_machinery::json::Read;
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::{
    Aggregation,
    index::ApiService,
    probe::{self, Answer, Asked},
};
use crate::outgoing::Endpoint;

/// The time limit of a request.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum number of resources of a group version.
const MAX_RESOURCES: usize = 10_000;
const ACCEPT: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// The documents of another server about a group version.
#[derive(Clone, Default)]
pub(super) struct Documents {
    pub(super) remote: RemoteResources,
    /// The tags of the OpenAPI documents, by which the server knows whether they have changed.
    openapi_tag: Option<HeaderValue>,
    openapi_v2_tag: Option<HeaderValue>,
}

/// A document, and its tag.
struct Tagged<T> {
    contents: Option<T>,
    tag: Option<HeaderValue>,
}

impl Documents {
    /// Marks the documents as out of date.
    pub(super) fn into_stale(mut self) -> Self {
        self.remote.stale = true;
        self
    }
}

/// Asks another server for the resources of a group version, and for its OpenAPI documents. An OpenAPI document that is known
/// stays if it has not changed, and if the server fails to return it.
///
/// # Errors
///
/// Returns the reason if the server does not return the resources.
pub(super) async fn fetch(
    aggregation: &Aggregation,
    service: &ApiService,
    endpoint: &Endpoint,
    known: &Documents,
) -> Result<Documents, String> {
    let resources = async {
        match aggregated(aggregation, service, endpoint).await? {
            Some(resources) => Ok(resources),
            None => legacy(aggregation, service, endpoint).await,
        }
    };
    let (resources, v3, v2) = tokio::join!(
        resources,
        openapi(aggregation, service, endpoint, known),
        openapi_v2(aggregation, service, endpoint, known),
    );
    Ok(Documents {
        remote: RemoteResources {
            resources: resources?,
            stale: false,
            openapi: v3.contents,
            openapi_v2: v2.contents,
        },
        openapi_tag: v3.tag,
        openapi_v2_tag: v2.tag,
    })
}

async fn get(
    aggregation: &Aggregation,
    endpoint: &Endpoint,
    path: &str,
    asked: Asked<'_>,
) -> Result<Answer, String> {
    let answer = probe::get(aggregation, endpoint, path, asked);
    let answer = timeout(TIMEOUT, answer).await;
    answer.map_err(|_| format!("timed out waiting for {path}"))?
}

/// Returns the resources by aggregated discovery, or `None` if the server does not have it.
async fn aggregated(
    aggregation: &Aggregation,
    service: &ApiService,
    endpoint: &Endpoint,
) -> Result<Option<Vec<Value>>, String> {
    let asked = Asked {
        accept: Some(ACCEPT),
        ..Asked::default()
    };
    let answer = get(aggregation, endpoint, "/apis", asked).await?;
    if answer.code == 503 {
        return Err("the server is unavailable".to_owned());
    }
    if !answer.is_success || !answer.content_type.contains("as=APIGroupDiscoveryList") {
        return Ok(None);
    }
    let list: Value = serde_json::from_slice(&answer.body).map_err(|e| e.to_string())?;
    let groups = list["items"].items();
    let group = groups
        .iter()
        .find(|group| group["metadata"]["name"].text() == service.group);
    let versions = group.map(|group| group["versions"].items());
    let version = versions
        .into_iter()
        .flatten()
        .find(|version| version["version"].text() == service.version);
    let Some(version) = version else {
        return Ok(None);
    };
    let mut resources = version["resources"].items().to_vec();
    resources.truncate(MAX_RESOURCES);
    for resource in &mut resources {
        if resource["responseKind"].is_null() {
            resource["responseKind"] = json!({});
        }
    }
    Ok(Some(resources))
}

/// Returns the resources by the list of one group version.
async fn legacy(
    aggregation: &Aggregation,
    service: &ApiService,
    endpoint: &Endpoint,
) -> Result<Vec<Value>, String> {
    let path = format!("/apis/{}/{}", service.group, service.version);
    let answer = get(aggregation, endpoint, &path, Asked::default()).await?;
    if !answer.is_success {
        return Err(format!("bad status from {path}: {}", answer.code));
    }
    let list: Value = serde_json::from_slice(&answer.body).map_err(|e| e.to_string())?;
    Ok(converted(&list, &service.group, &service.version))
}

/// Converts an `APIResourceList` to the form of aggregated discovery: subresources belong to their resource.
fn converted(list: &Value, group: &str, version: &str) -> Vec<Value> {
    let mut resources: Vec<Value> = Vec::new();
    for item in list["resources"].items().iter().take(MAX_RESOURCES) {
        let kind = json!({
            "group": item["group"].text_or(group),
            "version": item["version"].text_or(version),
            "kind": item["kind"].text(),
        });
        let name = item["name"].text();
        let Some((parent, subresource)) = name.split_once('/') else {
            resources.push(resource(item, &kind));
            continue;
        };
        let known = resources
            .iter_mut()
            .find(|resource| resource["resource"].text() == parent);
        let Some(parent) = known else {
            continue;
        };
        let entry = json!({
            "subresource": subresource, "responseKind": kind, "verbs": item["verbs"],
        });
        match parent["subresources"].as_array_mut() {
            Some(subresources) => subresources.push(entry),
            None => parent["subresources"] = json!([entry]),
        }
    }
    resources
}

fn resource(item: &Value, kind: &Value) -> Value {
    let scope = match item["namespaced"].flag() {
        true => "Namespaced",
        false => "Cluster",
    };
    let mut resource = json!({
        "resource": item["name"],
        "responseKind": kind,
        "scope": scope,
        "singularResource": item["singularName"].text(),
        "verbs": item["verbs"],
    });
    for list in ["shortNames", "categories"] {
        if !item[list].items().is_empty() {
            resource[list] = item[list].clone();
        }
    }
    resource
}

/// Returns the address of the OpenAPI v3 document of a group version, if the server has one.
async fn openapi(
    aggregation: &Aggregation,
    service: &ApiService,
    endpoint: &Endpoint,
    known: &Documents,
) -> Tagged<String> {
    let last = Tagged {
        contents: known.remote.openapi.clone(),
        tag: known.openapi_tag.clone(),
    };
    let read = |body: &Bytes| {
        let index: Value = serde_json::from_slice(body).ok()?;
        let paths: &Map<String, Value> = index["paths"].as_object()?;
        let path = format!("apis/{}/{}", service.group, service.version);
        let Some(entry) = paths.get(&path) else {
            return Some(None);
        };
        let url = entry["serverRelativeURL"].as_str()?;
        // An address elsewhere would lead clients to resources of others.
        let own = format!("/openapi/v3/{path}");
        let rest = url.strip_prefix(&own)?;
        let is_own = rest.is_empty() || rest.starts_with('?');
        Some(is_own.then(|| url.to_owned()))
    };
    document(aggregation, endpoint, "/openapi/v3", last, read).await
}

/// Returns the part of the OpenAPI v2 document that is about a group version, if the server has one.
async fn openapi_v2(
    aggregation: &Aggregation,
    service: &ApiService,
    endpoint: &Endpoint,
    known: &Documents,
) -> Tagged<Arc<OpenApiV2>> {
    let last = Tagged {
        contents: known.remote.openapi_v2.clone(),
        tag: known.openapi_v2_tag.clone(),
    };
    let read = |body: &Bytes| {
        let part = OpenApiV2::read(body, &service.group, &service.version);
        Some(Some(Arc::new(part.ok()?)))
    };
    document(aggregation, endpoint, "/openapi/v2", last, read).await
}

/// Asks for a document. The last one stays if it has not changed, or if the server fails or returns one that cannot be read. A
/// server that has none says so by its status.
async fn document<T>(
    aggregation: &Aggregation,
    endpoint: &Endpoint,
    path: &str,
    last: Tagged<T>,
    read: impl Fn(&Bytes) -> Option<Option<T>>,
) -> Tagged<T> {
    let asked = Asked {
        known: last.tag.as_ref(),
        ..Asked::default()
    };
    let Ok(answer) = get(aggregation, endpoint, path, asked).await else {
        return last;
    };
    match answer.code {
        200..=299 => match read(&answer.body) {
            Some(contents) => Tagged {
                contents,
                tag: answer.etag,
            },
            None => last,
        },
        404..=406 | 410 => Tagged {
            contents: None,
            tag: None,
        },
        _ => last,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subresources_belong_to_their_resource() {
        let list = json!({"resources": [
            {"name": "planets", "singularName": "planet", "namespaced": false, "kind": "Planet",
             "verbs": ["get"], "shortNames": ["pl"]},
            {"name": "planets/orbit", "kind": "Orbit", "group": "other", "version": "v2", "verbs": ["get"]},
            {"name": "lost/log", "kind": "Lost", "verbs": ["get"]},
        ]});
        let resources = converted(&list, "sky.example.com", "v1");
        assert_eq!(
            resources,
            [json!({
                "resource": "planets",
                "responseKind": {"group": "sky.example.com", "version": "v1", "kind": "Planet"},
                "scope": "Cluster",
                "singularResource": "planet",
                "verbs": ["get"],
                "shortNames": ["pl"],
                "subresources": [{
                    "subresource": "orbit",
                    "responseKind": {"group": "other", "version": "v2", "kind": "Orbit"},
                    "verbs": ["get"],
                }],
            })]
        );
        for garbage in [json!(null), json!([]), json!({"resources": 5})] {
            assert!(converted(&garbage, "a", "v1").is_empty());
        }
    }
}
