//! The `kubewright` tool from outside: start and stop of `up` and `demo`, and `kubectl` and clients in other languages
//! against it. The scenarios and client programs are in `conformance/` at the root of the repository.

mod aggregated;
#[path = "../../../console/tests/it/chromium.rs"]
mod chromium;
mod clients;
mod console;
mod demo;
mod deploying;
mod dev;
mod door;
mod encryption;
mod envtest;
mod etcd;
mod generating;
mod hostile_input;
mod https;
mod interrupted;
mod json;
mod kills;
mod kubectl;
mod kubernetes;
mod ledger;
mod linting;
mod new_user;
mod permissions;
mod process;
mod projects;
mod refusals;
mod scenario;
mod server;
mod shown;
mod store;
mod transcripts;
mod up;
mod webhooks;
mod whole_projects;

use std::{io::Write, path::PathBuf};

/// Prints on the terminal that something was not tested, around the harness, which captures the output of passing
/// tests.
fn skipped(what: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {what}");
}

/// The folder of scenarios and client programs.
fn conformance() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance"))
}
