//! A tiny HTTP client: a request in; a code, headers and a body out. It calls the server in process.

use std::{collections::VecDeque, time::Duration};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, Request};
use http_body_util::BodyExt;
use kubewright_apiserver::Body;
use kubewright_testing::{FaultyServer, TestCluster};
use serde_json::{Value, json};
use tower::Service;

/// The ConfigMaps of the namespace `default`.
pub(crate) const MAPS: &str = "/api/v1/namespaces/default/configmaps";
pub(crate) const JSON: &str = "application/json";
pub(crate) const YAML: &str = "application/yaml";
pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
pub(crate) const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
pub(crate) const MERGE: &str = "application/merge-patch+json";
pub(crate) const JSON_PATCH: &str = "application/json-patch+json";
pub(crate) const STRATEGIC: &str = "application/strategic-merge-patch+json";
pub(crate) const APPLY: &str = "application/apply-patch+yaml";

/// A time limit that is longer than any wait of a test, so that a test that waits in vain fails.
const PATIENCE: Duration = Duration::from_secs(200);

/// A ConfigMap with nothing in it.
pub(crate) fn map(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

/// A ConfigMap with one value.
pub(crate) fn map_with(name: &str, value: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {"value": value}})
}

/// A ConfigMap with one label.
pub(crate) fn labelled(name: &str, key: &str, value: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {key: value}}})
}

/// Text as it may stand in a query.
pub(crate) fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// A request to the server.
#[derive(Clone)]
pub(crate) struct Http {
    service: FaultyServer,
}

/// An answer of the server.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// A watch under way.
pub(crate) struct Watching {
    body: Body,
    unread: BytesMut,
    events: VecDeque<Value>,
}

impl Http {
    pub(crate) fn of(cluster: &TestCluster) -> Self {
        Self::on(cluster.service())
    }

    pub(crate) fn on(service: FaultyServer) -> Self {
        Self { service }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, "", Bytes::new()).await
    }

    pub(crate) async fn get_as(&self, path: &str, accept: &str) -> Answer {
        let request = Request::get(path)
            .header("accept", accept)
            .body(Body::empty());
        self.call(request.expect("a request")).await
    }

    pub(crate) async fn post(&self, path: &str, object: Value) -> Answer {
        self.send(Method::POST, path, JSON, object.to_string())
            .await
    }

    pub(crate) async fn put(&self, path: &str, object: Value) -> Answer {
        self.send(Method::PUT, path, JSON, object.to_string()).await
    }

    pub(crate) async fn patch(&self, path: &str, object: Value) -> Answer {
        self.send(Method::PATCH, path, MERGE, object.to_string())
            .await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, "", Bytes::new()).await
    }

    pub(crate) async fn delete_with(&self, path: &str, options: Value) -> Answer {
        self.send(Method::DELETE, path, JSON, options.to_string())
            .await
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: impl Into<Bytes>,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        if !content_type.is_empty() {
            request = request.header("content-type", content_type);
        }
        self.call(request.body(Body::from(body.into())).expect("a request"))
            .await
    }

    pub(crate) async fn call(&self, request: Request<Body>) -> Answer {
        let asked = format!("{} {:.80}", request.method(), request.uri().to_string());
        let answered = async {
            let Ok(response) = self.service.clone().call(request).await;
            let (head, body) = response.into_parts();
            let body = body.collect().await.expect("a whole body").to_bytes();
            Answer {
                code: head.status.as_u16(),
                headers: head.headers,
                body,
            }
        };
        let Ok(answer) = tokio::time::timeout(PATIENCE, answered).await else {
            panic!("no answer to {asked}");
        };
        answer
    }

    /// Starts a watch: `query` is what follows `watch=1&`.
    pub(crate) async fn watch(&self, path: &str, query: &str) -> Watching {
        self.watch_as(path, query, JSON).await
    }

    pub(crate) async fn watch_as(&self, path: &str, query: &str, accept: &str) -> Watching {
        self.watching(&format!("{path}?watch=1&{query}"), accept)
            .await
    }

    /// Starts a watch by its whole path.
    pub(crate) async fn watching(&self, path: &str, accept: &str) -> Watching {
        let request = Request::get(path)
            .header("accept", accept)
            .body(Body::empty());
        let Ok(response) = self.service.clone().call(request.expect("a request")).await;
        assert_eq!(response.status(), 200, "{path}");
        Watching {
            body: response.into_body(),
            unread: BytesMut::new(),
            events: VecDeque::new(),
        }
    }
}

impl Answer {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        match serde_json::from_slice(&self.body) {
            Ok(value) => value,
            Err(e) => panic!(
                "{} {e}: {:?}",
                self.code,
                String::from_utf8_lossy(&self.body)
            ),
        }
    }

    /// The object of a request that succeeded.
    #[track_caller]
    pub(crate) fn ok(&self) -> Value {
        assert!(
            (200..300).contains(&self.code),
            "{}: {}",
            self.code,
            self.message()
        );
        self.json()
    }

    /// The status of a request that was refused with this code.
    #[track_caller]
    pub(crate) fn refused(&self, code: u16) -> Value {
        assert_eq!(self.code, code, "{}", self.message());
        let status = self.json();
        assert_eq!(status["kind"], "Status");
        assert_eq!(status["status"], "Failure");
        assert_eq!(status["code"], code);
        status
    }

    /// Checks like [`refused`](Self::refused), with this message.
    #[track_caller]
    pub(crate) fn refused_with(&self, code: u16, message: &str) -> Value {
        let status = self.refused(code);
        assert_eq!(status["message"], message);
        status
    }

    /// The beginning of the body, for complaints.
    pub(crate) fn message(&self) -> String {
        String::from_utf8_lossy(&self.body[..self.body.len().min(600)]).into_owned()
    }

    /// The names of a list's items.
    #[track_caller]
    pub(crate) fn names(&self) -> Vec<String> {
        let list = self.ok();
        let items = list["items"].as_array().expect("a list");
        items.iter().map(|item| name_of(item).to_owned()).collect()
    }

    #[track_caller]
    pub(crate) fn continue_token(&self) -> String {
        self.ok()["metadata"]["continue"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// The resourceVersion, of a list or an object.
    #[track_caller]
    pub(crate) fn revision(&self) -> u64 {
        revision_of(&self.ok())
    }

    pub(crate) fn warnings(&self) -> Vec<&str> {
        self.headers
            .get_all("warning")
            .iter()
            .filter_map(|w| w.to_str().ok())
            .collect()
    }
}

impl Watching {
    /// The next event; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        while self.events.is_empty() {
            let frame = tokio::time::timeout(PATIENCE, self.body.frame());
            let frame = frame.await.expect("an event or the end")?;
            let Ok(data) = frame.expect("a stream that does not break").into_data() else {
                continue;
            };
            self.unread.extend_from_slice(&data);
            while let Some(end) = self.unread.iter().position(|b| *b == b'\n') {
                let line = self.unread.split_to(end + 1);
                self.events
                    .push_back(serde_json::from_slice(&line).expect("an event"));
            }
        }
        self.events.pop_front()
    }

    /// The next event as its type and the object's name.
    pub(crate) async fn step(&mut self) -> (String, String) {
        seen(&self.next().await.expect("an event"))
    }

    /// Reads up to the end.
    pub(crate) async fn rest(&mut self) -> Vec<Value> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}

/// An event's type and its object's name.
pub(crate) fn seen(event: &Value) -> (String, String) {
    let kind = event["type"].as_str().unwrap_or_default();
    (kind.to_owned(), name_of(&event["object"]).to_owned())
}

/// A type and a name, to compare events with.
pub(crate) fn event(kind: &str, name: &str) -> (String, String) {
    (kind.to_owned(), name.to_owned())
}

pub(crate) fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

#[track_caller]
pub(crate) fn revision_of(object: &Value) -> u64 {
    let text = object["metadata"]["resourceVersion"]
        .as_str()
        .expect("a resourceVersion");
    text.parse().expect("a decimal resourceVersion")
}
