//! Upstream's sample-apiserver, unmodified, behind our API server, used by kubectl.
//!
//! `KUBEWRIGHT_SAMPLE_APISERVER` names its program, which is built in `conformance/aggregated`, and `KUBEWRIGHT_ETCD` that of
//! etcd, where it stores its objects.

use std::{
    env,
    ffi::OsString,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use http::Request;
use kubewright_cluster::{AuthorizationMode, Cluster, Services};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::mpsc};

/// A folder that is removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let name = format!("kubewright-sample-apiserver-{}", std::process::id());
        let path = env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn is_there(program: &OsString, argument: &str) -> bool {
    let mut command = Command::new(program);
    command.arg(argument).stdout(Stdio::null());
    let status = command.stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// A child process that is killed when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap().port()
}

fn start(program: &OsString, arguments: &[String], folder: &Path) -> Running {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    Running(command.stderr(Stdio::null()).spawn().unwrap())
}

fn strings<const N: usize>(arguments: [&str; N]) -> Vec<String> {
    arguments.map(str::to_owned).to_vec()
}

async fn send(cluster: &Cluster, method: &str, path: &str, object: &Value) -> Value {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json");
    let body = match object {
        Value::Null => Vec::new(),
        object => object.to_string().into_bytes(),
    };
    let request = request.body(body).unwrap();
    cluster.client().request(request).await.unwrap()
}

/// Runs kubectl with a kubeconfig.
struct Kubectl(String);

impl Kubectl {
    fn command(&self, line: &str) -> Command {
        let mut command = Command::new("kubectl");
        command
            .args(line.split_whitespace())
            .env("KUBECONFIG", &self.0);
        command.stdin(Stdio::null());
        command
    }

    async fn run(&self, line: &str) -> String {
        self.tried(line).await.unwrap()
    }

    /// Runs a command until it succeeds: the server rejects requests until its informers are ready.
    async fn eventually(&self, line: &str) -> String {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            match self.tried(line).await {
                Err(error) if error.contains("not yet ready") && Instant::now() < until => {}
                other => return other.unwrap(),
            }
        }
    }

    async fn tried(&self, line: &str) -> Result<String, String> {
        let mut command = self.command(line);
        let output = tokio::task::spawn_blocking(move || command.output()).await;
        let output = output.unwrap().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        match output.status.success() {
            true => Ok(String::from_utf8(output.stdout).unwrap()),
            false => Err(format!("kubectl {line}: {errors}")),
        }
    }
}

const FLUNDER: &str = "apiVersion: wardle.example.com/v1alpha1
kind: Flunder
metadata:
  name: my-first-flunder
  labels:
    sample-label: \"true\"
spec:
  reference: nothing
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_uses_the_kinds_of_the_sample_apiserver() {
    let Some(program) = env::var_os("KUBEWRIGHT_SAMPLE_APISERVER") else {
        println!(
            "skipped: the sample-apiserver behind our server: KUBEWRIGHT_SAMPLE_APISERVER does not name its program, which conformance/aggregated builds"
        );
        return;
    };
    let etcd = env::var_os("KUBEWRIGHT_ETCD").unwrap_or_else(|| "etcd".into());
    let kubectl = OsString::from("kubectl");
    for (name, program, argument) in [("etcd", &etcd, "--version"), ("kubectl", &kubectl, "help")] {
        if !is_there(program, argument) {
            println!("skipped: the sample-apiserver behind our server: {name} is not installed");
            return;
        }
    }
    let folder = Folder::new();
    let services = Services::default();
    let cluster = Cluster::builder()
        .services(services.clone())
        .authorization([AuthorizationMode::Rbac])
        .listen("127.0.0.1:0".parse().unwrap())
        .start()
        .await
        .unwrap();
    let kubeconfig = folder.file("kubeconfig", &cluster.endpoint().unwrap().kubeconfig());

    let (client, peer) = (free_port().await, free_port().await);
    let (client, peer) = (
        format!("http://127.0.0.1:{client}"),
        format!("http://127.0.0.1:{peer}"),
    );
    let arguments = strings([
        "--data-dir=etcd",
        "--unsafe-no-fsync",
        &format!("--listen-client-urls={client}"),
        &format!("--advertise-client-urls={client}"),
        &format!("--listen-peer-urls={peer}"),
        &format!("--initial-advertise-peer-urls={peer}"),
        &format!("--initial-cluster=default={peer}"),
    ]);
    let _etcd = start(&etcd, &arguments, &folder.0);
    let port = free_port().await;
    let arguments = strings([
        "--bind-address=127.0.0.1",
        &format!("--secure-port={port}"),
        &format!("--etcd-servers={client}"),
        &format!("--kubeconfig={kubeconfig}"),
        &format!("--authentication-kubeconfig={kubeconfig}"),
        &format!("--authorization-kubeconfig={kubeconfig}"),
        "--cert-dir=certificates",
    ]);
    let _server = start(&program, &arguments, &folder.0);
    services.set_address("wardle", "api", 443, ([127, 0, 0, 1], port).into());

    // As in its own manifests.
    for version in ["v1alpha1", "v1beta1"] {
        let service = json!({
            "metadata": {"name": format!("{version}.wardle.example.com")},
            "spec": {
                "insecureSkipTLSVerify": true,
                "group": "wardle.example.com",
                "version": version,
                "groupPriorityMinimum": 1000,
                "versionPriority": 15,
                "service": {"name": "api", "namespace": "wardle"},
            },
        });
        let services = "/apis/apiregistration.k8s.io/v1/apiservices";
        send(&cluster, "POST", services, &service).await;
    }
    let kubectl = Kubectl(kubeconfig);
    for version in ["v1alpha1", "v1beta1"] {
        let service = format!("apiservice/{version}.wardle.example.com");
        let line = format!("wait --for=condition=Available --timeout=120s {service}");
        let waited = kubectl.run(&line);
        assert!(waited.await.contains("condition met"));
    }

    let flunder = folder.file("flunder.yaml", FLUNDER);
    let made = kubectl.eventually(&format!("create -f {flunder}")).await;
    assert_eq!(
        made,
        "flunder.wardle.example.com/my-first-flunder created\n"
    );
    let list = kubectl
        .run("get flunders.v1alpha1.wardle.example.com --no-headers -o custom-columns=N:.metadata.name")
        .await;
    assert_eq!(list, "my-first-flunder\n");
    let table = kubectl
        .run("get flunders.v1alpha1.wardle.example.com")
        .await;
    assert!(table.starts_with("NAME "), "{table}");

    let mut watching =
        kubectl.command("get flunders.v1alpha1.wardle.example.com --watch --output=jsonpath={.spec.reference}{\"\\n\"}");
    let mut watching = Running(watching.stdout(Stdio::piped()).spawn().unwrap());
    let lines = BufReader::new(watching.0.stdout.take().unwrap()).lines();
    let (told, mut references) = mpsc::unbounded_channel();
    let reader = thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            // The test may have ended.
            let _ = told.send(line);
        }
    });
    assert_eq!(references.recv().await.as_deref(), Some("nothing"));
    let changed = FLUNDER.replace("nothing", "something");
    let changed = folder.file("changed.yaml", &changed);
    let applied = kubectl
        .run(&format!(
            "apply --server-side --force-conflicts -f {changed}"
        ))
        .await;
    assert_eq!(
        applied,
        "flunder.wardle.example.com/my-first-flunder serverside-applied\n"
    );
    assert_eq!(references.recv().await.as_deref(), Some("something"));
    drop(watching);
    reader.join().unwrap();

    // Merged discovery and documents.
    let resources = kubectl
        .run("api-resources --api-group=wardle.example.com -o name")
        .await;
    assert!(
        resources.contains("flunders.wardle.example.com"),
        "{resources}"
    );
    let explained = kubectl
        .run("explain flunders.spec.reference --api-version=wardle.example.com/v1alpha1")
        .await;
    assert!(
        explained.contains("FIELD: reference <string>"),
        "{explained}"
    );
    let document = send(&cluster, "GET", "/openapi/v2", &Value::Null).await;
    let path = "/apis/wardle.example.com/v1alpha1/namespaces/{namespace}/flunders";
    assert!(document["paths"][path]["get"].is_object());

    let deleted = kubectl.run("delete flunder my-first-flunder").await;
    assert!(deleted.contains("deleted"), "{deleted}");
    assert_eq!(
        kubectl
            .run("get flunders.v1alpha1.wardle.example.com -o name")
            .await,
        ""
    );
    cluster.stop().await.unwrap();
}
