//! Handing the process over to another program.

use std::process::Command;

use kubewright_scaffold::Error;

/// Replaces this process with a command. `on_failure` makes the error if the command cannot be run.
#[cfg(unix)]
pub(crate) fn replace_with(
    mut command: Command,
    on_failure: impl FnOnce(&std::io::Error) -> Error,
) -> anyhow::Result<()> {
    // It returns only if it failed.
    let error = std::os::unix::process::CommandExt::exec(&mut command);
    Err(on_failure(&error).into())
}

/// Runs a command and exits with its code. `on_failure` makes the error if the command cannot be run.
#[cfg(not(unix))]
pub(crate) fn replace_with(
    mut command: Command,
    on_failure: impl FnOnce(&std::io::Error) -> Error,
) -> anyhow::Result<()> {
    let status = command.status().map_err(|e| on_failure(&e))?;
    match status.code() {
        Some(0) => Ok(()),
        code => {
            let code = code.and_then(|code| u8::try_from(code).ok());
            Err(crate::exit::Exit(code.unwrap_or(1)).into())
        }
    }
}

/// Makes the error for an operator that cannot be run.
pub(crate) fn not_run(error: &std::io::Error) -> Error {
    Error::new(
        format_args!("cannot run the operator: {error}"),
        "check that the file exists and is executable",
    )
}
