//! Groups that other servers serve behind this one.
//!
//! An [`Aggregator`] knows the server of a group version; requests for it are authenticated and authorized here and then
//! forwarded. [`GroupVersionInfo`] is the part of it that discovery shows.

use std::sync::Arc;

use http::{Request, Response};
use kubewright_derive::boxed_async;
use serde_json::Value;

pub use crate::openapi::OpenApiV2;
use crate::{body::Body, request::UserInfo};

/// Finds the servers of group versions.
///
/// ```
/// use std::sync::Arc;
///
/// use kubewright_apiserver::boxed_async;
/// use http::{Request, Response};
/// use kubewright_apiserver::{
///     ApiServer, Body,
///     aggregation::{Aggregator, Backend},
///     registry::Registry,
///     request::UserInfo,
/// };
///
/// struct Sky;
///
/// #[boxed_async]
/// impl Backend for Sky {
///     async fn forward(&self, user: &Arc<UserInfo>, _: Request<Body>) -> Response<Body> {
///         Response::new(Body::from(format!("hello {}", user.name)))
///     }
/// }
///
/// #[boxed_async]
/// impl Aggregator for Sky {
///     async fn backend(&self, group: &str, _: &str) -> Option<Arc<dyn Backend>> {
///         (group == "sky.example.com").then(|| Arc::new(Sky) as Arc<dyn Backend>)
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let server = ApiServer::builder(Registry::default()).aggregator(Arc::new(Sky)).build();
/// let request = Request::get("/apis/sky.example.com/v1/planets").body(Body::empty()).unwrap();
/// let answer = server.handle(request).await.into_body().collect_up_to(100).await.unwrap();
/// assert_eq!(answer.unwrap(), "hello system:anonymous");
/// # });
/// ```
#[boxed_async]
pub trait Aggregator: Send + Sync {
    /// Returns the server of a group version, or `None` if this server serves it itself.
    async fn backend(&self, group: &str, version: &str) -> Option<Arc<dyn Backend>>;
}

/// A server behind this one.
#[boxed_async]
pub trait Backend: Send + Sync {
    /// Forwards the request of a user. The request is already authorized.
    async fn forward(&self, user: &Arc<UserInfo>, request: Request<Body>) -> Response<Body>;
}

/// A group version in discovery: its place, and its resources if another server has them.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupVersionInfo {
    /// The group.
    pub group: String,
    /// The version.
    pub version: String,
    /// Groups are listed by the highest of these, in descending order.
    pub group_priority: i64,
    /// The versions of a group are listed by these, in descending order.
    pub version_priority: i64,
    /// The resources, if another server has them.
    pub remote: Option<RemoteResources>,
}

/// The resources of a group version that another server has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RemoteResources {
    /// The resources in the form of aggregated discovery (`APIResourceDiscovery`).
    pub resources: Vec<Value>,
    /// Whether they may be out of date, since the server does not answer.
    pub stale: bool,
    /// The address of its OpenAPI v3 document, relative to the server, if it has one.
    pub openapi: Option<String>,
    /// Its part of the OpenAPI v2 document, if it has one.
    pub openapi_v2: Option<Arc<OpenApiV2>>,
}

/// Marks a response of another server, which is sent as it is.
#[derive(Clone, Copy)]
pub(crate) struct Forwarded;

/// Returns the group version that a path belongs to, if another server may have it: that of a resource, of its list of
/// resources, or of its OpenAPI document.
pub(crate) fn group_version(path: &str) -> Option<(&str, &str)> {
    let path = path.strip_prefix("/openapi/v3").unwrap_or(path);
    let mut parts = path.strip_prefix("/apis/")?.split('/');
    let (group, version) = (parts.next()?, parts.next()?);
    (!group.is_empty() && !version.is_empty()).then_some((group, version))
}

/// Returns whether a path has segments that lead out of it.
pub(crate) fn is_traversal(path: &str) -> bool {
    let decoded = percent_encoding::percent_decode_str(path).decode_utf8_lossy();
    decoded
        .split(['/', '\\'])
        .any(|part| matches!(part, "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_belong_to_group_versions() {
        for (path, expected) in [
            ("/apis/a.b/v1", Some(("a.b", "v1"))),
            ("/apis/a.b/v1/", Some(("a.b", "v1"))),
            ("/apis/a.b/v1/things/x/log", Some(("a.b", "v1"))),
            ("/openapi/v3/apis/a.b/v1", Some(("a.b", "v1"))),
            ("/apis/a.b", None),
            ("/apis/a.b/", None),
            ("/apis//v1", None),
            ("/api/v1/pods", None),
            ("/openapi/v3", None),
        ] {
            assert_eq!(group_version(path), expected, "{path}");
        }
    }

    #[test]
    fn traversal_is_found_in_any_spelling() {
        for path in [
            "/apis/a/v1/../b",
            "/apis/a/v1/x/.",
            "/a/%2e%2E/b",
            "/a/%2e%2e%2fb",
            "/a\\..\\b",
        ] {
            assert!(is_traversal(path), "{path}");
        }
        assert!(!is_traversal("/apis/a/v1/things/a..b/.hidden"));
    }
}
