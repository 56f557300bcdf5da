//! Requests of runs: recorded, and named after their run on servers with a ledger.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use http::{HeaderMap, Method, Request, Response};
use http_body_util::BodyExt;
use kube::client::Body;
use kubewright_client::BoxError;
use kubewright_ledger::{ObjectRef, RunRequest};
use tower::Service;

use super::{links::Links, record::Record};
use crate::client::writes::resource_version;

/// The header of responses of servers with a ledger.
const LEDGER_HEADER: &str = "kubewright-ledger";

/// The header that names the run of a request.
const RUN_HEADER: &str = "kubewright-run";

/// Whether the server has a ledger, according to its responses. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Tracking(Arc<AtomicBool>);

/// A client whose responses are inspected.
#[derive(Clone)]
struct Observed {
    inner: kube::Client,
    tracking: Tracking,
}

impl Tracking {
    /// Reports whether the server has a ledger.
    pub(crate) fn has_ledger(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns a client whose responses show whether the server has a ledger.
    pub(crate) fn observe(&self, client: kube::Client) -> kube::Client {
        let namespace = client.default_namespace().to_owned();
        let valid_until = *client.valid_until();
        let service = Observed {
            inner: client,
            tracking: self.clone(),
        };
        kube::Client::new(service, namespace).with_valid_until(valid_until)
    }

    /// Sends a request. If it belongs to a run, it is recorded, and names the run if the server has a ledger.
    pub(crate) async fn send(
        &self,
        client: &kube::Client,
        mut request: Request<Body>,
    ) -> kube::Result<Response<Body>> {
        let Some(record) = Record::current() else {
            let answer = client.send(request).await?;
            self.look(answer.headers());
            return Ok(answer);
        };
        if self.has_ledger()
            && let Some(header) = record.header()
        {
            request.headers_mut().insert(RUN_HEADER, header.clone());
        }
        if let Some(parent) = Links::traceparent() {
            request.headers_mut().entry("traceparent").or_insert(parent);
        }
        let Some(mut noted) = described(&request) else {
            return client.send(request).await;
        };
        let is_read = request.method() == Method::GET;
        noted.start_seconds = record.elapsed().as_secs_f64();
        let answered = client.send(request).await;
        let ended = record.elapsed().as_secs_f64();
        noted.duration_seconds = ended - noted.start_seconds;
        let answer = match answered {
            Ok(answer) => answer,
            Err(error) => {
                record.request(noted);
                return Err(error);
            }
        };
        self.look(answer.headers());
        noted.code = answer.status().as_u16();
        if is_read || !answer.status().is_success() {
            record.request(noted);
            return Ok(answer);
        }
        let (head, body) = answer.into_parts();
        let body = body.collect().await?.to_bytes();
        let version = resource_version(&body);
        if let Some((name, version)) = version {
            noted.revision = version.parse().ok();
            if let Some(revision) = noted.revision {
                record.links.wrote(revision);
            }
            if noted.object.name.is_empty() {
                noted.object.name = name;
            }
        }
        record.request(noted);
        Ok(Response::from_parts(head, Body::from(body)))
    }

    fn look(&self, headers: &HeaderMap) {
        if headers.contains_key(LEDGER_HEADER) && !self.has_ledger() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

impl Service<Request<Body>> for Observed {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let Self { inner, tracking } = self.clone();
        Box::pin(async move { Ok(tracking.send(&inner, request).await?) })
    }
}

/// Returns the verb and the object of a request; `None` if it is about no resource.
fn described<B>(request: &Request<B>) -> Option<RunRequest> {
    let uri = request.uri();
    let mut segments = uri.path().split('/').filter(|segment| !segment.is_empty());
    let group = match segments.next()? {
        "api" => "",
        "apis" => segments.next()?,
        _ => return None,
    };
    segments.next()?;
    let rest: Vec<&str> = segments.collect();
    let (namespace, rest) = match &*rest {
        ["namespaces", namespace, rest @ ..]
            if !rest.is_empty() && !matches!(rest, ["status" | "finalize"]) =>
        {
            (*namespace, rest)
        }
        _ => ("", &*rest),
    };
    let (resource, name, subresource) = match rest {
        [resource] => (*resource, "", ""),
        [resource, name] => (*resource, *name, ""),
        [resource, name, subresource, ..] => (*resource, *name, *subresource),
        [] => return None,
    };
    let watches = uri.query().is_some_and(|query| {
        query
            .split('&')
            .any(|it| matches!(it, "watch=true" | "watch=1"))
    });
    let verb = match (request.method(), name.is_empty()) {
        (&Method::POST, _) => "create",
        (&Method::PUT, _) => "update",
        (&Method::PATCH, _) if is_apply(request.headers()) => "apply",
        (&Method::PATCH, _) => "patch",
        (&Method::DELETE, true) => "deletecollection",
        (&Method::DELETE, false) => "delete",
        (&Method::GET, _) if watches => "watch",
        (&Method::GET, true) => "list",
        (&Method::GET, false) => "get",
        _ => return None,
    };
    Some(RunRequest {
        verb: verb.to_owned(),
        object: ObjectRef {
            group: group.to_owned(),
            resource: resource.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        },
        subresource: subresource.to_owned(),
        ..RunRequest::default()
    })
}

fn is_apply(headers: &HeaderMap) -> bool {
    let media = headers.get(http::header::CONTENT_TYPE);
    media.is_some_and(|media| media.as_bytes().starts_with(b"application/apply-patch"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_described_by_its_path() {
        for (method, uri, expected) in [
            ("GET", "/api/v1/pods", Some("list pods //")),
            ("GET", "/api/v1/pods?watch=true", Some("watch pods //")),
            ("GET", "/api/v1/namespaces/a", Some("get namespaces /a/")),
            (
                "PUT",
                "/api/v1/namespaces/a/finalize",
                Some("update namespaces /a/finalize"),
            ),
            ("POST", "/api/v1/namespaces/a/pods", Some("create pods a//")),
            (
                "DELETE",
                "/api/v1/namespaces/a/pods",
                Some("deletecollection pods a//"),
            ),
            (
                "PATCH",
                "/apis/apps/v1/namespaces/a/deployments/b/status?fieldManager=x",
                Some("patch deployments.apps a/b/status"),
            ),
            ("GET", "/version", None),
        ] {
            let request = Request::builder().method(method).uri(uri).body(()).unwrap();
            let words = described(&request).map(|it| {
                let dot = if it.object.group.is_empty() { "" } else { "." };
                let ObjectRef {
                    group,
                    resource,
                    namespace,
                    name,
                } = &it.object;
                format!(
                    "{} {resource}{dot}{group} {namespace}/{name}/{}",
                    it.verb, it.subresource
                )
            });
            assert_eq!(words.as_deref(), expected, "{method} {uri}");
        }
    }
}
