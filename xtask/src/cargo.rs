//! Runs cargo as a child process.

use std::{ffi::OsStr, process::Command};

use anyhow::{Context, ensure};

/// Returns a command for the cargo that runs this program.
pub(crate) fn command() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs cargo with these arguments, showing its output.
///
/// # Errors
///
/// Fails if cargo cannot be started or exits with an error.
pub(crate) fn run(args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> anyhow::Result<()> {
    finish(command().args(args))
}

/// Runs cargo with these arguments and a variable in its environment, showing its output.
///
/// # Errors
///
/// Fails if cargo cannot be started or exits with an error.
pub(crate) fn run_with(
    args: impl IntoIterator<Item = impl AsRef<OsStr>>,
    (name, value): (&str, &str),
) -> anyhow::Result<()> {
    finish(command().args(args).env(name, value))
}

fn finish(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().context("cannot run cargo")?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}
