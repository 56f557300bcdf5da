//! The `kubewright` tool from outside: how `up` and `demo` start and stop, and what `kubectl` and clients in other languages see
//! when they talk to it. The scenarios and client programs are in `conformance/` at the root of the repository.

mod clients;
mod demo;
mod deploying;
mod generating;
mod https;
mod interrupted;
mod json;
mod kubectl;
mod new_user;
mod process;
mod projects;
mod refusals;
mod rules;
mod scenario;
mod server;
mod up;
mod whole_projects;

use std::{io::Write, path::PathBuf};

/// Says on the terminal that something was not tested. The harness keeps back what `eprintln!` writes when a test
/// passes, so this goes around it.
fn skipped(what: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {what}");
}

/// The folder of scenarios and client programs.
fn conformance() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance"))
}
