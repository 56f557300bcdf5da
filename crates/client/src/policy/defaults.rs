//! [`DefaultsLayer`]: defaults for what a request leaves open.
//!
//! Only what is absent is added. Field manager and field validation belong to writes of objects, so requests that are
//! forwarded elsewhere (`exec`, `attach`, `portforward`, `proxy`) are left alone.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use http::{HeaderValue, Method, Request, header::USER_AGENT};
use kube::api::ValidationDirective;
use tower::{Layer, Service};

use super::query;

/// Adds a user agent, a field manager and a level of field validation to requests that have none.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::convert::Infallible;
/// use http::Request;
/// use kubewright_client::policy::DefaultsLayer;
/// use tower::{Layer, ServiceExt, service_fn};
///
/// let echo = service_fn(|request: Request<()>| async move { Ok::<_, Infallible>(request) });
/// let layer = DefaultsLayer::new(Some("shop/1.2"), Some("shop"), None);
/// let request = Request::post("/api/v1/namespaces").body(()).unwrap();
/// let sent = layer.layer(echo).oneshot(request).await.unwrap();
/// assert_eq!(sent.headers()["user-agent"], "shop/1.2");
/// assert_eq!(sent.uri().query(), Some("fieldManager=shop"));
/// # });
/// ```
#[derive(Clone, Debug, Default)]
pub struct DefaultsLayer(Arc<Defaults>);

#[derive(Clone, Debug, Default)]
struct Defaults {
    user_agent: Option<HeaderValue>,
    field_manager: Option<String>,
    field_validation: Option<ValidationDirective>,
}

/// The service of [`DefaultsLayer`].
#[derive(Clone, Debug)]
pub struct DefaultsService<S> {
    inner: S,
    defaults: Arc<Defaults>,
}

/// Builds a user agent in client-go's form: `shop/1.2 (linux/amd64) kubewright/0.1.0`.
pub fn user_agent(program: &str, version: &str) -> String {
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        other => other,
    };
    let os = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    let ours = env!("CARGO_PKG_VERSION");
    format!("{program}/{version} ({os}/{arch}) kubewright/{ours}")
}

impl DefaultsLayer {
    /// Adds these defaults. A user agent that is not a valid header value is ignored.
    pub fn new(
        user_agent: Option<&str>,
        field_manager: Option<&str>,
        field_validation: Option<ValidationDirective>,
    ) -> Self {
        Self(Arc::new(Defaults {
            user_agent: user_agent.and_then(|text| HeaderValue::from_str(text).ok()),
            field_manager: field_manager.map(str::to_owned),
            field_validation,
        }))
    }
}

impl<S> Layer<S> for DefaultsLayer {
    type Service = DefaultsService<S>;

    fn layer(&self, inner: S) -> DefaultsService<S> {
        DefaultsService {
            inner,
            defaults: self.0.clone(),
        }
    }
}

impl<S, B> Service<Request<B>> for DefaultsService<S>
where
    S: Service<Request<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> S::Future {
        let defaults = &self.defaults;
        if let Some(agent) = &defaults.user_agent {
            let headers = request.headers_mut();
            headers.entry(USER_AGENT).or_insert_with(|| agent.clone());
        }
        if writes_an_object(&request) {
            let uri = request.uri_mut();
            if let Some(manager) = &defaults.field_manager
                && !query::has(uri, "fieldManager")
            {
                query::add(uri, "fieldManager", manager);
            }
            if let Some(validation) = &defaults.field_validation
                && !query::has(uri, "fieldValidation")
            {
                query::add(uri, "fieldValidation", validation.as_str());
            }
        }
        self.inner.call(request)
    }
}

fn writes_an_object<B>(request: &Request<B>) -> bool {
    if ![Method::POST, Method::PUT, Method::PATCH].contains(request.method()) {
        return false;
    }
    let path = request.uri().path();
    let below = path
        .strip_prefix("/api/")
        .or_else(|| path.strip_prefix("/apis/"));
    below.is_some_and(|below| {
        !below
            .split('/')
            .any(|segment| matches!(segment, "exec" | "attach" | "portforward" | "proxy"))
    })
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, future::ready};

    use tower::{ServiceExt, service_fn};

    use super::*;

    /// Returns the request with the defaults.
    async fn sent(method: Method, uri: &str) -> String {
        let layer = DefaultsLayer::new(
            Some("shop/1"),
            Some("shop ctl"),
            Some(ValidationDirective::Strict),
        );
        let echo = service_fn(|request: Request<()>| {
            ready(Ok::<_, Infallible>(format!(
                "{} {}",
                request.uri(),
                request.headers()[USER_AGENT].to_str().unwrap_or_default()
            )))
        });
        let request = Request::builder().method(method).uri(uri).body(()).unwrap();
        layer.layer(echo).oneshot(request).await.unwrap()
    }

    #[tokio::test]
    async fn a_write_names_its_manager_and_validation() {
        assert_eq!(
            sent(Method::POST, "/api/v1/namespaces/a/pods?").await,
            "/api/v1/namespaces/a/pods?fieldManager=shop%20ctl&fieldValidation=Strict shop/1"
        );
        assert_eq!(
            sent(Method::PATCH, "/apis/apps/v1/x/y?force=true").await,
            "/apis/apps/v1/x/y?force=true&fieldManager=shop%20ctl&fieldValidation=Strict shop/1"
        );
    }

    #[tokio::test]
    async fn values_of_the_caller_are_kept() {
        assert_eq!(
            sent(
                Method::PUT,
                "/api/v1/x?fieldManager=me&fieldValidation=Warn"
            )
            .await,
            "/api/v1/x?fieldManager=me&fieldValidation=Warn shop/1"
        );
    }

    #[tokio::test]
    async fn requests_that_write_no_object_are_left_alone() {
        for (method, uri) in [
            (Method::GET, "/api/v1/pods"),
            (Method::DELETE, "/api/v1/namespaces/a/pods/b"),
            (Method::POST, "/api/v1/namespaces/a/pods/b/exec"),
            (Method::PUT, "/api/v1/namespaces/a/services/b/proxy/c"),
            (Method::POST, "/healthz"),
        ] {
            assert_eq!(sent(method, uri).await, format!("{uri} shop/1"));
        }
    }

    #[test]
    fn a_user_agent_names_program_and_platform() {
        let agent = user_agent("shop", "1.2");
        let rest = agent.strip_prefix("shop/1.2 (").unwrap();
        let (platform, ours) = rest.split_once(") ").unwrap();
        assert_eq!(platform.split('/').count(), 2);
        assert!(ours.starts_with("kubewright/"), "{agent}");
    }
}
