//! [`Registration`]: the APIServices of a server.

use kube::Client;
use kubewright_apiserver::ApiServer;
use serde_json::{Value, json};

/// The APIServices that lead the API server of a cluster to an extension server.
///
/// ```
/// use kubewright_extension_apiserver::{ExtensionServer, Registration};
///
/// let server = ExtensionServer::builder().build()?;
/// let registration = Registration::new("sky-system", "sky").group_priority(2000);
/// assert!(registration.api_services(server.api()).is_empty(), "a server without kinds");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is registered before `apply` is called"]
pub struct Registration {
    namespace: String,
    service: String,
    port: u16,
    group_priority: i32,
    ca_bundle: Option<String>,
    manager: String,
}

impl Registration {
    /// Registers the server behind a Service.
    pub fn new(namespace: impl Into<String>, service: impl Into<String>) -> Self {
        let service = service.into();
        Self {
            namespace: namespace.into(),
            manager: service.clone(),
            service,
            port: 443,
            group_priority: 1000,
            ca_bundle: None,
        }
    }

    /// Sets the port of the Service (default: 443).
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Sets the place of the groups in discovery (default: 1000, as for custom resources).
    pub fn group_priority(mut self, priority: i32) -> Self {
        self.group_priority = priority;
        self
    }

    /// Sets the authorities of the server's certificate, as PEM (default: whoever keeps the certificate writes them).
    pub fn ca_bundle(mut self, pem: impl AsRef<[u8]>) -> Self {
        use base64::{Engine, engine::general_purpose::STANDARD};
        self.ca_bundle = Some(STANDARD.encode(pem));
        self
    }

    /// Returns the APIServices of the group versions of a server, the preferred version of each group first.
    pub fn api_services(&self, server: &ApiServer) -> Vec<Value> {
        let mut services = Vec::new();
        for group in server.registry().groups() {
            let count = group.versions.len();
            for (i, (version, _)) in group.versions.iter().enumerate() {
                // The preferred version comes first.
                services.push(self.api_service(&group.name, version, 10 * (count - i)));
            }
        }
        services
    }

    fn api_service(&self, group: &str, version: &str, priority: usize) -> Value {
        let mut spec = json!({
            "group": group,
            "version": version,
            "groupPriorityMinimum": self.group_priority,
            "versionPriority": priority.clamp(1, 1000),
            "service": {"namespace": self.namespace, "name": self.service, "port": self.port},
        });
        if let Some(bundle) = &self.ca_bundle {
            spec["caBundle"] = json!(bundle);
        }
        json!({
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": format!("{version}.{group}")},
            "spec": spec,
        })
    }

    /// Applies the APIServices of a server. The field manager is the name of the Service.
    ///
    /// # Errors
    ///
    /// Fails if a request fails, for instance because somebody else owns a field of an APIService.
    pub async fn apply(&self, client: &Client, server: &ApiServer) -> Result<(), kube::Error> {
        for object in self.api_services(server) {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            let path = format!(
                "/apis/apiregistration.k8s.io/v1/apiservices/{name}?fieldManager={}",
                self.manager
            );
            let request = http::Request::patch(path)
                .header("content-type", "application/apply-patch+yaml")
                .body(object.to_string().into_bytes())
                .map_err(kube::Error::HttpError)?;
            client.request::<Value>(request).await?;
        }
        Ok(())
    }
}
