//! [`Writes`]: writes that the caches do not show yet.
//!
//! A layer around the client observes the responses to writes. The version of a response is recorded under resource and
//! key; a deletion that left nothing is recorded by the UID that must disappear. Records are dropped once a cache has
//! caught up, and there are never more than [`NOTES`] of a kind: beyond that, reads of the kind wait for the newest of
//! all.

use std::{
    cmp::Ordering,
    collections::HashMap,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use http::{Method, Request, Response};
use http_body_util::BodyExt;
use kube::client::Body;
use kubewright_client::{
    BoxError,
    stream::scan::{ObjectReader, text},
};
use kubewright_informer::{Key, SharedInformer, compare_resource_versions};
use parking_lot::Mutex;
use serde::Deserialize;
use tower::Service;

use crate::run::Tracking;

/// The maximum number of records of one kind.
pub(crate) const NOTES: usize = 4096;

/// Writes that the caches do not show yet. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Writes(Arc<Mutex<HashMap<String, OfKind>>>, Tracking);

#[derive(Default)]
struct OfKind {
    notes: HashMap<Key, Note>,
    /// The version that every read of the kind has to wait for.
    floor: Option<String>,
}

/// The state that a cache must show.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Note {
    /// This version.
    Version(String),
    /// No object with this UID.
    Gone(String),
}

/// The object that a request writes.
#[derive(Debug, PartialEq, Eq)]
struct Target {
    /// The resource: `pods`, `deployments.apps`.
    resource: String,
    namespace: Option<String>,
    name: Option<String>,
}

/// The relevant parts of a response.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    metadata: Metadata,
    details: Option<Details>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    name: String,
    resource_version: String,
    uid: String,
    deletion_timestamp: Option<String>,
    deletion_grace_period_seconds: Option<i64>,
    finalizers: Vec<String>,
}

#[derive(Deserialize)]
struct Details {
    #[serde(default)]
    uid: String,
}

/// A client whose writes are recorded.
#[derive(Clone)]
struct Noting {
    inner: kube::Client,
    writes: Writes,
}

impl Writes {
    /// Creates an empty record, beside the tracking of the requests of runs.
    pub(crate) fn new(tracking: Tracking) -> Self {
        Self(Arc::default(), tracking)
    }

    /// Returns a client whose writes are recorded.
    pub(crate) fn note(&self, client: kube::Client) -> kube::Client {
        let namespace = client.default_namespace().to_owned();
        let valid_until = *client.valid_until();
        let service = Noting {
            inner: client,
            writes: self.clone(),
        };
        kube::Client::new(service, namespace).with_valid_until(valid_until)
    }

    /// Sends a request, and records it if it writes. Returns the whole body of a write that succeeded.
    pub(crate) async fn send(
        &self,
        client: &kube::Client,
        request: Request<Body>,
    ) -> kube::Result<Response<Body>> {
        let target = Target::of(&request);
        let method = request.method().clone();
        let answer = self.1.send(client, request).await?;
        let Some(target) = target.filter(|_| answer.status().is_success()) else {
            return Ok(answer);
        };
        let (head, body) = answer.into_parts();
        let body = body.collect().await?.to_bytes();
        self.add(target, &method, &body);
        Ok(Response::from_parts(head, Body::from(body)))
    }

    /// Reports whether a cache may not show the writes of an object, or of the whole kind, yet.
    pub(crate) fn are_pending(&self, resource: &str, key: Option<&Key>) -> bool {
        let kinds = self.0.lock();
        kinds.get(resource).is_some_and(|kind| {
            let noted = match key {
                Some(key) => kind.notes.contains_key(key),
                None => !kind.notes.is_empty(),
            };
            noted || kind.floor.is_some()
        })
    }

    /// Waits until a cache shows the writes of an object, or of the whole kind.
    pub(crate) async fn caught_up(
        &self,
        resource: &str,
        cache: &SharedInformer<()>,
        key: Option<&Key>,
    ) {
        let (notes, floor) = {
            let kinds = self.0.lock();
            let Some(kind) = kinds.get(resource) else {
                return;
            };
            let notes: Vec<_> = match key {
                Some(key) => kind.notes.get_key_value(key).into_iter().collect(),
                None => kind.notes.iter().collect(),
            };
            let notes: Vec<_> = notes
                .into_iter()
                .map(|(key, note)| (key.clone(), note.clone()))
                .collect();
            (notes, kind.floor.clone())
        };
        if let Some(floor) = floor
            && cache.wait_for(&floor).await.is_ok()
        {
            let mut kinds = self.0.lock();
            if let Some(kind) = kinds.get_mut(resource)
                && kind.floor.as_ref() == Some(&floor)
            {
                kind.floor = None;
            }
        }
        for (key, note) in notes {
            note.reached(cache, &key).await;
            let mut kinds = self.0.lock();
            if let Some(kind) = kinds.get_mut(resource)
                && kind.notes.get(&key) == Some(&note)
            {
                kind.notes.remove(&key);
            }
        }
    }

    /// Drops the records of an object, or of the whole kind.
    pub(crate) fn forget(&self, resource: &str, key: Option<&Key>) {
        let mut kinds = self.0.lock();
        let Some(kind) = kinds.get_mut(resource) else {
            return;
        };
        kind.floor = None;
        match key {
            Some(key) => {
                kind.notes.remove(key);
            }
            None => kind.notes.clear(),
        }
    }

    fn add(&self, target: Target, method: &Method, body: &[u8]) {
        // Of a deletion the details count too; of others only the metadata, which is all that is read of them.
        let answer = match *method {
            Method::DELETE => serde_json::from_slice(body).ok(),
            _ => Answer::head(body),
        };
        let Some(answer) = answer else {
            return;
        };
        let name = target.name.unwrap_or_else(|| answer.metadata.name.clone());
        let Some(note) = Note::of(method, answer) else {
            return;
        };
        let key = Key::new(target.namespace.as_deref(), &name);
        let mut kinds = self.0.lock();
        let kind = kinds.entry(target.resource).or_default();
        if let (Some(Note::Version(old)), Note::Version(new)) = (kind.notes.get(&key), &note)
            && compare_resource_versions(old, new) == Some(Ordering::Greater)
        {
            return;
        }
        kind.notes.insert(key, note);
        if kind.notes.len() > NOTES {
            kind.coarsen();
        }
    }
}

/// Returns the name and the version of an object in a response.
pub(crate) fn resource_version(body: &[u8]) -> Option<(String, String)> {
    let metadata = Answer::head(body)?.metadata;
    (!metadata.resource_version.is_empty()).then_some((metadata.name, metadata.resource_version))
}

impl Answer {
    /// Reads the kind, the name and the version of an object, and nothing behind its metadata.
    fn head(body: &[u8]) -> Option<Self> {
        let mut answer = Self {
            kind: String::new(),
            metadata: Metadata::default(),
            details: None,
        };
        let mut object = ObjectReader::new(body, 0).ok()?;
        while let Some(key) = object.next_key().ok()? {
            if key == b"metadata" {
                let mut metadata = ObjectReader::new(body, object.position()).ok()?;
                while let Some(key) = metadata.next_key().ok()? {
                    let value = &body[metadata.skip().ok()?];
                    match key {
                        b"name" => answer.metadata.name = text(value)?.into_owned(),
                        b"resourceVersion" => {
                            answer.metadata.resource_version = text(value)?.into_owned();
                        }
                        _ => {}
                    }
                }
                object.resume_at(metadata.position());
                if !answer.kind.is_empty() {
                    break;
                }
            } else {
                let value = object.skip().ok()?;
                if key == b"kind" {
                    answer.kind = text(&body[value])?.into_owned();
                }
            }
        }
        Some(answer)
    }
}

impl OfKind {
    /// Merges all records into one.
    fn coarsen(&mut self) {
        let versions = self.notes.drain().filter_map(|(_, note)| match note {
            Note::Version(version) => Some(version),
            Note::Gone(_) => None,
        });
        let versions = versions.chain(self.floor.take());
        self.floor =
            versions.max_by(|a, b| compare_resource_versions(a, b).unwrap_or(Ordering::Equal));
    }
}

impl Note {
    fn of(method: &Method, answer: Answer) -> Option<Self> {
        let metadata = answer.metadata;
        if method == Method::DELETE {
            if answer.kind == "Status" {
                let uid = answer.details.map(|details| details.uid)?;
                return (!uid.is_empty()).then_some(Self::Gone(uid));
            }
            let stays = metadata.deletion_timestamp.is_some()
                && (!metadata.finalizers.is_empty()
                    || metadata
                        .deletion_grace_period_seconds
                        .is_some_and(|s| s > 0));
            if !stays {
                return (!metadata.uid.is_empty()).then_some(Self::Gone(metadata.uid));
            }
        }
        let version = metadata.resource_version;
        let usable =
            answer.kind != "Status" && compare_resource_versions(&version, &version).is_some();
        usable.then_some(Self::Version(version))
    }

    /// Waits until the cache shows the state.
    async fn reached(&self, cache: &SharedInformer<()>, key: &Key) {
        match self {
            Self::Version(version) => {
                // The object itself may have that version although the cache as a whole is not known to.
                let shown = cache.indexer().get(key.as_str());
                let there = shown.is_some_and(|object| {
                    compare_resource_versions(object.resource_version(), version)
                        .is_some_and(Ordering::is_ge)
                });
                if !there {
                    let _ = cache.wait_for(version).await;
                }
            }
            Self::Gone(uid) => loop {
                let before = cache.resource_version();
                let there = cache.indexer().get(key.as_str());
                if there.is_none_or(|object| object.uid() != uid) {
                    return;
                }
                let next = before
                    .and_then(|version| version.parse::<u128>().ok())
                    .and_then(|version| version.checked_add(1));
                let Some(next) = next else {
                    return;
                };
                if cache.wait_for(&next.to_string()).await.is_err() {
                    return;
                }
            },
        }
    }
}

impl Target {
    /// Returns `None` for requests that are not recorded: reads, collections except creation, dry runs, and
    /// subresources whose response is not about the object.
    fn of<B>(request: &Request<B>) -> Option<Self> {
        let method = request.method();
        if ![Method::POST, Method::PUT, Method::PATCH, Method::DELETE].contains(method) {
            return None;
        }
        let dry = |pair: &str| pair.starts_with("dryRun=");
        if request
            .uri()
            .query()
            .is_some_and(|query| query.split('&').any(dry))
        {
            return None;
        }
        let mut segments = request.uri().path().split('/').filter(|s| !s.is_empty());
        let group = match segments.next()? {
            "api" => "",
            "apis" => segments.next()?,
            _ => return None,
        };
        segments.next()?;
        let rest: Vec<&str> = segments.collect();
        let (namespace, rest) = match &*rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() && !is_sub(rest) => {
                (Some((*namespace).to_owned()), rest)
            }
            _ => (None, &*rest),
        };
        let (plural, name) = match rest {
            [plural] if method == Method::POST => (*plural, None),
            [plural, name] => (*plural, Some((*name).to_owned())),
            [plural, name, sub] if WHOLE.contains(sub) => (*plural, Some((*name).to_owned())),
            _ => return None,
        };
        let resource = if group.is_empty() {
            plural.to_owned()
        } else {
            format!("{plural}.{group}")
        };
        Some(Self {
            resource,
            namespace,
            name,
        })
    }
}

/// Subresources whose response has the version of the object.
const WHOLE: [&str; 6] = [
    "status",
    "scale",
    "finalize",
    "ephemeralcontainers",
    "resize",
    "approval",
];

/// Reports whether the rest of the path is a subresource of the namespace itself.
fn is_sub(rest: &[&str]) -> bool {
    matches!(rest, ["status" | "finalize"])
}

impl Service<Request<Body>> for Noting {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let Self { inner, writes } = self.clone();
        Box::pin(async move { Ok(writes.send(&inner, request).await?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(method: &str, uri: &str) -> Option<(String, Option<String>, Option<String>)> {
        let request = Request::builder().method(method).uri(uri).body(()).unwrap();
        let target = Target::of(&request)?;
        Some((target.resource, target.namespace, target.name))
    }

    #[test]
    fn a_write_names_what_it_writes() {
        let named = |resource: &str, namespace: Option<&str>, name: Option<&str>| {
            Some((
                resource.to_owned(),
                namespace.map(str::to_owned),
                name.map(str::to_owned),
            ))
        };
        for (method, uri, wanted) in [
            ("GET", "/api/v1/namespaces/a/pods/b", None),
            (
                "POST",
                "/api/v1/namespaces/a/pods",
                named("pods", Some("a"), None),
            ),
            (
                "PUT",
                "/api/v1/namespaces/a/pods/b/status",
                named("pods", Some("a"), Some("b")),
            ),
            ("POST", "/api/v1/namespaces/a/pods/b/eviction", None),
            (
                "PUT",
                "/api/v1/namespaces/a/finalize",
                named("namespaces", None, Some("a")),
            ),
            (
                "DELETE",
                "/api/v1/namespaces/a",
                named("namespaces", None, Some("a")),
            ),
            ("DELETE", "/api/v1/namespaces/a/pods", None),
            (
                "PATCH",
                "/apis/apps/v1/namespaces/a/deployments/b?dryRun=All",
                None,
            ),
            (
                "PATCH",
                "/apis/apps/v1/namespaces/a/deployments/b?fieldManager=x",
                named("deployments.apps", Some("a"), Some("b")),
            ),
        ] {
            assert_eq!(target(method, uri), wanted, "{method} {uri}");
        }
    }

    #[test]
    fn too_many_notes_become_one() {
        let writes = Writes::default();
        for i in 1..=NOTES + 1 {
            let body =
                format!(r#"{{"kind":"Pod","metadata":{{"name":"p{i}","resourceVersion":"{i}"}}}}"#);
            let target = Target {
                resource: "pods".into(),
                namespace: None,
                name: None,
            };
            writes.add(target, &Method::POST, body.as_bytes());
        }
        let kinds = writes.0.lock();
        assert!(kinds["pods"].notes.is_empty());
        assert_eq!(kinds["pods"].floor, Some((NOTES + 1).to_string()));
    }
}
