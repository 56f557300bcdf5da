//! [`Pages`]: routes requests.

use std::{convert::Infallible, path::PathBuf, pin::Pin, sync::Arc};

use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use tower::Service;

use crate::{
    answer::{self, Body, Unreadable},
    assets, forward,
    guard::{Guard, Rejection},
    own::{Own, own_path},
    stream::Hub,
};

/// The API paths that are forwarded.
const FORWARDED: [&str; 5] = ["/api", "/apis", "/version", "/openapi", "/kubewright"];

/// The path of streams.
const STREAM: &str = "/kubewright/v1/stream";

/// The maximum size of a request body, which is that of the API server.
const LARGEST_BODY: usize = 3 << 20;

/// The parts of a running console.
pub(crate) struct Shared {
    pub(crate) guard: Guard,
    pub(crate) hub: Hub,
    pub(crate) own: Arc<Own>,
    /// The directory of the pages' files, if they are not the embedded ones.
    pub(crate) directory: Option<PathBuf>,
}

/// The service of a console.
pub(crate) struct Pages(Shared);

/// A shared [`Pages`] as a tower service.
#[derive(Clone)]
pub(crate) struct PagesService(Arc<Pages>);

impl Pages {
    pub(crate) fn new(shared: Shared) -> Self {
        Self(shared)
    }

    pub(crate) fn service(self: Arc<Self>) -> PagesService {
        PagesService(self)
    }

    async fn respond(&self, request: Request<Incoming>) -> Response<Body> {
        let mut response = match self.route(request).await {
            Ok(response) => response,
            Err(refusal) => answer::failure(refusal.code(), refusal.reason(), &refusal.to_string()),
        };
        answer::secure(response.headers_mut());
        response
    }

    async fn route(&self, request: Request<Incoming>) -> Result<Response<Body>, Rejection> {
        let shared = &self.0;
        shared.guard.check(&request)?;
        let path = request.uri().path().to_owned();
        let is_data = FORWARDED.iter().any(|root| is_below(&path, root));
        if !is_data {
            return match *request.method() {
                Method::GET => Ok(assets::page(
                    &path,
                    request.headers(),
                    shared.directory.as_deref(),
                )),
                _ => Err(Rejection::Method),
            };
        }
        shared.guard.check_token(&request)?;
        let (parts, body) = request.into_parts();
        let body = match answer::read(body, LARGEST_BODY).await {
            Ok(body) => body,
            Err(error) => return Ok(unreadable(&error)),
        };
        if path == STREAM && parts.method == Method::GET {
            return Ok(shared.hub.open());
        }
        if let Some(tab) = path.strip_prefix(STREAM) {
            return match parts.method {
                Method::POST => Ok(shared.hub.subscribe(tab.trim_start_matches('/'), &body)),
                _ => Err(Rejection::Method),
            };
        }
        let Some(what) = own_path(&path) else {
            return Ok(forward::forward(&shared.own.client, parts, body).await);
        };
        let query = parts.uri.query().unwrap_or_default();
        let answered = shared.own.answer(parts.method.as_str(), what, query, &body);
        Ok(match answered.await {
            Ok(value) => answer::json_response(StatusCode::OK, &value),
            Err((code, message)) => answer::failure(code, answer::reason(code), &message),
        })
    }
}

impl Service<Request<Incoming>> for PagesService {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Self::Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let pages = self.0.clone();
        Box::pin(async move { Ok(pages.respond(request).await) })
    }
}

fn is_below(path: &str, root: &str) -> bool {
    let rest = path.strip_prefix(root);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn unreadable(error: &Unreadable) -> Response<Body> {
    let code = match error {
        Unreadable::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
        Unreadable::Broken(_) => StatusCode::BAD_REQUEST,
    };
    answer::failure(code, answer::reason(code), &error.to_string())
}
