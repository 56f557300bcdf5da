//! Runs the programs in `conformance/clients`: official clients in other languages, each against a server of its own.
//!
//! `KUBEWRIGHT_PYTHON` names a Python that has the package `kubernetes`; otherwise `python3` is tried.
//! `KUBEWRIGHT_NODE_MODULES` names a folder `node_modules` that has `@kubernetes/client-node`.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

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
    passes(command);
}

#[test]
fn the_javascript_client_passes_its_sequence() {
    let modules =
        env::var_os("KUBEWRIGHT_NODE_MODULES").unwrap_or_else(|| OsString::from("node_modules"));
    let has_client = Path::new(&modules).join("@kubernetes/client-node").is_dir();
    if !has_client || !runs(Command::new("node").arg("--version")) {
        return skipped(
            "the JavaScript client: KUBEWRIGHT_NODE_MODULES names no folder with @kubernetes/client-node",
        );
    }
    let mut command = Command::new("node");
    command
        .arg(program("node/sequence.mjs"))
        .env("NODE_MODULES", modules);
    passes(command);
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

fn passes(mut command: Command) {
    let server = Server::start();
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
