//! [`KubeletClient`]: requests to the kubelets of nodes.

use std::{io, sync::Arc};

use http::{Request, Response, StatusCode};
use kubewright_apiserver::Body;
use kubewright_machinery::{
    Status,
    json::Read,
    status::{self, Details},
};
use kubewright_streams::{KubeletBody, Kubelets};
use serde_json::Value;

use super::nodes;
use crate::{admission::stored::Stored, kinds::Environment};

/// The types of addresses in the order in which they are preferred.
const PREFERRED: [&str; 5] = [
    "Hostname",
    "InternalDNS",
    "InternalIP",
    "ExternalDNS",
    "ExternalIP",
];

/// The port of kubelets that name none.
const PORT: i64 = 10250;

/// The longest error of a kubelet, in bytes.
const LONGEST_ERROR: usize = 50_000;

/// Sends requests to kubelets.
#[derive(Clone)]
pub(super) struct KubeletClient {
    kubelets: Option<Arc<dyn Kubelets>>,
    stored: Stored,
}

/// The name and port of a kubelet.
pub(super) struct Host {
    pub(super) name: String,
    pub(super) port: i64,
}

impl KubeletClient {
    pub(super) fn new(environment: &Environment) -> Self {
        Self {
            kubelets: environment.kubelets.clone(),
            stored: Stored(environment.store.clone()),
        }
    }

    /// Returns the nodes, if there are any that answer.
    pub(super) fn kubelets(&self) -> Option<&Arc<dyn Kubelets>> {
        self.kubelets.as_ref()
    }

    /// Returns the name and port by which the kubelet of a node is reached.
    ///
    /// # Errors
    ///
    /// Fails if there is no such node, or if it has no address.
    pub(super) async fn host(&self, node: &str) -> Result<Host, Status> {
        let found: Option<Value> = self.stored.get("nodes", node).await?;
        let found = found.ok_or_else(|| status::not_found(&nodes(), node))?;
        let addresses = found["status"]["addresses"].items();
        let preferred = PREFERRED
            .iter()
            .find_map(|kind| addresses.iter().find(|a| a["type"].text() == *kind));
        let Some(address) = preferred else {
            let known: Vec<&str> = addresses.iter().map(|a| a["type"].text()).collect();
            let known = known.join(" ");
            let text = format!("no preferred addresses found; known addresses: [{known}]");
            return Err(status::unknown(text));
        };
        let port = found["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"].int();
        Ok(Host {
            name: address["address"].text().to_owned(),
            port: if port == 0 { PORT } else { port },
        })
    }

    /// Sends a request to the kubelet of a node under another path.
    pub(super) async fn call(
        &self,
        node: &str,
        path: &str,
        request: Request<Body>,
    ) -> io::Result<Response<Body>> {
        let kubelets = self.kubelets.as_ref();
        let kubelets = kubelets.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        let (mut parts, body) = request.into_parts();
        let target = match parts.uri.query() {
            Some(query) => format!("{path}?{query}"),
            None => path.to_owned(),
        };
        parts.uri = target.parse().map_err(io::Error::other)?;
        let body: KubeletBody = Box::pin(body);
        let answer = kubelets.call(node, Request::from_parts(parts, body)).await;
        Ok(answer?.map(Body::wrap))
    }
}

impl Host {
    /// Returns the words of Go for a connection that could not be opened.
    pub(super) fn dial(&self, error: &io::Error) -> String {
        let Self { name, port } = self;
        match error.kind() {
            io::ErrorKind::NotFound => format!("dial tcp: lookup {name}: no such host"),
            io::ErrorKind::ConnectionRefused => {
                format!("dial tcp {name}:{port}: connect: connection refused")
            }
            _ => format!("dial tcp {name}:{port}: {error}"),
        }
    }
}

/// Returns a response that is not an error, and the error of any other as a status.
pub(super) async fn checked(
    response: Response<Body>,
    resource: &str,
    name: &str,
) -> Result<Response<Body>, Status> {
    let code = response.status();
    if code.is_success() {
        return Ok(response);
    }
    let text = response.into_body().collect_up_to(LONGEST_ERROR).await;
    let text = text.map_err(status::internal)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    Err(match code {
        StatusCode::BAD_REQUEST => status::bad_request(text),
        StatusCode::INTERNAL_SERVER_ERROR => status::internal(text),
        StatusCode::NOT_FOUND => {
            let message =
                format!("the server could not find the requested resource ({resource} {name})");
            let details = Details {
                name: name.to_owned(),
                kind: resource.to_owned(),
                ..Details::default()
            };
            Status::failure(404, "NotFound", message)
                .with_details(details)
                .with_cause("UnexpectedServerResponse", text, "")
        }
        code => Status::failure(code.as_u16(), "", text),
    })
}
