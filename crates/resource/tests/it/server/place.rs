//! Servers to compare with: the embedded one, and a real one if `KUBEWRIGHT_TEST_KUBECONFIG` names a kubeconfig.

use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use kubewright::CustomKind;
use kubewright_machinery::Status;
use kubewright_testing::TestCluster;
use serde_json::{Value, json};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// The number of attempts to see a late effect, and the pause between them.
const LOOKS: usize = 600;
const BETWEEN: Duration = Duration::from_millis(100);

/// A kind on a server.
pub(super) struct Place {
    client: Client,
    /// The path of the kind's objects.
    pub(super) path: String,
    /// Whether it is a server of Go: its maps have no order, and so have the things it finds wrong.
    pub(super) real: bool,
    name: String,
    namespace: Option<String>,
    // Ends with the test.
    _cluster: Option<TestCluster>,
}

impl Place {
    /// The kind on the embedded server, defined so.
    pub(super) async fn embedded<K: CustomKind>(definition: &Value) -> Self {
        let cluster = TestCluster::start().await;
        Self::install::<K>(cluster.client(), Some(cluster), "default", definition).await
    }

    /// The kind on the real server, if there is one, in a namespace of its own.
    pub(super) async fn real<K: CustomKind>(definition: &Value) -> Option<Self> {
        let path = std::env::var_os("KUBEWRIGHT_TEST_KUBECONFIG")?;
        let kubeconfig = kube::config::Kubeconfig::read_from(path).expect("a kubeconfig");
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await;
        let client = Client::try_from(config.expect("a cluster")).expect("a client");
        let wanted = json!({"metadata": {"generateName": "ship-"}});
        let made = send(&client, Method::POST, "/api/v1/namespaces", &wanted).await;
        let made = made.expect("a namespace");
        let namespace = made["metadata"]["name"]
            .as_str()
            .expect("a name")
            .to_owned();
        Some(Self::install::<K>(client, None, &namespace, definition).await)
    }

    async fn install<K: CustomKind>(
        client: Client,
        cluster: Option<TestCluster>,
        namespace: &str,
        definition: &Value,
    ) -> Self {
        let created = send(&client, Method::POST, DEFINITIONS, definition).await;
        created.expect("the server takes the definition");
        let scope = match definition["spec"]["scope"] == "Namespaced" {
            true => format!("namespaces/{namespace}/"),
            false => String::new(),
        };
        let this = Self {
            path: format!("/apis/{}/{scope}{}", K::api_version(&()), K::plural(&())),
            real: cluster.is_none(),
            name: definition["metadata"]["name"]
                .as_str()
                .expect("a name")
                .to_owned(),
            namespace: cluster.is_none().then(|| namespace.to_owned()),
            client,
            _cluster: cluster,
        };
        let served = async || this.get(&this.path).await.is_ok();
        eventually("the kind is served", served).await;
        this
    }

    /// Defines the kind anew, and waits until that has taken effect: until `probe`, which was taken, is refused.
    pub(super) async fn redefine(&self, definition: &Value, probe: &Value) {
        let path = format!("{DEFINITIONS}/{}", self.name);
        let mut definition = definition.clone();
        let current = self.get(&path).await.expect("it is there");
        definition["metadata"]["resourceVersion"] = current["metadata"]["resourceVersion"].clone();
        let written = self.send(Method::PUT, &path, &definition).await;
        written.expect("the server takes the definition");
        let create = format!("{}?dryRun=All", self.path);
        let refused = async || self.send(Method::POST, &create, probe).await.is_err();
        eventually("the definition takes effect", refused).await;
    }

    /// Sends a request.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Result<Value, Status> {
        send(&self.client, method, path, body).await
    }

    pub(super) async fn get(&self, path: &str) -> Result<Value, Status> {
        self.send(Method::GET, path, &Value::Null).await
    }

    /// Takes the kind off a real server again.
    pub(super) async fn leave(&self) {
        if let Some(namespace) = &self.namespace {
            for path in [
                format!("{DEFINITIONS}/{}", self.name),
                format!("/api/v1/namespaces/{namespace}"),
            ] {
                let deleted = self.send(Method::DELETE, &path, &Value::Null).await;
                deleted.expect("it was there");
            }
        }
    }
}

async fn eventually(what: &str, holds: impl AsyncFn() -> bool) {
    for _ in 0..LOOKS {
        if holds().await {
            return;
        }
        tokio::time::sleep(BETWEEN).await;
    }
    panic!("not in a minute: {what}");
}

async fn send(client: &Client, method: Method, path: &str, body: &Value) -> Result<Value, Status> {
    let body = match body {
        Value::Null => Vec::new(),
        body => body.to_string().into_bytes(),
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("Content-Type", "application/json")
        .body(body)
        .expect("a request");
    match client.request::<Value>(request).await {
        Ok(answer) => Ok(answer),
        Err(kube::Error::Api(status)) => {
            let mut status = serde_json::to_value(&status).expect("JSON");
            // kube has no place for these.
            status["kind"] = json!("Status");
            status["apiVersion"] = json!("v1");
            Err(serde_json::from_value(status).expect("a status"))
        }
        Err(other) => panic!("no answer: {other}"),
    }
}
