//! An extension server behind a cluster, both over TLS in one process. It has a stored kind, a computed kind, an endless log and
//! an echo; the cluster has a custom resource with the schema of the stored kind.

use std::{
    collections::BTreeMap,
    io,
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures_util::stream;
use kube::CustomResource;
use kubewright_apiserver::request::RequestContext;
use kubewright_cluster::{AuthorizationMode, CertificateAuthority, Cluster, Services};
use kubewright_extension_apiserver::{
    Delegation, ExecSubresource, ExtensionServer, Kind, ListQuery, Listing, LogStream,
    LogSubresource, Registration, Storage, Verbs, async_trait,
};
use kubewright_machinery::{Status, status};
use kubewright_resource::Schema;
use kubewright_store::MemoryStore;
use kubewright_streams::{Exec, ExecSession, Exit};
use kubewright_webhook::Certificates;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, net::TcpListener};

/// The group of the extension server.
pub(crate) const TYPED: &str = "typed.bench.example.com";
/// The group of the custom resource with the same schema.
pub(crate) const CUSTOM: &str = "custom.bench.example.com";

/// The addresses of both servers.
#[derive(Serialize, Deserialize)]
pub(crate) struct Addresses {
    /// The kubeconfig of the cluster.
    pub(crate) cluster: String,
    /// The address of the extension server, whose users are those of the cluster.
    pub(crate) direct: String,
}

/// A widget: the kind of the other cases as a Rust type.
#[kubewright::defaults]
#[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
#[kube(
    group = "typed.bench.example.com",
    version = "v1",
    kind = "Widget",
    namespaced,
    status = "WidgetStatus",
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".spec.replicas")
)]
#[serde(rename_all = "camelCase")]
#[schema(rule(
    "self.minReplicas <= self.replicas && self.replicas <= self.maxReplicas",
    message = "replicas must be between minReplicas and maxReplicas"
))]
#[schema(rule("self.ports.all(p, p.port > 0 && p.port < 65536)"))]
#[schema(rule("self.image.contains(':') && !self.image.endsWith(':latest')"))]
pub(crate) struct WidgetSpec {
    #[schema(protobuf = 1, minimum = 0)]
    replicas: i64,
    #[schema(protobuf = 2, default = 0)]
    min_replicas: i64,
    #[schema(protobuf = 3, default = 10)]
    max_replicas: i64,
    #[schema(protobuf = 4, enum = ["Rolling", "Recreate"], default = "Rolling")]
    mode: String,
    #[schema(protobuf = 5, default = false)]
    paused: bool,
    #[schema(protobuf = 6, max_length = 200, pattern = "^[a-z0-9./:-]+$")]
    image: String,
    #[serde(default)]
    #[schema(protobuf = 7, max_items = 20, list_map_keys("name"))]
    ports: Vec<Port>,
    #[serde(default)]
    #[schema(protobuf = 8, max_items = 100)]
    settings: Vec<Setting>,
}

#[kubewright::defaults]
#[derive(Schema, Clone, Debug, Serialize, Deserialize)]
struct Port {
    #[schema(protobuf = 1, max_length = 15)]
    name: String,
    #[schema(protobuf = 2)]
    port: i64,
    #[schema(protobuf = 3, default = "TCP")]
    protocol: String,
}

#[derive(Schema, Clone, Debug, Serialize, Deserialize)]
struct Setting {
    #[schema(protobuf = 1, max_length = 63)]
    name: String,
    #[serde(default)]
    #[schema(protobuf = 2, max_length = 200)]
    value: Option<String>,
}

#[derive(Schema, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WidgetStatus {
    #[schema(protobuf = 1)]
    ready_replicas: Option<i64>,
}

/// A computed object, of the size of a Flunder of sample-apiserver.
#[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
#[kube(
    group = "typed.bench.example.com",
    version = "v1",
    kind = "Reading",
    namespaced
)]
pub(crate) struct ReadingSpec {
    reference: String,
}

/// Returns the stored kind.
pub(crate) fn widgets() -> Kind<Widget> {
    Kind::stored(Arc::new(MemoryStore::new())).protobuf()
}

/// Serves until standard input is closed. The argument is the number of computed objects.
pub(super) fn serve(count: &str) -> anyhow::Result<()> {
    std::thread::spawn(|| {
        // Only the end of the input matters.
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        std::process::exit(0);
    });
    let count = count.parse()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(run(count))
}

async fn run(count: usize) -> anyhow::Result<()> {
    let services = Services::default();
    let proxies = CertificateAuthority::generate("proxies", SystemTime::now())?;
    let cluster = Cluster::builder()
        .services(services.clone())
        .front_proxy_authority(proxies)
        .authorization([AuthorizationMode::Rbac])
        .listen(([127, 0, 0, 1], 0).into())
        .start()
        .await?;
    let client = cluster.client();
    let delegation = Delegation::new(client.clone()).await?;
    let readings = Kind::computed(Readings::new(count))
        .log("tail", Endless)
        .exec("echo", Echoes);
    let server = ExtensionServer::builder()
        .kind(widgets())
        .kind(readings)
        .delegate(&delegation)
        .build()?;

    let own = CertificateAuthority::generate("typed", SystemTime::now())?;
    let certificate = own.sign_server(["typed.bench.svc", "127.0.0.1"], SystemTime::now())?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let direct = listener.local_addr()?;
    services.set_address("bench", "typed", 443, direct);
    let registration = Registration::new("bench", "typed").ca_bundle(own.certificate_pem());
    registration.apply(&client, server.api()).await?;
    let request = http::Request::post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
        .header("content-type", "application/json")
        .body(custom()?.to_string().into_bytes())?;
    client.request::<Value>(request).await?;

    let endpoint = cluster.endpoint();
    let addresses = Addresses {
        cluster: endpoint.map(|e| e.kubeconfig()).unwrap_or_default(),
        direct: direct.to_string(),
    };
    println!("{}", serde_json::to_string(&addresses)?);
    let certificates = Certificates::pem(certificate.certificate_pem, certificate.key_pem);
    let forever = std::future::pending();
    server
        .serve_tls(listener, &certificates, &delegation, forever)
        .await?;
    Ok(())
}

/// Returns the definition of a custom resource with the schema of widgets.
fn custom() -> anyhow::Result<Value> {
    let mut definition = widgets().definition()?;
    definition["metadata"]["name"] = json!(format!("widgets.{CUSTOM}"));
    definition["spec"]["group"] = json!(CUSTOM);
    Ok(definition)
}

/// Objects in a map.
struct Readings(BTreeMap<String, Arc<Reading>>);

impl Readings {
    fn new(count: usize) -> Self {
        let one = |number: usize| {
            let name = format!("reading-{number:010}");
            let reference = "a reading that refers to another one".to_owned();
            let mut reading = Reading::new(&name, ReadingSpec { reference });
            reading.metadata.namespace = Some("default".to_owned());
            reading.metadata.uid = Some(format!("00000000-0000-4000-8000-{number:012}"));
            reading.metadata.resource_version = Some((number + 1).to_string());
            let labels = [("app", "bench"), ("tier", "front")];
            let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned()));
            reading.metadata.labels = Some(labels.into());
            (name, Arc::new(reading))
        };
        Self((0..count).map(one).collect())
    }
}

#[async_trait]
impl Storage<Reading> for Readings {
    fn verbs(&self) -> Verbs {
        Verbs::READ
    }

    async fn get_shared(&self, _: &str, name: &str) -> Result<Option<Arc<Reading>>, Status> {
        Ok(self.0.get(name).cloned())
    }

    async fn list(&self, _: &ListQuery) -> Result<Listing<Reading>, Status> {
        let items = self.0.values().cloned().collect();
        Ok(Listing::shared(items).version(self.0.len() as u64))
    }
}

/// One line, and then nothing.
struct Endless;

#[async_trait]
impl LogSubresource<Reading> for Endless {
    async fn log(&self, _: &RequestContext, _: Reading) -> Result<LogStream, Status> {
        Ok(Box::pin(stream::unfold(false, |told| async move {
            if told {
                tokio::time::sleep(Duration::from_secs(3600)).await;
            }
            Some((Ok("a line\n".into()), true))
        })))
    }
}

/// Commands that repeat what they read.
struct Echoes;

#[async_trait]
impl ExecSubresource<Reading> for Echoes {
    async fn exec(&self, _: &RequestContext, _: Reading) -> Result<Arc<dyn Exec>, Status> {
        Ok(Arc::new(Echo))
    }
}

struct Echo;

#[async_trait]
impl Exec for Echo {
    async fn exec(&self, session: ExecSession) -> Result<Exit, Status> {
        let (Some(mut stdin), Some(mut stdout)) = (session.stdin, session.stdout) else {
            return Err(status::bad_request("an echo needs stdin and stdout"));
        };
        while let Some(bytes) = stdin.chunk().await {
            if stdout.write_all(&bytes).await.is_err() {
                return Ok(Exit::code(1));
            }
        }
        Ok(Exit::SUCCESS)
    }
}
