//! `soak [OPTIONS]`: builds the tool and the soak test with the `release` profile and runs it.

use crate::cargo;

pub(crate) fn run(args: &[String]) -> anyhow::Result<()> {
    // The soak test starts the tool from the directory that it runs from.
    cargo::run(["build", "--release", "--bins", "-p", "kubewright-cli"])?;
    let soak = ["run", "--release", "-q", "-p", "kubewright-soak", "--"];
    cargo::run(soak.into_iter().chain(args.iter().map(String::as_str)))
}
