//! `bench [--only NAME] [--quick] …`: builds the tool and the benchmarks for release, and runs them. They build their peers
//! themselves, and write `BENCHMARKS.md`.
//!
//! Arguments go to the benchmarks as they are; `bench/README.md` says what they mean.

use std::process::Command;

use anyhow::{Context, ensure};

pub(crate) fn run(args: &[String]) -> anyhow::Result<()> {
    // Beside each other in the target directory, where the benchmarks look for the tool.
    cargo(
        &[
            "build",
            "--release",
            "--package",
            "kubewright-cli",
            "--package",
            "kubewright-bench-operator",
            "--bins",
        ],
        &[],
    )?;
    cargo(
        &[
            "run",
            "--release",
            "--quiet",
            "--package",
            "kubewright-bench",
            "--",
        ],
        args,
    )
}

fn cargo(args: &[&str], rest: &[String]) -> anyhow::Result<()> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(program)
        .args(args)
        .args(rest)
        .status()
        .context("cannot run cargo")?;
    ensure!(status.success(), "cargo {} failed", args.join(" "));
    Ok(())
}
