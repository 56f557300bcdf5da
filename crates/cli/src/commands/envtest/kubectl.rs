//! The program `kubectl`: the one that is installed.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};

use kubewright_scaffold::Error;

use crate::process::replace_with;

pub(super) fn run(arguments: Vec<OsString>) -> anyhow::Result<()> {
    let ours = env::current_exe().and_then(|program| program.canonicalize());
    let path = env::var_os("PATH").unwrap_or_default();
    let found = installed(&path, ours.ok().as_deref()).ok_or_else(|| {
        Error::new(
            "kubectl is not installed",
            "install it, or put it into the directory that KUBEBUILDER_ASSETS names",
        )
    })?;
    let mut command = Command::new(&found);
    command.args(arguments);
    replace_with(command, |e| Error::io("run", &found, e))
}

/// Returns the first kubectl of a search path that is not this program.
fn installed(path: &OsString, ours: Option<&Path>) -> Option<PathBuf> {
    env::split_paths(path)
        .map(|directory| directory.join("kubectl"))
        .find(|candidate| match candidate.canonicalize() {
            Ok(real) => real.is_file() && Some(real.as_path()) != ours,
            Err(_) => false,
        })
}
