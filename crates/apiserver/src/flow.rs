//! Flow control: the flow schema and the priority level that a request belongs to.
//!
//! A server with [`FlowControl`] names them in its answers, as kube-apiserver does. Nothing is queued or limited.

use async_trait::async_trait;
use http::{HeaderMap, HeaderName, HeaderValue, Response, header};

use crate::{auth::Attributes, body::Body, respond::encode::response};

const SCHEMA_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-flowschema-uid");
const LEVEL_UID: HeaderName = HeaderName::from_static("x-kubernetes-pf-prioritylevel-uid");

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
/// use async_trait::async_trait;
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
/// #[async_trait]
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
#[async_trait]
pub trait FlowControl: Send + Sync {
    /// Returns the flow of a request.
    async fn flow(&self, request: &Attributes<'_>) -> Option<Flow>;
}

/// Put into the extensions of a request, it is answered as if its priority level were full: 429, with the time to wait. Clients on
/// a network cannot send it.
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
        const TEXT: &str = "Too many requests, please try again later.\n";
        let mut response = response(429, "text/plain; charset=utf-8", TEXT);
        let headers = response.headers_mut();
        headers.insert(header::RETRY_AFTER, self.retry_after.into());
        headers.insert(
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        );
        response
    }
}
