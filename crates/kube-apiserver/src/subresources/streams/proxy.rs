//! [`Proxy`]: plain HTTP to ports of pods, services and nodes.

use std::{io, net::IpAddr};

use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, Version, header};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use kubewright_apiserver::{Body, registry::Generic, request::RequestContext};
use kubewright_machinery::{Status, go, gvk::GroupResource, json::Read, status};
use kubewright_serve::connect_unverified;
use kubewright_streams::PodConnection;
use rand::seq::IndexedRandom;
use serde_json::Value;

use super::{
    kubelet::KubeletClient,
    links::{Place, lead_through},
};
use crate::{
    admission::stored::Stored,
    aggregation::headers,
    kinds::Environment,
    outgoing::{is_error, is_upgrade, not_upgraded, switched},
};

const NOT_ALLOWED: &str = "address not allowed";

/// Forwards requests to pods, services and nodes.
pub(super) struct Proxy {
    parents: Generic,
    client: KubeletClient,
    stored: Stored,
}

/// A destination of requests.
enum Location {
    /// The kubelet of a node.
    Kubelet(String),
    /// A port of an address.
    Port(String, u16),
}

/// The parts of `name`, `name:port` or `scheme:name:port`.
struct Target<'a> {
    scheme: &'a str,
    name: &'a str,
    port: &'a str,
}

impl Proxy {
    pub(super) fn new(parents: Generic, client: KubeletClient, environment: &Environment) -> Self {
        Self {
            parents,
            client,
            stored: Stored(environment.store.clone()),
        }
    }

    pub(super) async fn connect(
        &self,
        cx: &RequestContext,
        id: &str,
        request: Request<Body>,
    ) -> Result<Response<Body>, Status> {
        let kind = cx.info.resource.trim_end_matches('s');
        let target = Target::parse(id).ok_or_else(|| {
            status::bad_request(format!("invalid {kind} request {}", go::quote(id)))
        })?;
        let location = match kind {
            "pod" => self.pod(cx, &target).await?,
            "service" => self.service(cx, id, &target).await?,
            _ => self.node(&target).await?,
        };
        let path = below(request.uri().path());
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        if path.is_empty() && reads && !is_upgrade(&request) {
            return Ok(with_slash(request.uri()));
        }
        let path = if path.is_empty() { "/" } else { path }.to_owned();
        let (host, port) = match location {
            Location::Kubelet(node) => {
                let host = self.client.host(&node).await?;
                let upgrade = is_upgrade(&request);
                let answer = self.client.call(&node, &path, request).await;
                let answer = answer.map_err(|e| failed(host.dial(&e)))?;
                let code = answer.status();
                if upgrade && code != StatusCode::SWITCHING_PROTOCOLS && !is_error(code) {
                    return Err(status::unknown(not_upgraded(code)));
                }
                return Ok(answer);
            }
            Location::Port(host, port) => (host, port),
        };
        let mut connection = self.dial(&host, port).await.map_err(failed)?;
        if target.scheme == "https" {
            let secure = connect_unverified(connection, &host).await;
            connection = Box::pin(secure.map_err(|e| failed(e.to_string()))?);
        }
        let place = Place {
            prefix: prefix(request.uri().path()).to_owned(),
            host: format!("{host}:{port}"),
            requested: requested_host(&request),
        };
        let request = prepared(request, &path, &host, port).map_err(failed)?;
        let response = forward(connection, request).await?;
        Ok(lead_through(response, place))
    }

    async fn pod(&self, cx: &RequestContext, target: &Target<'_>) -> Result<Location, Status> {
        let pod = self.parents.read(cx, target.name).await?;
        let address = pod["status"]["podIP"].text();
        if !is_allowed(address) {
            return Err(status::bad_request(NOT_ALLOWED));
        }
        let mut declared = pod["spec"]["containers"].items().iter();
        let port = match target.port {
            "" => declared
                .find_map(|c| c["ports"].items().first())
                .map_or(80, |port| port["containerPort"].int()),
            port => port.parse().unwrap_or_default(),
        };
        let port = u16::try_from(port).unwrap_or_default();
        Ok(Location::Port(address.to_owned(), port))
    }

    /// Returns an address of a service. The port may be a number of the service or a name.
    async fn service(
        &self,
        cx: &RequestContext,
        id: &str,
        target: &Target<'_>,
    ) -> Result<Location, Status> {
        let mut name = target.port.to_owned();
        if let Ok(number) = target.port.parse::<i64>() {
            let service = self.parents.read(cx, target.name).await?;
            let ports = service["spec"]["ports"].items();
            let port = ports.iter().find(|port| port["port"].int() == number);
            let port = port.ok_or_else(|| {
                status::service_unavailable(format!(
                    "no service port {number} found for service {}",
                    go::quote(target.name)
                ))
            })?;
            name = port["name"].text().to_owned();
        }
        let key = format!("{}/{}", cx.namespace(), target.name);
        let endpoints: Option<Value> = self.stored.get("endpoints", &key).await?;
        let endpoints = endpoints
            .ok_or_else(|| status::not_found(&GroupResource::new("", "endpoints"), target.name))?;
        let subsets = endpoints["subsets"].items();
        let addresses: Vec<(&str, u16)> = subsets
            .iter()
            .filter_map(|subset| {
                let mut ports = subset["ports"].items().iter();
                let port = ports.find(|port| port["name"].text() == name)?;
                Some((subset, u16::try_from(port["port"].int()).ok()?))
            })
            .flat_map(|(subset, port)| {
                let addresses = subset["addresses"].items().iter();
                addresses.map(move |address| (address["ip"].text(), port))
            })
            .collect();
        let what = if subsets.is_empty() { target.name } else { id };
        let (address, port) = addresses.choose(&mut rand::rng()).ok_or_else(|| {
            let what = go::quote(what);
            status::service_unavailable(format!("no endpoints available for service {what}"))
        })?;
        Ok(Location::Port((*address).to_owned(), *port))
    }

    async fn node(&self, target: &Target<'_>) -> Result<Location, Status> {
        let host = self.client.host(target.name).await?;
        let is_address = |text: &str| text.parse::<IpAddr>().is_ok();
        if is_address(&host.name) && !is_allowed(&host.name) {
            return Err(status::bad_request(NOT_ALLOWED));
        }
        if target.port.is_empty() || target.port == host.port.to_string() {
            return Ok(Location::Kubelet(target.name.to_owned()));
        }
        let node: Option<Value> = self.stored.get("nodes", target.name).await?;
        let node = node.unwrap_or_default();
        let mut addresses = node["status"]["addresses"].items().iter();
        let internal = addresses.find(|address| address["type"].text() == "InternalIP");
        let address = internal.map_or(host.name.as_str(), |a| a["address"].text());
        if is_address(address) && !is_allowed(address) {
            return Err(status::bad_request(NOT_ALLOWED));
        }
        let port = target.port.parse().unwrap_or_default();
        Ok(Location::Port(address.to_owned(), port))
    }

    async fn dial(&self, host: &str, port: u16) -> Result<PodConnection, String> {
        let shown = match host.contains(':') {
            true => format!("[{host}]:{port}"),
            false => format!("{host}:{port}"),
        };
        let failed = |why: &str| format!("dial tcp {shown}: connect: {why}");
        let address: IpAddr = host
            .parse()
            .map_err(|_| format!("dial tcp: lookup {host}: no such host"))?;
        let Some(kubelets) = self.client.kubelets() else {
            return Err(failed("no route to host"));
        };
        let connection = kubelets.connect(address, port).await;
        connection.map_err(|error| match error.kind() {
            io::ErrorKind::ConnectionRefused => failed("connection refused"),
            io::ErrorKind::HostUnreachable => failed("no route to host"),
            _ => failed(&error.to_string()),
        })
    }
}

impl<'a> Target<'a> {
    fn parse(id: &'a str) -> Option<Self> {
        let parts: Vec<&str> = id.split(':').collect();
        let (scheme, name, port) = match parts[..] {
            [name] => ("", name, ""),
            [name, port] => ("", name, port),
            ["" | "http" | "https", name, port] => (parts[0], name, port),
            _ => return None,
        };
        (!name.is_empty()).then_some(Self { scheme, name, port })
    }
}

/// Reports whether requests may be sent to an address: one of another machine, and of one only.
fn is_allowed(address: &str) -> bool {
    let Ok(address) = address.parse::<IpAddr>() else {
        return false;
    };
    // Of `::ffff:127.0.0.1`, the IPv4 address counts.
    let address = address.to_canonical();
    let is_link_local = match address {
        IpAddr::V4(v4) => v4.is_link_local() || v4.is_broadcast(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    !address.is_unspecified() && !address.is_loopback() && !address.is_multicast() && !is_link_local
}

/// Returns the path below the segment `proxy`, which is empty if the path ends there.
fn below(path: &str) -> &str {
    // `/api/v1/namespaces/NAMESPACE/pods/NAME/proxy` and `/api/v1/nodes/NAME/proxy`.
    let before = match path.starts_with("/api/v1/namespaces/") {
        true => 7,
        false => 5,
    };
    match path.match_indices('/').nth(before) {
        Some((at, _)) => &path[at..],
        None => "",
    }
}

/// Returns the path up to the segment `proxy`.
fn prefix(path: &str) -> &str {
    &path[..path.len() - below(path).len()]
}

/// Returns the host that a client has asked for.
fn requested_host(request: &Request<Body>) -> String {
    let host = request.headers().get(header::HOST);
    let host = host.and_then(|host| host.to_str().ok());
    let host = host.or(request
        .uri()
        .authority()
        .map(|authority| authority.as_str()));
    host.unwrap_or_default().to_owned()
}

/// Leads a client to the directory, so that relative links work.
fn with_slash(uri: &Uri) -> Response<Body> {
    let query = uri.query().map(|query| format!("?{query}"));
    let to = format!("{}/{}", uri.path(), query.unwrap_or_default());
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
    if let Ok(to) = HeaderValue::from_str(&to) {
        response.headers_mut().insert(header::LOCATION, to);
    }
    response
}

/// Returns the request as the pod gets it.
fn prepared(
    request: Request<Body>,
    path: &str,
    host: &str,
    port: u16,
) -> Result<Request<Body>, String> {
    let (mut parts, body) = request.into_parts();
    let from = parts.uri.path().to_owned();
    headers::remove_hop_by_hop(&mut parts.headers);
    parts.headers.remove(header::AUTHORIZATION);
    headers::set_forwarded(&mut parts.headers, &from, None);
    let target = match parts.uri.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    parts.uri = target.parse().map_err(|e| format!("invalid URL: {e}"))?;
    let host = HeaderValue::from_str(&format!("{host}:{port}")).map_err(|e| e.to_string())?;
    parts.headers.insert(header::HOST, host);
    parts.version = Version::HTTP_11;
    Ok(Request::from_parts(parts, body))
}

fn failed(error: String) -> Status {
    status::service_unavailable(format!("error trying to reach service: {error}"))
}

/// Sends a request over a connection of its own.
async fn forward(
    connection: PodConnection,
    mut request: Request<Body>,
) -> Result<Response<Body>, Status> {
    let upgrade = is_upgrade(&request).then(|| hyper::upgrade::on(&mut request));
    let (mut sender, driver) = http1::handshake(TokioIo::new(connection))
        .await
        .map_err(|e| failed(e.to_string()))?;
    // It ends with the connection, which ends with the body of the answer.
    tokio::spawn(driver.with_upgrades());
    let answer = sender.send_request(request).await;
    let answer = answer.map_err(|e| match e.is_incomplete_message() {
        true => failed("EOF".to_owned()),
        false => failed(e.to_string()),
    })?;
    let code = answer.status();
    if upgrade.is_some() && !is_error(code) && code != StatusCode::SWITCHING_PROTOCOLS {
        return Err(status::unknown(not_upgraded(code)));
    }
    let mut response = match (code, upgrade) {
        (StatusCode::SWITCHING_PROTOCOLS, Some(upgrade)) => switched(upgrade, sender, answer),
        (StatusCode::SWITCHING_PROTOCOLS, None) => {
            let text = "the backend switched protocols without being asked";
            return Err(failed(text.to_owned()));
        }
        _ => {
            let mut answer = answer.map(Body::wrap);
            headers::remove_hop_by_hop(answer.headers_mut());
            answer
        }
    };
    *response.version_mut() = Version::HTTP_11;
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_have_a_scheme_and_a_port() {
        let parts = |id| Target::parse(id).map(|t| (t.scheme, t.name, t.port));
        assert_eq!(parts("web"), Some(("", "web", "")));
        assert_eq!(parts("web:80"), Some(("", "web", "80")));
        assert_eq!(parts("https:web:admin"), Some(("https", "web", "admin")));
        assert_eq!(parts("http:web:"), Some(("http", "web", "")));
        for wrong in ["", ":80", "ftp:web:21", "a:b:c:d"] {
            assert_eq!(parts(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn addresses_of_this_machine_are_not_allowed() {
        for wrong in [
            "",
            "127.0.0.1",
            "::1",
            "0.0.0.0",
            "169.254.1.1",
            "224.0.0.1",
            "::ffff:127.0.0.1",
        ] {
            assert!(!is_allowed(wrong), "{wrong}");
        }
        assert!(is_allowed("10.244.0.5"));
    }

    #[test]
    fn the_path_below_keeps_its_slash() {
        let base = "/api/v1/namespaces/a/pods/p/proxy";
        assert_eq!(below(base), "");
        assert_eq!(below(&format!("{base}/")), "/");
        assert_eq!(below(&format!("{base}/a/proxy/")), "/a/proxy/");
        let base = "/api/v1/namespaces/proxy-1/services/proxy:80/proxy";
        assert_eq!(below(base), "");
        assert_eq!(below(&format!("{base}/a")), "/a");
        assert_eq!(below("/api/v1/nodes/proxy/proxy"), "");
        assert_eq!(below("/api/v1/nodes/proxy/proxy/logs/"), "/logs/");
    }
}
