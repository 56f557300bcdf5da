//! Flow control: the flow schema and the priority level that a request belongs to.
//!
//! A server with [`FlowControl`] names them in its answers, as kube-apiserver does. Nothing is queued; the requests in flight
//! are bounded together, by [`InFlightLimits`](crate::InFlightLimits).

use http::{HeaderMap, HeaderName, HeaderValue, Response, header};
use kubewright_derive::boxed_async;

use crate::{auth::Attributes, body::Body, respond::encode::response};

const SCHEMA_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-flowschema-uid");
const LEVEL_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-prioritylevel-uid");

/// The answer to a request that is one too many.
pub(crate) const TOO_MANY_REQUESTS: &str = "Too many requests, please try again later.";

/// The flow that a request belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The uid of the flow schema.
    pub schema_uid: HeaderValue,
    /// The uid of the priority level.
    pub level_uid: HeaderValue,
}

/// Assigns requests to flows. It is asked when the user is known, also for requests that are then not allowed.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::sync::Arc;
///
/// use kubewright_apiserver::boxed_async;
/// use http::{HeaderValue, Request};
/// use kubewright_apiserver::{
///     ApiServer, Body,
///     auth::Attributes,
///     flow::{Flow, FlowControl},
///     registry::Registry,
/// };
///
/// struct OneFlow;
///
/// #[boxed_async]
/// impl FlowControl for OneFlow {
///     async fn flow(&self, _request: &Attributes<'_>) -> Option<Flow> {
///         let (schema_uid, level_uid) = (HeaderValue::from_static("all"), HeaderValue::from_static("high"));
///         Some(Flow { schema_uid, level_uid })
///     }
/// }
///
/// let server = ApiServer::builder(Registry::default()).flow_control(Arc::new(OneFlow)).build();
/// let answer = server.handle(Request::get("/version").body(Body::empty()).unwrap()).await;
/// assert_eq!(answer.headers()["x-kubernetes-pf-flowschema-uid"], "all");
/// # });
/// ```
#[boxed_async]
pub trait FlowControl: Send + Sync {
    /// Returns the flow of a request.
    async fn flow(&self, request: &Attributes<'_>) -> Option<Flow>;
}

/// Rejects a request as if its priority level were full: with 429 and the time to wait. Insert it into the extensions
/// of the request; clients on a network cannot send it.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use http::Request;
/// use kubewright_apiserver::{ApiServer, Body, flow::Overloaded, registry::Registry};
///
/// let server = ApiServer::builder(Registry::default()).build();
/// let mut request = Request::get("/version").body(Body::empty()).unwrap();
/// request.extensions_mut().insert(Overloaded { retry_after: 1 });
/// let answer = server.handle(request).await;
/// assert_eq!((answer.status().as_u16(), &answer.headers()["retry-after"]), (429, &"1".parse().unwrap()));
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overloaded {
    /// The value of `Retry-After`, in seconds.
    pub retry_after: u16,
}

impl Flow {
    /// Names the flow in an answer.
    pub(crate) fn name_in(&self, headers: &mut HeaderMap) {
        headers.insert(SCHEMA_UID, self.schema_uid.clone());
        headers.insert(LEVEL_UID, self.level_uid.clone());
    }
}

impl Overloaded {
    /// Returns the answer, which is plain text and not a `Status`.
    pub(crate) fn answer(self) -> Response<Body> {
        let text = format!("{TOO_MANY_REQUESTS}\n");
        let mut response = response(429, "text/plain; charset=utf-8", text);
        let headers = response.headers_mut();
        headers.insert(header::RETRY_AFTER, self.retry_after.into());
        headers.insert(
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        );
        response
    }
}
