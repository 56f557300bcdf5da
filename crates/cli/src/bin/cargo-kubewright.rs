//! `cargo kubewright`: runs the `kubewright` next to it, or in PATH, with the same arguments.

use std::{
    ffi::OsString,
    io::Write,
    path::PathBuf,
    process::{Command, ExitCode},
};

fn main() -> ExitCode {
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    // cargo passes the name of the subcommand first.
    if arguments.first().is_some_and(|word| word == "kubewright") {
        arguments.remove(0);
    }
    match Command::new(tool()).args(arguments).status() {
        Ok(status) => ExitCode::from(status.code().map_or(1, |code| code as u8)),
        Err(error) => {
            // If standard error is closed, nobody is left to notify.
            let _ = writeln!(
                std::io::stderr(),
                "error: cannot run kubewright: {error}; install it next to cargo-kubewright"
            );
            ExitCode::from(2)
        }
    }
}

fn tool() -> PathBuf {
    let name = format!("kubewright{}", std::env::consts::EXE_SUFFIX);
    let beside = std::env::current_exe()
        .ok()
        .map(|own| own.with_file_name(&name));
    beside
        .filter(|path| path.is_file())
        .unwrap_or_else(|| PathBuf::from(name))
}
