//! [`Registration`]: the APIServices of a server.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use kube::Client;
use kubewright_apiserver::ApiServer;
use serde_json::{Value, json};

/// The APIServices that register an extension server with the API server of a cluster.
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
    /// The host of a server outside the cluster.
    external: Option<IpAddr>,
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
            external: None,
        }
    }

    /// Sets the port of the Service (default: 443).
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Registers a server outside the cluster: [`apply`](Self::apply) also creates the namespace, and the Service as an alias of
    /// the address (type `ExternalName`). The API server must reach the address. An unspecified one, such as `0.0.0.0`, stands for
    /// this machine.
    ///
    /// ```
    /// use kubewright_extension_apiserver::Registration;
    ///
    /// let registration = Registration::new("sky-system", "sky");
    /// let registration = registration.external(([127, 0, 0, 1], 8443).into());
    /// # let _ = registration;
    /// ```
    pub fn external(mut self, address: SocketAddr) -> Self {
        self.port = address.port();
        self.external = Some(match address.ip() {
            ip if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            ip => ip,
        });
        self
    }

    /// Sets the `groupPriorityMinimum` of the groups (default: 1000, as for custom resources).
    pub fn group_priority(mut self, priority: i32) -> Self {
        self.group_priority = priority;
        self
    }

    /// Sets the certificate authorities of the server as PEM (default: set by the component that maintains the certificate).
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

    /// Returns the namespace and the Service of a server outside the cluster, with their paths.
    fn service(&self) -> Vec<(String, Value)> {
        let Some(host) = self.external else {
            return Vec::new();
        };
        let (namespace, name) = (&self.namespace, &self.service);
        let path = format!("/api/v1/namespaces/{namespace}");
        let service = json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"namespace": namespace, "name": name},
            "spec": {"type": "ExternalName", "externalName": host.to_string()},
        });
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace},
        });
        vec![
            (path.clone(), namespace),
            (format!("{path}/services/{name}"), service),
        ]
    }

    /// Applies the APIServices of a server. The field manager is the name of the Service.
    ///
    /// # Errors
    ///
    /// Fails if a request fails, for instance because another field manager owns a field of an APIService.
    pub async fn apply(&self, client: &Client, server: &ApiServer) -> Result<(), kube::Error> {
        for (path, object) in self.service() {
            self.apply_one(client, &path, &object).await?;
        }
        for object in self.api_services(server) {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            let path = format!("/apis/apiregistration.k8s.io/v1/apiservices/{name}");
            self.apply_one(client, &path, &object).await?;
        }
        Ok(())
    }

    async fn apply_one(
        &self,
        client: &Client,
        path: &str,
        object: &Value,
    ) -> Result<(), kube::Error> {
        let request = http::Request::patch(format!("{path}?fieldManager={}", self.manager))
            .header("content-type", "application/apply-patch+yaml")
            .body(object.to_string().into_bytes())
            .map_err(kube::Error::HttpError)?;
        client.request::<Value>(request).await.map(drop)
    }
}
