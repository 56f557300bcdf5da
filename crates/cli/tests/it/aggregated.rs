//! The aggregated APIs of an operator in `dev`, `run` and `doctor`. The operator is this test program: it serves comets in the
//! place of a program that cargo would have to build.
#![cfg(unix)]

use std::{
    collections::HashMap,
    fs,
    io::Read,
    net::SocketAddr,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use kubewright_apiserver::{
    ApiServer,
    registry::{RegistryBuilder, Resource, ResourceSpec},
};
use kubewright_machinery::gvk::GroupVersionKind;
use kubewright_serve::{Server as TlsServer, Tls};
use kubewright_store::MemoryStore;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{
    dev::{developed, model, shows},
    generating::{MODEL, project, script},
    new_user::got,
    process::{PATIENCE, Process},
    server::{Folder, Server, kubewright},
};

/// The variable with the arguments of the operator that this program is to be.
const STAND_IN: &str = "KUBEWRIGHT_TEST_AGGREGATED_STAND_IN";
/// The test that is the operator if that variable is set.
const TEST: &str = "aggregated::the_cluster_of_dev_serves_the_kinds_of_the_operator";

const COMETS: &str = "/apis/sky.example.com/v1/comets";

/// The description of an operator that serves comets itself.
fn described() -> Value {
    let mut model = model();
    model["aggregated"] = json!([{
        "metadata": {"name": "comets.sky.example.com"},
        "spec": {
            "group": "sky.example.com", "scope": "Namespaced",
            "names": {"kind": "Comet", "plural": "comets", "singular": "comet", "listKind": "CometList"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }],
        },
    }]);
    model
}

/// Returns the shell commands that run this program as the operator.
fn operator() -> String {
    let program = std::env::current_exe().unwrap();
    let program = program.display();
    format!("{STAND_IN}=\"$*\" exec {program} --exact {TEST} --nocapture --quiet")
}

/// Writes an operator that is not part of a project.
fn executable(folder: &Folder) -> PathBuf {
    let model = folder.path().join("model.json");
    fs::write(&model, described().to_string()).unwrap();
    let path = folder.path().join("operator");
    let text = format!(
        "#!/bin/sh\ncase \"$1\" in describe) cat {};; *) {};; esac\n",
        model.display(),
        operator()
    );
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Serves comets until standard input is closed.
fn stand_in(arguments: &str) {
    let words: Vec<&str> = arguments.split(' ').collect();
    let flags: HashMap<&str, &str> = words.windows(2).map(|pair| (pair[0], pair[1])).collect();
    let read = |name: &str| fs::read(Path::new(flags["--apiserver-cert-path"]).join(name)).unwrap();
    let tls = Tls::from_pem(&read("tls.crt"), &read("tls.key")).unwrap();
    let address: SocketAddr = flags["--apiserver-bind-address"].parse().unwrap();
    let kind = GroupVersionKind::new("sky.example.com", "v1", "Comet");
    let spec = ResourceSpec::new(kind, "comets").namespaced();
    let mut registry = RegistryBuilder::default();
    registry.add(Resource::stored(spec, Arc::new(MemoryStore::new())));
    let comets = ApiServer::builder(registry.build()).build();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind(address).await.unwrap();
        let server = TlsServer::new(listener).tls(tls);
        tokio::spawn(server.serve(comets, std::future::pending()));
        let closed = tokio::task::spawn_blocking(|| {
            let mut ignored = Vec::new();
            std::io::stdin().read_to_end(&mut ignored)
        });
        closed.await.unwrap().unwrap();
    });
    // The server would wait for connections that are idle.
    std::process::exit(0);
}

#[test]
fn the_cluster_of_dev_serves_the_kinds_of_the_operator() {
    if let Ok(arguments) = std::env::var(STAND_IN) {
        return stand_in(&arguments);
    }
    let place = developed(&described(), &operator());
    let kubeconfig = place.path().join("target/kubewright/kubeconfig");
    let mut dev = Process::start(place.command("dev --samples=false"), None);
    shows(&mut dev, "apiservice/v1.sky.example.com");
    let list = got(&kubeconfig, COMETS).unwrap();
    assert_eq!(list["kind"], "CometList");
    let (text, status) = dev.signal("INT");
    assert!(status.success(), "{text}");
}

#[test]
fn run_has_the_kinds_served_until_it_ends() {
    let server = Server::start();
    let folder = Folder::new();
    let mut run = kubewright();
    run.args(["run", "--install", "--executable"]);
    run.arg(executable(&folder)).arg("--kubeconfig");
    run.arg(server.kubeconfig());
    let mut run = Process::start(run, None);
    let note =
        "note: the cluster serves v1.sky.example.com from this machine until the operator ends";
    shows(&mut run, note);
    let list = got(&server.kubeconfig(), COMETS).unwrap();
    assert_eq!(list["items"], json!([]));
    let (_, said) = doctor(&server);
    assert!(said.contains("v1.sky.example.com is available"), "{said}");
    let (text, status) = run.signal("INT");
    assert!(status.success(), "{text}");
    // Nothing leads to the program that is gone.
    assert!(got(&server.kubeconfig(), COMETS).is_none());
    let (_, said) = doctor(&server);
    assert!(
        said.contains("v1.sky.example.com is not registered"),
        "{said}"
    );
}

#[test]
fn api_services_without_a_server_are_found() {
    let server = Server::start();
    let folder = Folder::new();
    let mut run = kubewright();
    run.args(["run", "--install", "--executable"]);
    run.arg(executable(&folder)).arg("--kubeconfig");
    run.arg(server.kubeconfig());
    let mut run = Process::start(run, None);
    shows(&mut run, "note: the cluster serves v1.sky.example.com");
    run.kill();
    // The cluster notices at its next check.
    let began = Instant::now();
    let (code, said) = loop {
        let (code, said) = doctor(&server);
        if !said.contains("v1.sky.example.com is available") {
            break (code, said);
        }
        assert!(began.elapsed() < PATIENCE, "{said}");
    };
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("v1.sky.example.com is not available: "),
        "{said}"
    );
}

/// Runs `doctor` in a project whose operator has been built.
fn doctor(server: &Server) -> (Option<i32>, String) {
    let place = project(MODEL);
    let target = place.path().join("target");
    fs::create_dir_all(target.join("debug")).unwrap();
    let describe = format!("cat <<'E'\n{}\nE", described());
    script(&place, "debug/crew-operator", &describe);
    let metadata = json!({"target_directory": target});
    let cargo = script(&place, "metadata", &format!("echo '{metadata}'"));
    let place = place.with_cargo(cargo);
    let mut doctor = place.command("doctor --kubeconfig");
    let output = doctor.arg(server.kubeconfig()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), said)
}
