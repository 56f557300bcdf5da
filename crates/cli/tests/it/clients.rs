//! Runs the programs in `conformance/clients`: official clients in other languages, each against a server of its own.
//!
//! `KUBEWRIGHT_PYTHON` names a Python that has the package `kubernetes`; otherwise `python3` is tried.
//! `KUBEWRIGHT_NODE_MODULES` names a folder `node_modules` that has `@kubernetes/client-node`. `KUBEWRIGHT_GO_STREAMS` means that
//! the Go modules of `conformance/streams` are available.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::{conformance, process::Process, server::Server, skipped};

/// The exit code of a program that finds its client too new for its interpreter.
const TOO_NEW: i32 = 77;

#[test]
fn the_python_client_passes_its_sequence() {
    let python = env::var_os("KUBEWRIGHT_PYTHON").unwrap_or("python3".into());
    if !runs(Command::new(&python).args(["-c", "import kubernetes"])) {
        return skipped(
            "the Python client: KUBEWRIGHT_PYTHON names no Python that has the package kubernetes",
        );
    }
    let mut command = Command::new(python);
    command.arg(program("python/sequence.py"));
    passes(command, Server::start());
}

#[test]
fn the_python_client_reaches_into_pods() {
    let python = env::var_os("KUBEWRIGHT_PYTHON").unwrap_or("python3".into());
    if !runs(Command::new(&python).args(["-c", "import kubernetes.stream"])) {
        return skipped(
            "the Python client in pods: KUBEWRIGHT_PYTHON names no Python that has the package kubernetes",
        );
    }
    let mut command = Command::new(python);
    command.arg(program("python/workloads.py"));
    passes(command, Server::start_with(&["--nodes=1"]));
}

#[test]
fn the_javascript_client_reaches_into_pods() {
    let Some(modules) = node_modules("the JavaScript client in pods") else {
        return;
    };
    let mut command = Command::new("node");
    command
        .arg(program("node/workloads.mjs"))
        .env("NODE_MODULES", modules);
    passes(command, Server::start_with(&["--nodes=1"]));
}

#[test]
fn client_go_reaches_into_pods() {
    if env::var_os("KUBEWRIGHT_GO_STREAMS").is_none() {
        return skipped(
            "client-go in pods: KUBEWRIGHT_GO_STREAMS does not say that the modules of conformance/streams are there",
        );
    }
    let server = Server::start_with(&["--nodes=1"]);
    let authority = server.kubeconfig().with_file_name("ca.crt");
    let decoded = STANDARD.decode(server.kubeconfig_value("certificate-authority-data"));
    fs::write(&authority, decoded.unwrap()).unwrap();
    let mut command = Command::new("go");
    command
        .args(["test", "-count=1", "-v", "-run", "TestOnACluster", "./..."])
        .current_dir(conformance().join("streams"))
        .env("GOFLAGS", "-mod=mod")
        .env("KUBEWRIGHT_CLUSTER", server.kubeconfig_value("server"))
        .env("KUBEWRIGHT_CLUSTER_TOKEN", server.kubeconfig_value("token"))
        .env("KUBEWRIGHT_CLUSTER_CA", authority);
    let (output, status) = Process::start(command, None).finish();
    assert!(status.success(), "{output}");
    for test in [
        "TestOnAClusterCommandsRunInPods",
        "TestOnAClusterContainersAreAttachedTo",
        "TestOnAClusterPortsAreForwarded",
    ] {
        assert!(output.contains(&format!("--- PASS: {test}")), "{output}");
    }
}

#[test]
fn the_javascript_client_passes_its_sequence() {
    let Some(modules) = node_modules("the JavaScript client") else {
        return;
    };
    let mut command = Command::new("node");
    command
        .arg(program("node/sequence.mjs"))
        .env("NODE_MODULES", modules);
    passes(command, Server::start());
}

/// Returns the folder with the JavaScript client, or says what is skipped.
fn node_modules(test: &str) -> Option<OsString> {
    let modules =
        env::var_os("KUBEWRIGHT_NODE_MODULES").unwrap_or_else(|| OsString::from("node_modules"));
    let has_client = Path::new(&modules).join("@kubernetes/client-node").is_dir();
    if has_client && runs(Command::new("node").arg("--version")) {
        return Some(modules);
    }
    skipped(&format!(
        "{test}: KUBEWRIGHT_NODE_MODULES names no folder with @kubernetes/client-node"
    ));
    None
}

fn program(name: &str) -> PathBuf {
    conformance().join("clients").join(name)
}

fn runs(command: &mut Command) -> bool {
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

fn passes(mut command: Command, server: Server) {
    command.env("KUBECONFIG", server.kubeconfig());
    let (output, status) = Process::start(command, None).finish();
    if status.code() == Some(TOO_NEW) {
        return skipped(output.trim_end());
    }
    assert!(status.success(), "{output}");
    assert!(
        output.lines().any(|line| line.starts_with("ok ")),
        "{output}"
    );
}
