//! [`Front`]: a server in front of the embedded one that counts requests, and answers some of them itself.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use kube::client::Body;
use kubewright_client::BoxError;
use kubewright_testing::TestCluster;
use parking_lot::Mutex;
use serde_json::Value;
use tower::{Service, ServiceExt};

/// The response of a rule.
pub(crate) type Reply = Response<Vec<u8>>;

type Rule = Arc<dyn Fn(&Request<Body>) -> Option<Reply> + Send + Sync>;
type Rewrite = Arc<dyn Fn(&str, Value) -> Value + Send + Sync>;

/// A server that lies.
#[derive(Clone)]
pub(crate) struct Front {
    cluster: Arc<TestCluster>,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    rule: Option<Rule>,
    rewrite: Option<Rewrite>,
    seen: Vec<(String, HeaderMap)>,
}

impl Front {
    pub(crate) async fn start() -> Self {
        Self {
            cluster: Arc::new(TestCluster::start().await),
            inner: Arc::default(),
        }
    }

    pub(crate) fn client(&self) -> kube::Client {
        kube::Client::new(self.clone(), "default")
    }

    pub(crate) fn cluster(&self) -> &TestCluster {
        &self.cluster
    }

    /// Answers what the rule has an answer for.
    pub(crate) fn answer(
        &self,
        rule: impl Fn(&Request<Body>) -> Option<Reply> + Send + Sync + 'static,
    ) {
        self.inner.lock().rule = Some(Arc::new(rule));
    }

    /// Changes the JSON of what the server answers, by path.
    pub(crate) fn rewrite(&self, rewrite: impl Fn(&str, Value) -> Value + Send + Sync + 'static) {
        self.inner.lock().rewrite = Some(Arc::new(rewrite));
    }

    /// From now on the truth.
    pub(crate) fn honest(&self) {
        let mut inner = self.inner.lock();
        (inner.rule, inner.rewrite) = (None, None);
    }

    /// The requests since the last time, as `GET /api?query`.
    pub(crate) fn seen(&self) -> Vec<String> {
        let seen = std::mem::take(&mut self.inner.lock().seen);
        seen.into_iter().map(|(what, _)| what).collect()
    }

    /// The headers of the last request.
    pub(crate) fn last_headers(&self) -> HeaderMap {
        self.inner.lock().seen.last().expect("a request").1.clone()
    }
}

/// A reply with a code and a text.
pub(crate) fn reply(code: u16, text: &str) -> Reply {
    let reply = Response::builder()
        .status(code)
        .header("content-type", "text/plain");
    reply.body(text.as_bytes().to_vec()).expect("a response")
}

impl Service<Request<Body>> for Front {
    type Response = Response<UnsyncBoxBody<Bytes, BoxError>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (rule, rewrite) = {
            let mut inner = self.inner.lock();
            let what = format!("{} {}", request.method(), request.uri());
            inner.seen.push((what, request.headers().clone()));
            (inner.rule.clone(), inner.rewrite.clone())
        };
        let server = self.cluster.service();
        Box::pin(async move {
            let path = request.uri().path().to_owned();
            if let Some(reply) = rule.and_then(|rule| rule(&request)) {
                return Ok(reply.map(|body| whole(body.into())));
            }
            let response = server.oneshot(request).await?;
            let Some(rewrite) = rewrite else {
                return Ok(response.map(|body| body.map_err(Into::into).boxed_unsync()));
            };
            let (mut parts, body) = response.into_parts();
            let bytes = body.collect().await?.to_bytes();
            let bytes = match serde_json::from_slice(&bytes) {
                Ok(json) => serde_json::to_vec(&rewrite(&path, json))?.into(),
                Err(_) => bytes,
            };
            parts.headers.remove("content-length");
            Ok(Response::from_parts(parts, whole(bytes)))
        })
    }
}

fn whole(bytes: Bytes) -> UnsyncBoxBody<Bytes, BoxError> {
    Full::new(bytes)
        .map_err(|never| match never {})
        .boxed_unsync()
}
