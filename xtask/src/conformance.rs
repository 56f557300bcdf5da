//! `conformance [ARG…]`: asks a server what the scenarios ask and compares it with what kube-apiserver answered.
//!
//! Arguments go to the runner as they are; `conformance/README.md` says what they mean.

use std::process::Command;

use anyhow::{Context, ensure};

pub(crate) fn run(args: &[String]) -> anyhow::Result<()> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let runner = [
        "run",
        "--quiet",
        "--package",
        "kubewright-conformance",
        "--",
    ];
    let status = Command::new(program)
        .args(runner)
        .args(args)
        .status()
        .context("cannot run cargo")?;
    ensure!(status.success(), "something differs");
    Ok(())
}
