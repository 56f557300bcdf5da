//! The HTTP server for health, metrics and debugging.
//!
//! It takes a listener and a shutdown future. Only GET and HEAD are answered; bodies are not read. The header of a
//! request may take 32 s, connections may idle for as long, and there are at most 256 connections. A new one closes the
//! oldest that is idle once there are many, so that peers that ask for nothing do not lock out probes.

use std::{convert::Infallible, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use kubewright_metrics::Registry;
use kubewright_serve::{Limits, Server, Tls};
use tokio::net::TcpListener;

use crate::{cluster_access::ClusterAccess, health::Checks};

/// The maximum number of connections. A further one closes the oldest that is idle, or else the oldest.
pub(crate) const MAX_CONNECTIONS: usize = 256;

/// The maximum number of idle connections.
const MAX_IDLE: usize = MAX_CONNECTIONS / 2;

/// The time after which an idle connection is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(32);

/// The time for requests in progress at shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(60);

/// The routes of the HTTP server.
///
/// ```
/// use kubewright_controller::{Routes, health::Checks};
/// use kubewright_metrics::Registry;
///
/// let probes = Routes::new().health(Checks::new(), Checks::new());
/// let metrics = Routes::new()
///     .metrics(Registry::new())
///     .debug("/debug/controllers", || serde_json::json!({"shop": {"queued": 0}}));
/// # let _ = (probes, metrics);
/// ```
#[derive(Clone, Default)]
pub struct Routes {
    routes: Vec<(String, Route)>,
    access: Option<ClusterAccess>,
}

#[derive(Clone)]
enum Route {
    /// The path, and one segment below it.
    Checks(Checks),
    Metrics(Registry),
    Json(Arc<dyn Fn(&str) -> serde_json::Value + Send + Sync>),
}

/// Serves until `shutdown` completes, then lets requests in flight finish.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use kubewright_controller::{Routes, health::Checks, serve};
///
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
/// let routes = Routes::new().health(Checks::new(), Checks::new());
/// let shutdown = async { /* a signal */ };
/// serve(listener, routes, shutdown).await;
/// # });
/// ```
pub async fn serve(listener: TcpListener, routes: Routes, shutdown: impl Future<Output = ()>) {
    run(Server::new(listener), routes, shutdown).await;
}

/// Serves like [`serve`], over TLS.
pub async fn serve_tls(
    listener: TcpListener,
    tls: Tls,
    routes: Routes,
    shutdown: impl Future<Output = ()>,
) {
    run(Server::new(listener).tls(tls), routes, shutdown).await;
}

async fn run(server: Server, routes: Routes, shutdown: impl Future<Output = ()>) {
    let routes = Arc::new(routes);
    let service = tower::service_fn(move |request: Request<Incoming>| {
        let routes = routes.clone();
        async move { Ok::<_, Infallible>(routes.answer(&request).await) }
    });
    let limits = Limits {
        max_connections: MAX_CONNECTIONS,
        max_unauthenticated: Some(MAX_IDLE),
        idle_timeout: IDLE_TIMEOUT,
        grace_period: SHUTDOWN_TIMEOUT,
        ..Limits::default()
    };
    server.limits(limits).serve(service, shutdown).await;
}

impl Routes {
    /// Creates an empty set of routes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `/healthz` and `/readyz`.
    #[must_use]
    pub fn health(self, healthz: Checks, readyz: Checks) -> Self {
        self.checks("/healthz", healthz)
            .checks("/readyz", readyz.renamed("readyz"))
    }

    /// Adds checks at another path.
    #[must_use]
    pub fn checks(self, path: &str, checks: Checks) -> Self {
        self.with(path, Route::Checks(checks))
    }

    /// Adds `/metrics`.
    #[must_use]
    pub fn metrics(self, registry: Registry) -> Self {
        self.with("/metrics", Route::Metrics(registry))
    }

    /// Adds a JSON document that is computed for each request.
    #[must_use]
    pub fn debug(
        self,
        path: &str,
        document: impl Fn() -> serde_json::Value + Send + Sync + 'static,
    ) -> Self {
        self.with(path, Route::Json(Arc::new(move |_| document())))
    }

    /// Adds a JSON document that is computed from the query of each request.
    #[must_use]
    pub fn debug_query(
        self,
        path: &str,
        document: impl Fn(&str) -> serde_json::Value + Send + Sync + 'static,
    ) -> Self {
        self.with(path, Route::Json(Arc::new(document)))
    }

    fn with(mut self, path: &str, route: Route) -> Self {
        let path = path.trim_end_matches('/').to_owned();
        self.routes.push((path, route));
        self
    }

    /// Requires a token and a permission of the cluster for every request: see [`ClusterAccess`].
    #[must_use]
    pub fn require_access(mut self, access: ClusterAccess) -> Self {
        self.access = Some(access);
        self
    }

    /// Answers a request without reading its body.
    async fn answer<B>(&self, request: &Request<B>) -> Response<Full<Bytes>> {
        if ![Method::GET, Method::HEAD].contains(request.method()) {
            return text(StatusCode::METHOD_NOT_ALLOWED, "405 method not allowed\n");
        }
        let path = request.uri().path();
        if let Some(access) = &self.access
            && let Err(rejection) = access
                .check(request.method(), path, request.headers())
                .await
        {
            return text(rejection.status, rejection.message + "\n");
        }
        let path = path.trim_end_matches('/');
        let query = request.uri().query().unwrap_or("");
        for (at, route) in &self.routes {
            let Some(below) = path.strip_prefix(at.as_str()) else {
                continue;
            };
            match route {
                Route::Checks(checks) if below.is_empty() || below.starts_with('/') => {
                    let name = below.trim_start_matches('/');
                    let report = checks.report(name, query).await;
                    let status = StatusCode::from_u16(report.status);
                    return text(
                        status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
                        report.body,
                    );
                }
                Route::Metrics(registry) if below.is_empty() => {
                    return typed(
                        StatusCode::OK,
                        kubewright_metrics::CONTENT_TYPE,
                        registry.encode(),
                    );
                }
                Route::Json(document) if below.is_empty() => {
                    let mut body = document(query).to_string();
                    body.push('\n');
                    return typed(StatusCode::OK, "application/json", body);
                }
                _ => {}
            }
        }
        text(StatusCode::NOT_FOUND, "404 page not found\n")
    }
}

fn text(status: StatusCode, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    typed(status, "text/plain; charset=utf-8", body)
}

fn typed(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    let nosniff = HeaderValue::from_static("nosniff");
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    response
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpStream,
        sync::oneshot,
    };

    use kubewright_metrics::CounterVec;

    use super::*;

    #[tokio::test]
    async fn everything_is_served_on_a_socket_until_shutdown() {
        let registry = Registry::new();
        let sold = CounterVec::new("sold_total", "What was sold", []);
        registry.register(sold.clone());
        sold.with([]).inc();
        let ready = Checks::new();
        ready.add("cache", || Err("not synced".into()));
        let routes = Routes::new()
            .health(Checks::new(), ready)
            .metrics(registry)
            .debug("/debug/controllers", || serde_json::json!({"shop": 1}));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let server = tokio::spawn(serve(listener, routes, async {
            let _ = stopped.await;
        }));
        let ask = async |line: &str| {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let request = format!("{line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            (head.to_lowercase(), body.to_owned())
        };

        let (head, body) = ask("GET /healthz").await;
        assert!(head.starts_with("http/1.1 200"), "{head}");
        assert_eq!(body, "ok");
        let (head, body) = ask("GET /readyz/").await;
        assert!(head.starts_with("http/1.1 500"), "{head}");
        assert_eq!(
            body,
            "[-]cache failed: reason withheld\nreadyz check failed\n"
        );
        assert_eq!(ask("GET /readyz?exclude=cache").await.1, "ok");
        let (head, body) = ask("GET /metrics").await;
        assert!(head.contains("text/plain; version=0.0.4"), "{head}");
        assert!(body.ends_with("\nsold_total 1\n"), "{body}");
        let (head, body) = ask("GET /debug/controllers").await;
        assert!(head.contains("application/json"), "{head}");
        assert_eq!(body, "{\"shop\":1}\n");
        assert!(ask("GET /healthzz").await.0.starts_with("http/1.1 404"));
        assert!(ask("POST /healthz").await.0.starts_with("http/1.1 405"));

        stop.send(()).unwrap();
        server.await.unwrap();
        assert!(TcpStream::connect(address).await.is_err());
    }
}
