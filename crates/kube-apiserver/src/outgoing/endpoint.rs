//! [`Endpoint`]: the address of a webhook, as its configuration gives it.

use base64::{Engine, engine::general_purpose::STANDARD};
use kubewright_machinery::json::Read;
use serde_json::Value;

use super::services::ServicePort;

/// The port of a service reference without one.
const DEFAULT_PORT: u16 = 443;

/// The address of a webhook, and the certificates that it is trusted by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Endpoint {
    /// The URL without a query. That of a service names the service.
    pub(super) url: String,
    /// The service, if the webhook is not called by its URL.
    pub(super) service: Option<ServicePort>,
    /// The certificates in PEM; empty for those of the system.
    pub(super) ca_bundle: Vec<u8>,
    /// Whether any certificate is accepted.
    pub(super) insecure: bool,
    /// Whether the certificate of this server as a proxy is presented.
    pub(super) presents_proxy: bool,
}

impl Endpoint {
    /// Reads a `clientConfig`, with `url` or `service`, and `caBundle`.
    pub(crate) fn read(client: &Value) -> Self {
        let ca_bundle = client["caBundle"].as_str();
        let ca_bundle = ca_bundle.and_then(|text| STANDARD.decode(text).ok());
        let ca_bundle = ca_bundle.unwrap_or_default();
        if let Some(url) = client["url"].as_str() {
            return Self {
                url: with_clean_path(url),
                service: None,
                ca_bundle,
                insecure: false,
                presents_proxy: false,
            };
        }
        let reference = &client["service"];
        let port = u16::try_from(reference["port"].int()).unwrap_or_default();
        let service = ServicePort {
            namespace: reference["namespace"].text().to_owned(),
            name: reference["name"].text().to_owned(),
            port: if port == 0 { DEFAULT_PORT } else { port },
        };
        let (host, port) = (service.host(), service.port);
        let path = clean_path(reference["path"].text());
        Self {
            url: format!("https://{host}:{port}{path}"),
            service: Some(service),
            ca_bundle,
            insecure: false,
            presents_proxy: false,
        }
    }

    /// Reads the `spec` of an APIService that another server has.
    pub(crate) fn of_api_service(spec: &Value) -> Self {
        Self {
            insecure: spec["insecureSkipTLSVerify"].flag(),
            presents_proxy: true,
            ..Self::read(spec)
        }
    }

    /// Returns the URL without a path.
    pub(crate) fn origin(&self) -> &str {
        self.url.trim_end_matches('/')
    }

    /// Returns the service, if the endpoint is one.
    pub(crate) fn service(&self) -> Option<&ServicePort> {
        self.service.as_ref()
    }
}

impl ServicePort {
    /// Returns the name in the certificate of the service.
    pub(super) fn host(&self) -> String {
        format!("{}.{}.svc", self.name, self.namespace)
    }
}

/// Cleans the path of a URL as Go's client does: a single slash between segments and none at the end.
fn with_clean_path(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    format!("{scheme}://{host}{}", clean_path(path))
}

fn clean_path(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    format!("/{}", segments.join("/"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn urls_are_written_as_by_go() {
        let url = |client: Value| Endpoint::read(&client).url;
        let service = json!({"service": {"namespace": "ns", "name": "hooks"}});
        assert_eq!(url(service), "https://hooks.ns.svc:443/");
        let service =
            json!({"service": {"namespace": "ns", "name": "hooks", "port": 8443, "path": "/a/b/"}});
        assert_eq!(url(service), "https://hooks.ns.svc:8443/a/b");
        assert_eq!(
            url(json!({"url": "https://h:1//a/./b/"})),
            "https://h:1/a/b"
        );
        assert_eq!(url(json!({"url": "https://h"})), "https://h/");
    }
}
