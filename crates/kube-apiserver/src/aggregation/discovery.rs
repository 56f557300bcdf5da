//! The resources of another server, from its discovery documents.

use std::time::Duration;

use kubewright_apiserver::aggregation::RemoteResources;
use kubewright_machinery::json::Read;
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::{Aggregation, index::ApiService, probe};
use crate::outgoing::Endpoint;

/// The time limit of a request.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum number of resources of a group version.
const MAX_RESOURCES: usize = 10_000;
const ACCEPT: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// Asks another server for the resources of a group version.
///
/// # Errors
///
/// Returns the reason if it has no usable answer.
pub(super) async fn fetch(
    aggregation: &Aggregation,
    service: &ApiService,
    endpoint: &Endpoint,
) -> Result<RemoteResources, String> {
    let resources = match aggregated(aggregation, service, endpoint).await? {
        Some(resources) => resources,
        None => legacy(aggregation, service, endpoint).await?,
    };
    Ok(RemoteResources {
        resources,
        stale: false,
        openapi: openapi(aggregation, service, endpoint).await,
    })
}

async fn get(
    aggregation: &Aggregation,
    endpoint: &Endpoint,
    path: &str,
    accept: Option<&'static str>,
) -> Result<probe::Answer, String> {
    let answer = probe::get(aggregation, endpoint, path, accept);
    let answer = timeout(TIMEOUT, answer).await;
    answer.map_err(|_| format!("timed out waiting for {path}"))?
}

/// Returns the resources by aggregated discovery, or `None` if the server does not have it.
async fn aggregated(
    aggregation: &Aggregation,
    service: &ApiService,
    endpoint: &Endpoint,
) -> Result<Option<Vec<Value>>, String> {
    let answer = get(aggregation, endpoint, "/apis", Some(ACCEPT)).await?;
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
    let answer = get(aggregation, endpoint, &path, None).await?;
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
) -> Option<String> {
    let answer = get(aggregation, endpoint, "/openapi/v3", None).await.ok()?;
    let index: Value = serde_json::from_slice(&answer.body).ok()?;
    let paths: &Map<String, Value> = index["paths"].as_object()?;
    let path = format!("apis/{}/{}", service.group, service.version);
    let url = paths.get(&path)?["serverRelativeURL"].as_str()?;
    // An address elsewhere would lead clients to resources of others.
    let own = format!("/openapi/v3/{path}");
    let rest = url.strip_prefix(&own)?;
    (rest.is_empty() || rest.starts_with('?')).then(|| url.to_owned())
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
