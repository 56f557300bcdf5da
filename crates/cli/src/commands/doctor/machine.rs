//! Checks of this machine: toolchain, kubectl, free ports.

use std::{net::TcpListener, path::PathBuf, process::Command};

use kubewright_scaffold::Project;
use serde_json::Value;

use super::Finding;
use crate::operator::program::cargo;

/// The default ports of an operator and of `kubewright up`.
const PORTS: [(u16, &str); 3] = [
    (8080, "operator metrics"),
    (8081, "operator probes"),
    (6443, "`kubewright up`"),
];

pub(super) fn findings() -> Vec<Finding> {
    let mut findings = Vec::new();
    let rust = "install Rust with rustup, and check that it is in PATH";
    for (tool, advice, needed) in [
        ("cargo", rust, true),
        ("rustc", rust, true),
        ("rustfmt", "run `rustup component add rustfmt`", false),
        ("kubectl", "install it, or use another client", false),
    ] {
        let arguments: &[&str] = match tool {
            "kubectl" => &["version", "--client"],
            _ => &["--version"],
        };
        findings.push(match version(tool, arguments) {
            Some(version) => Finding::good(tool, version),
            None if needed => Finding::bad(tool, "it is not there", advice),
            None => Finding::warning(tool, "it is not there", advice),
        });
    }
    for (port, what) in PORTS {
        let name = format!("port {port}");
        findings.push(match TcpListener::bind(("127.0.0.1", port)) {
            Ok(_) => Finding::good(&name, "free"),
            Err(error) => {
                let found = format!("{what} cannot listen: {error}");
                Finding::warning(
                    &name,
                    found,
                    "use another port, or stop the process that listens on it",
                )
            }
        });
    }
    findings
}

/// Returns the first line of a tool's version output.
fn version(tool: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(tool).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let first = text.lines().next()?.to_owned();
    output.status.success().then_some(first)
}

/// Returns the last build of the operator, if there is one.
pub(super) fn built(project: &Project) -> Option<PathBuf> {
    let mut command = cargo(project);
    command.args([
        "metadata",
        "--no-deps",
        "--offline",
        "--format-version",
        "1",
    ]);
    let output = command.output().ok()?;
    let metadata: Value = serde_json::from_slice(&output.stdout).ok()?;
    let directory = PathBuf::from(metadata["target_directory"].as_str()?);
    let name = format!("{}{}", project.name, std::env::consts::EXE_SUFFIX);
    let path = directory.join("debug").join(name);
    path.is_file().then_some(path)
}
