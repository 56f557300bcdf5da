//! The kinds of the tests, their storage, and requests.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use futures_util::StreamExt;
use http::{Method, Request};
use kube::{CustomResource, ResourceExt};
use kubewright_apiserver::Body;
use kubewright_extension_apiserver::{
    ChangeFeed, ChangeKind, Changes, ExtensionServer, ListQuery, Listing, Storage, Verbs,
};
use kubewright_machinery::{Status, gvk::GroupResource, status};
use kubewright_resource::Schema;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A comet.
#[derive(CustomResource, Schema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "sky.example.com",
    version = "v1",
    kind = "Comet",
    namespaced,
    status = "CometStatus",
    shortname = "co",
    category = "sky",
    selectable = ".spec.colour",
    scale(
        spec_replicas_path = ".spec.tails",
        status_replicas_path = ".status.tails"
    ),
    printcolumn(name = "Years", type_ = "integer", json_path = ".spec.years")
)]
#[schema(rule(
    "self.years < 1000 || self.tails == 1",
    message = "old comets have one tail"
))]
pub(crate) struct CometSpec {
    /// The orbital period.
    #[schema(minimum = 1)]
    pub(crate) years: i32,
    #[schema(default = "white")]
    pub(crate) colour: Option<String>,
    #[schema(default = 1)]
    pub(crate) tails: Option<i32>,
}

#[derive(Schema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct CometStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tails: Option<i32>,
}

/// Comets in a map, with a change feed.
#[derive(Clone)]
pub(crate) struct Comets {
    comets: Arc<Mutex<BTreeMap<(String, String), Comet>>>,
    pub(crate) feed: ChangeFeed<Comet>,
}

impl Default for Comets {
    fn default() -> Self {
        Self {
            comets: Arc::default(),
            feed: ChangeFeed::new(8),
        }
    }
}

fn key(comet: &Comet) -> (String, String) {
    (comet.namespace().unwrap_or_default(), comet.name_any())
}

fn comets() -> GroupResource {
    GroupResource::new("sky.example.com", "comets")
}

#[async_trait]
impl Storage<Comet> for Comets {
    fn verbs(&self) -> Verbs {
        Verbs::ALL
    }

    async fn get(&self, namespace: &str, name: &str) -> Result<Option<Comet>, Status> {
        let key = (namespace.to_owned(), name.to_owned());
        Ok(self.comets.lock().get(&key).cloned())
    }

    async fn list(&self, query: &ListQuery) -> Result<Listing<Comet>, Status> {
        let comets = self.comets.lock();
        let namespace = query.namespace.as_deref();
        let path = |(namespace, name): &(String, String)| format!("{namespace}/{name}");
        let selected = comets
            .iter()
            .filter(|((own, _), _)| namespace.is_none_or(|namespace| own == namespace))
            .filter(|(key, _)| query.start.as_ref().is_none_or(|start| path(key) > *start));
        let limit = query.limit.unwrap_or(usize::MAX);
        let items: Vec<Comet> = selected
            .clone()
            .take(limit)
            .map(|(_, c)| c.clone())
            .collect();
        let left = selected.count() - items.len();
        let last = items.last().map(|comet| path(&key(comet)));
        let listing = Listing::new(items).version(self.feed.version());
        Ok(match last {
            Some(last) if left > 0 => listing.next(last),
            _ => listing,
        })
    }

    async fn watch(&self, after: u64) -> Result<Changes<Comet>, Status> {
        self.feed.changes(after)
    }

    async fn create(&self, comet: Comet) -> Result<Comet, Status> {
        let mut comets = self.comets.lock();
        if comets.contains_key(&key(&comet)) {
            return Err(status::already_exists(&self::comets(), &comet.name_any()));
        }
        let comet = self.feed.record(ChangeKind::Created, comet, None);
        comets.insert(key(&comet), comet.clone());
        Ok(comet)
    }

    async fn update(&self, comet: Comet) -> Result<Comet, Status> {
        let mut comets = self.comets.lock();
        let old = comets.get(&key(&comet)).cloned();
        let Some(old) = old.filter(|old| old.resource_version() == comet.resource_version()) else {
            return Err(status::conflict(
                &self::comets(),
                &comet.name_any(),
                "changed",
            ));
        };
        let comet = self.feed.record(ChangeKind::Updated, comet, Some(old));
        comets.insert(key(&comet), comet.clone());
        Ok(comet)
    }

    async fn delete(&self, comet: &Comet) -> Result<(), Status> {
        let mut comets = self.comets.lock();
        if let Some(last) = comets.remove(&key(comet)) {
            self.feed
                .record(ChangeKind::Deleted, last.clone(), Some(last));
        }
        Ok(())
    }
}

pub(crate) const COMETS: &str = "/apis/sky.example.com/v1/namespaces/sky/comets";

pub(crate) fn comet(name: &str, years: i32) -> Value {
    json!({
        "apiVersion": "sky.example.com/v1",
        "kind": "Comet",
        "metadata": {"name": name},
        "spec": {"years": years},
    })
}

/// Sends a request. Returns the status code and the JSON of the response.
pub(crate) async fn send(
    server: &ExtensionServer,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> (u16, Value) {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = match body {
        Value::Null => Body::empty(),
        body => Body::from(body.to_string()),
    };
    let response = server.handle(request.body(body).unwrap()).await;
    let code = response.status().as_u16();
    let bytes = response.into_body().collect_up_to(16 << 20).await;
    let bytes = bytes.unwrap().unwrap();
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}

pub(crate) async fn get(server: &ExtensionServer, path: &str) -> (u16, Value) {
    send(server, Method::GET, path, &[], &Value::Null).await
}

pub(crate) async fn post(server: &ExtensionServer, path: &str, body: &Value) -> (u16, Value) {
    let json = [("content-type", "application/json")];
    send(server, Method::POST, path, &json, body).await
}

pub(crate) async fn put(server: &ExtensionServer, path: &str, body: &Value) -> (u16, Value) {
    let json = [("content-type", "application/json")];
    send(server, Method::PUT, path, &json, body).await
}

pub(crate) async fn apply(server: &ExtensionServer, path: &str, body: &Value) -> (u16, Value) {
    let apply = [("content-type", "application/apply-patch+yaml")];
    let path = format!("{path}?fieldManager=tests");
    send(server, Method::PATCH, &path, &apply, body).await
}

pub(crate) async fn delete(server: &ExtensionServer, path: &str) -> (u16, Value) {
    send(server, Method::DELETE, path, &[], &Value::Null).await
}

/// A watch, line by line.
pub(crate) struct Watch {
    body: Body,
    rest: Vec<u8>,
}

impl Watch {
    pub(crate) async fn start(server: &ExtensionServer, path: &str) -> Self {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response = server.handle(request).await;
        assert_eq!(response.status(), 200);
        Self {
            body: response.into_body(),
            rest: Vec::new(),
        }
    }

    /// Returns the type and object of the next event, or `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<(String, Value)> {
        use http_body_util::BodyExt;
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                let mut event: Value = serde_json::from_slice(&line).unwrap();
                let ty = event["type"].as_str().unwrap_or_default().to_owned();
                return Some((ty, event["object"].take()));
            }
            let frame = self.body.frame().await?.unwrap();
            self.rest.extend_from_slice(&frame.into_data().unwrap());
        }
    }
}

/// Returns the first change of a feed after a version.
pub(crate) async fn first_change(feed: &ChangeFeed<Comet>, after: u64) -> Result<String, Status> {
    let mut changes = feed.changes(after)?;
    let change = changes.next().await.expect("the feed is open")?;
    Ok(change.object.name_any())
}
