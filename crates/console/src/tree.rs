//! The owners and dependents of an object, according to owner references.

use std::collections::{HashMap, HashSet};

use futures_util::{StreamExt, stream};
use http::StatusCode;
use serde_json::{Value, json};

use crate::{
    forward,
    kinds::{Kind, discover},
};

/// The number of concurrent requests.
const AT_ONCE: usize = 8;

/// The maximum number of objects per kind that are examined.
const LOOKED_AT: usize = 10_000;

/// The maximum number of objects shown.
const SHOWN: usize = 200;

/// The maximum depth.
const DEEPEST: usize = 32;

/// The objects by uid, and the uids of dependents by that of their owner.
#[derive(Default)]
pub(crate) struct Graph {
    nodes: HashMap<String, Value>,
    owned: HashMap<String, Vec<String>>,
    /// The resources that cannot be listed.
    unseen: Vec<String>,
}

/// Returns the owners and dependents of the object with a uid. The query has `uid`, for a namespaced object
/// `namespace`, and `at` for the objects of an earlier revision.
pub(crate) async fn tree(
    client: &kube::Client,
    query: &str,
) -> Result<Value, (StatusCode, String)> {
    let (mut uid, mut namespace, mut at) = (String::new(), None, None);
    for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        let value = percent_encoding::percent_decode_str(value).decode_utf8_lossy();
        match name {
            "uid" => uid = value.into_owned(),
            "at" => at = value.parse().ok(),
            "namespace" if !value.is_empty() && !value.contains('/') => {
                namespace = Some(value.into_owned())
            }
            _ => {}
        }
    }
    let graph = Graph::read(client, namespace, at).await?;
    graph.tree(&uid).ok_or_else(|| {
        let message = "the object does not exist".to_owned();
        (StatusCode::NOT_FOUND, message)
    })
}

async fn listed(
    client: &kube::Client,
    kind: &Kind,
    namespace: Option<&str>,
    at: Option<u64>,
) -> (StatusCode, Value) {
    // Namespaced objects may be owned by cluster-scoped ones, which are few.
    let path = kind.path(namespace);
    let exact = at.map(|at| format!("&resourceVersion={at}&resourceVersionMatch=Exact"));
    let exact = exact.unwrap_or_default();
    forward::get(client, &format!("{path}?limit={LOOKED_AT}{exact}")).await
}

impl Graph {
    /// Reads the objects of a namespace or of all, now or at a revision.
    pub(crate) async fn read(
        client: &kube::Client,
        namespace: Option<String>,
        at: Option<u64>,
    ) -> Result<Self, (StatusCode, String)> {
        let kinds = discover(client).await?;
        let kinds = kinds.into_iter().filter(|kind| kind.can("delete"));
        let mut lists = stream::iter(kinds)
            .map(|kind: Kind| {
                let (client, namespace) = (client.clone(), namespace.clone());
                async move {
                    let list = listed(&client, &kind, namespace.as_deref(), at).await;
                    (kind, list)
                }
            })
            .buffered(AT_ONCE);
        let mut graph = Self::default();
        while let Some((kind, list)) = lists.next().await {
            match list {
                (code, list) if code.is_success() => graph.add(&kind, &list),
                // The revision has been compacted: of no kind is there a list.
                (StatusCode::GONE, status) => {
                    let message = status["message"].as_str().unwrap_or("the revision is gone");
                    return Err((StatusCode::GONE, message.to_owned()));
                }
                _ => graph.unseen.push(kind.resource),
            }
        }
        let nodes = &graph.nodes;
        for owned in graph.owned.values_mut() {
            owned.sort_by_key(|uid| {
                nodes
                    .get(uid)
                    .map(|node| (node["kind"].to_string(), node["name"].to_string()))
            });
            owned.dedup();
        }
        Ok(graph)
    }

    /// Returns the owners and dependents of the object with a uid; nothing if it does not exist.
    pub(crate) fn tree(&self, uid: &str) -> Option<Value> {
        if !self.nodes.contains_key(uid) {
            return None;
        }
        let (mut shown, mut omitted) = (HashSet::new(), 0);
        let below = self.below(uid, 0, &mut shown, &mut omitted);
        let (owners, unseen) = (self.above(uid), &self.unseen);
        Some(json!({"object": below, "owners": owners, "omitted": omitted, "unseen": unseen}))
    }

    fn add(&mut self, kind: &Kind, list: &Value) {
        for item in list["items"].as_array().into_iter().flatten() {
            let metadata = &item["metadata"];
            let Some(uid) = metadata["uid"].as_str() else {
                continue;
            };
            for owner in metadata["ownerReferences"].as_array().into_iter().flatten() {
                if let Some(owner) = owner["uid"].as_str() {
                    self.owned
                        .entry(owner.to_owned())
                        .or_default()
                        .push(uid.to_owned());
                }
            }
            let node = json!({
                "uid": uid,
                "kind": kind.kind,
                "group": kind.group,
                "resource": kind.resource,
                "name": metadata["name"],
                "namespace": metadata["namespace"],
                "created": metadata["creationTimestamp"],
                "deleting": !metadata["deletionTimestamp"].is_null(),
                "owners": metadata["ownerReferences"],
                "conditions": item["status"]["conditions"],
                "phase": item["status"]["phase"],
            });
            self.nodes.insert(uid.to_owned(), node);
        }
    }

    /// Returns an object with all its dependents. Cycles are cut, and so is everything beyond the limits.
    fn below(
        &self,
        uid: &str,
        depth: usize,
        shown: &mut HashSet<String>,
        omitted: &mut usize,
    ) -> Value {
        let mut node = self.nodes.get(uid).cloned().unwrap_or_default();
        shown.insert(uid.to_owned());
        let mut owns = Vec::new();
        for child in self.owned.get(uid).into_iter().flatten() {
            if shown.contains(child) {
                continue;
            }
            match shown.len() < SHOWN && depth < DEEPEST {
                true => owns.push(self.below(child, depth + 1, shown, omitted)),
                false => *omitted += 1,
            }
        }
        node["owns"] = owns.into();
        node
    }

    /// Returns the owners, nearest first. An owner that does not exist is marked.
    fn above(&self, uid: &str) -> Vec<Value> {
        let (mut above, mut seen) = (Vec::new(), HashSet::new());
        let mut next = vec![uid.to_owned()];
        while let Some(uid) = next.pop() {
            let owners = self.nodes.get(&uid).map(|node| node["owners"].clone());
            for owner in owners.iter().filter_map(Value::as_array).flatten() {
                let Some(uid) = owner["uid"].as_str() else {
                    continue;
                };
                if above.len() < DEEPEST && seen.insert(uid.to_owned()) {
                    above.push(match self.nodes.get(uid) {
                        Some(node) => node.clone(),
                        None => json!({"uid": uid, "kind": owner["kind"], "name": owner["name"], "missing": true}),
                    });
                    next.push(uid.to_owned());
                }
            }
        }
        above
    }
}
