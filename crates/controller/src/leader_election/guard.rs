//! [`FenceLayer`]: rejects writes while the fence is closed.
//!
//! Writes are all methods but GET, HEAD and OPTIONS, and requests of any method that are forwarded to a container or a
//! node (`exec`, `attach`, `portforward`, `proxy`). Access and token reviews store nothing and pass.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use http::{Method, Request, Response};
use kube::client::Body;
use kubewright_client::BoxError;
use tower::{Layer, Service};

use super::fence::{Fence, NotLeader};

/// Rejects writes with [`NotLeader`] while the fence is closed.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use http::Request;
/// use kube::client::Body;
/// use kubewright_client::policy::ClientService;
/// use kubewright_controller::leader_election::{ElectionConfig, FenceLayer, LeaderElector, NotLeader};
/// use tower::{Layer, ServiceExt};
///
/// let config = ElectionConfig::new("shop", "default");
/// let elector = LeaderElector::new(client.clone(), config).unwrap();
/// let service = FenceLayer::new(elector.fence()).layer(ClientService::new(client));
/// // Nobody leads yet.
/// let write = Request::delete("/api/v1/namespaces/shop").body(Body::empty()).unwrap();
/// assert!(service.clone().oneshot(write).await.err().unwrap().is::<NotLeader>());
/// let read = Request::get("/api/v1/namespaces").body(Body::empty()).unwrap();
/// assert_eq!(service.oneshot(read).await.ok().unwrap().status(), 200);
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct FenceLayer(Fence);

/// The service of [`FenceLayer`].
#[derive(Clone, Debug)]
pub struct FenceService<S> {
    inner: S,
    fence: Fence,
}

impl FenceLayer {
    /// Creates a layer with that fence.
    pub fn new(fence: Fence) -> Self {
        Self(fence)
    }
}

impl<S> Layer<S> for FenceLayer {
    type Service = FenceService<S>;

    fn layer(&self, inner: S) -> FenceService<S> {
        FenceService {
            inner,
            fence: self.0.clone(),
        }
    }
}

impl<S> Service<Request<Body>> for FenceService<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        if !is_write(&request) {
            let answer = self.inner.call(request);
            return Box::pin(async move { answer.await.map_err(Into::into) });
        }
        if let Err(refused) = self.fence.check() {
            return Box::pin(std::future::ready(Err(refused.into())));
        }
        let fence = self.fence.current();
        let write = fence.enter();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let _under_way = write;
            // Checked again in the very poll that sends, since time may have passed.
            fence.check()?;
            tokio::select! {
                biased;
                () = fence.wait_expired() => Err(NotLeader.into()),
                answer = answer => answer.map_err(Into::into),
            }
        })
    }
}

fn is_write<B>(request: &Request<B>) -> bool {
    let path = request.uri().path();
    let handed_on = path
        .split('/')
        .any(|segment| matches!(segment, "exec" | "attach" | "portforward" | "proxy"));
    if handed_on {
        return true;
    }
    if [Method::GET, Method::HEAD, Method::OPTIONS].contains(request.method()) {
        return false;
    }
    !(path.starts_with("/apis/authorization.k8s.io/")
        || path.starts_with("/apis/authentication.k8s.io/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_may_change_something_are_writes() {
        for (method, path, write) in [
            ("GET", "/api/v1/namespaces/a/pods", false),
            ("POST", "/api/v1/namespaces/a/pods", true),
            ("PUT", "/api/v1/namespaces/a/pods/b/status", true),
            ("PATCH", "/apis/apps/v1/namespaces/a/deployments/b", true),
            ("DELETE", "/api/v1/namespaces/a/pods", true),
            ("GET", "/api/v1/namespaces/a/pods/b/exec", true),
            ("GET", "/api/v1/namespaces/a/pods/b/log", false),
            (
                "POST",
                "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                false,
            ),
            ("POST", "/api/v1/namespaces/a/serviceaccounts/b/token", true),
        ] {
            let request = Request::builder()
                .method(method)
                .uri(path)
                .body(())
                .unwrap();
            assert_eq!(is_write(&request), write, "{method} {path}");
        }
    }
}
