//! The differences between a cluster and its fork.

use std::collections::BTreeMap;

use futures_util::{StreamExt, stream};
use http::StatusCode;
use kubewright_ledger::diff;
use serde_json::{Value, json};

use crate::{
    forward,
    kinds::{Kind, discover},
};

/// The number of concurrent requests.
const AT_ONCE: usize = 8;

/// The maximum number of objects per kind that are compared.
const LOOKED_AT: usize = 10_000;

/// The maximum number of differences.
const MOST: usize = 200;

/// The fields that differ although nothing has changed.
const BY_NATURE: [&str; 2] = ["resourceVersion", "managedFields"];

/// Compares all objects except events and leases.
pub(super) async fn compare(
    ours: &kube::Client,
    theirs: &kube::Client,
) -> Result<Value, (StatusCode, String)> {
    let mut kinds = discover(ours).await?;
    for kind in discover(theirs).await? {
        let is_same = |it: &Kind| it.group == kind.group && it.resource == kind.resource;
        if !kinds.iter().any(is_same) {
            kinds.push(kind);
        }
    }
    kinds.retain(|kind| {
        kind.can("delete") && !matches!(kind.resource.as_str(), "events" | "leases")
    });
    let mut lists = stream::iter(kinds)
        .map(|kind: Kind| {
            let (ours, theirs) = (ours.clone(), theirs.clone());
            async move {
                let (ours, theirs) = tokio::join!(objects(&ours, &kind), objects(&theirs, &kind));
                (kind, ours, theirs)
            }
        })
        .buffered(AT_ONCE);
    let (mut items, mut is_truncated) = (Vec::new(), false);
    while let Some((kind, ours, theirs)) = lists.next().await {
        for difference in differences(&kind, &ours, &theirs) {
            match items.len() < MOST {
                true => items.push(difference),
                false => is_truncated = true,
            }
        }
    }
    Ok(json!({"items": items, "truncated": is_truncated}))
}

/// Returns the objects of a kind by namespace and name. A kind that one side does not serve has none there.
async fn objects(client: &kube::Client, kind: &Kind) -> BTreeMap<(String, String), Value> {
    let path = format!("{}?limit={LOOKED_AT}", kind.path(None));
    let mut list = forward::get_json(client, &path).await.unwrap_or_default();
    let items = match list["items"].take() {
        Value::Array(items) => items,
        _ => Vec::new(),
    };
    let keyed = items.into_iter().map(|mut object| {
        let metadata = &mut object["metadata"];
        let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
        let key = (text("namespace"), text("name"));
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.retain(|field, _| !BY_NATURE.contains(&field.as_str()));
        }
        (key, object)
    });
    keyed.collect()
}

fn differences(
    kind: &Kind,
    ours: &BTreeMap<(String, String), Value>,
    theirs: &BTreeMap<(String, String), Value>,
) -> Vec<Value> {
    let mut keys: Vec<_> = ours.keys().chain(theirs.keys()).collect();
    keys.sort();
    keys.dedup();
    let mut found = Vec::new();
    for key in keys {
        let (change, fields) = match (ours.get(key), theirs.get(key)) {
            (Some(ours), Some(theirs)) if ours != theirs => ("updated", diff(ours, theirs).0),
            (Some(_), None) => ("deleted", Vec::new()),
            (None, Some(_)) => ("created", Vec::new()),
            _ => continue,
        };
        let (namespace, name) = key;
        found.push(json!({
            "group": kind.group, "resource": kind.resource, "namespace": namespace, "name": name,
            "change": change, "diff": fields,
        }));
    }
    found
}
