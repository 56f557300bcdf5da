//! `log`, `exec`, `attach`, `portforward` and `proxy`: streams from nodes and pods.
//!
//! Requests that need a kubelet are checked here and passed on to it, upgrades included; its errors are the client's. Where the
//! server has no [`Kubelets`](kubewright_streams::Kubelets), every node is one that does not answer.

mod kubelet;
mod links;
mod proxy;

use std::sync::Arc;

use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use kubewright_apiserver::{
    Body,
    auth::authorize_creation,
    boxed_async,
    registry::{Connect, Generic, Handlers},
    request::RequestContext,
};
use kubewright_machinery::{Status, gvk::GroupResource, json::Read, status};
use kubewright_serve::OpenEnded;
use kubewright_streams::{Streams, is_upgrade};
use serde_json::Value;

use super::{connect_options, log_options};
use crate::{
    kinds::BuiltInKind,
    outgoing::{is_error, not_upgraded},
};
use kubelet::KubeletClient;
use proxy::Proxy;

pub(super) fn handlers(kind: &BuiltInKind<'_>, name: &str) -> Handlers {
    let (parents, client) = (kind.generic.clone(), KubeletClient::new(kind.environment));
    let connect: Arc<dyn Connect> = match name {
        "proxy" => Arc::new(ProxyEndpoint(Proxy::new(parents, client, kind.environment))),
        _ => Arc::new(PodStream {
            parents,
            client,
            methods: match name {
                "log" => &[Method::GET],
                _ => &[Method::GET, Method::POST],
            },
            is_log: name == "log",
        }),
    };
    Handlers {
        connect: Some(connect),
        ..Handlers::default()
    }
}

/// A stream of a pod, from the kubelet of its node.
struct PodStream {
    parents: Generic,
    client: KubeletClient,
    methods: &'static [Method],
    /// Whether it only reads, so that admission is not asked.
    is_log: bool,
}

#[boxed_async]
impl Connect for PodStream {
    fn methods(&self) -> &[Method] {
        self.methods
    }

    fn takes_path(&self) -> bool {
        false
    }

    fn options(&self, cx: &RequestContext) -> Value {
        connect_options::of(cx)
    }

    fn is_admitted(&self) -> bool {
        !self.is_log
    }

    async fn connect(
        &self,
        cx: &RequestContext,
        name: &str,
        request: Request<Body>,
    ) -> Result<Response<Body>, Status> {
        let subresource = cx.info.subresource.as_str();
        match self.is_log {
            true => log_options::check(&cx.query, name)?,
            false => authorize_creation(cx).await?,
        }
        let pod = self.parents.read(cx, name).await?;
        let container = match subresource {
            "portforward" => "",
            _ => container(&pod, name, cx.query.first("container"))?,
        };
        let node = pod["spec"]["nodeName"].text();
        if node.is_empty() && self.is_log {
            // A pod that nobody runs has said nothing yet.
            let mut silence = Response::new(Body::empty());
            *silence.status_mut() = StatusCode::NO_CONTENT;
            return Ok(silence);
        }
        if node.is_empty() {
            let text = format!("pod {name} does not have a host assigned");
            return Err(status::bad_request(text));
        }
        let host = self.client.host(node).await?;
        let namespace = cx.namespace();
        if self.is_log {
            let path = format!("/containerLogs/{namespace}/{name}/{container}");
            return self.log(cx, (node, &host), &path, request).await;
        }
        if !is_upgrade(request.headers()) {
            return Err(status::bad_request("Upgrade request required"));
        }
        let path = match subresource {
            "portforward" => format!("/portForward/{namespace}/{name}"),
            _ => format!("/{subresource}/{namespace}/{name}/{container}"),
        };
        let answer = self.client.call(node, &path, request).await;
        let unreachable = |e| status::unknown(format!("error dialing backend: {}", host.dial(&e)));
        let answer = answer.map_err(unreachable)?;
        let code = answer.status();
        match code == StatusCode::SWITCHING_PROTOCOLS || is_error(code) {
            true => Ok(answer),
            false => Err(status::unknown(not_upgraded(code))),
        }
    }
}

impl PodStream {
    /// Returns the log of a container, as the messages of a WebSocket if the client asks for one.
    async fn log(
        &self,
        cx: &RequestContext,
        (node, host): (&str, &kubelet::Host),
        path: &str,
        mut request: Request<Body>,
    ) -> Result<Response<Body>, Status> {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let asked = Request::get(format!("{path}?{query}")).body(Body::empty());
        let asked = asked.map_err(status::internal)?;
        let answer = self.client.call(node, path, asked).await.map_err(|e| {
            let url = format!("https://{}:{}{path}", host.name, host.port);
            status::unknown(format!("Get \"{url}\": {}", host.dial(&e)))
        })?;
        let answer = kubelet::checked(answer, "pods/log", &cx.info.name).await?;
        if is_upgrade(request.headers()) {
            let chunks = answer.into_body().into_data_stream();
            let response = Streams::default().messages(&mut request, chunks)?;
            return Ok(response.map(Body::from));
        }
        let mut response = Response::new(answer.into_body());
        let plain = HeaderValue::from_static("text/plain");
        response.headers_mut().insert(header::CONTENT_TYPE, plain);
        if cx.query.flag("follow") == Some(true) {
            response.extensions_mut().insert(OpenEnded);
        }
        Ok(response)
    }
}

/// A connection to a port of a pod, a service or a node.
struct ProxyEndpoint(Proxy);

#[boxed_async]
impl Connect for ProxyEndpoint {
    fn methods(&self) -> &[Method] {
        const ALL: &[Method] = &[
            Method::GET,
            Method::POST,
            Method::PUT,
            Method::PATCH,
            Method::DELETE,
            Method::HEAD,
            Method::OPTIONS,
        ];
        ALL
    }

    fn options(&self, cx: &RequestContext) -> Value {
        connect_options::of(cx)
    }

    async fn connect(
        &self,
        cx: &RequestContext,
        name: &str,
        request: Request<Body>,
    ) -> Result<Response<Body>, Status> {
        self.0.connect(cx, name, request).await
    }
}

/// Returns the container that a request names, or the only one of the pod.
fn container<'a>(pod: &'a Value, name: &str, wanted: Option<&str>) -> Result<&'a str, Status> {
    let spec = &pod["spec"];
    let names = |kind: &str| spec[kind].items().iter().map(|c| c["name"].text());
    let all = || {
        names("initContainers")
            .chain(names("containers"))
            .chain(names("ephemeralContainers"))
    };
    if let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()) {
        let invalid = || format!("container {wanted} is not valid for pod {name}");
        return all()
            .find(|known| *known == wanted)
            .ok_or_else(|| status::bad_request(invalid()));
    }
    match (names("containers").next(), names("containers").count()) {
        (Some(only), 1) => Ok(only),
        (None, _) => Err(status::bad_request(format!(
            "a container name must be specified for pod {name}"
        ))),
        _ => Err(status::bad_request(format!(
            "a container name must be specified for pod {name}, choose one of: [{}]",
            all().collect::<Vec<_>>().join(" ")
        ))),
    }
}

/// The resource of nodes.
fn nodes() -> GroupResource {
    GroupResource::new("", "nodes")
}
