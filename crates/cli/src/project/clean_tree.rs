//! Protects uncommitted changes from removal.
//!
//! Additions can be undone by hand. Removals can be undone only with git, so the removed files must be committed.
//! Without git there is nothing to check.

use std::process::{Command, Stdio};

use kubewright_scaffold::{Error, Plan};

/// Fails if a file that the plan changes or removes has uncommitted changes.
pub(crate) fn check(plan: &Plan) -> Result<(), Error> {
    let touched = plan.changes().iter().filter(|it| it.before.is_some());
    let output = Command::new("git")
        .arg("-C")
        .arg(plan.root())
        .args(["status", "--porcelain", "--untracked-files=no", "--"])
        .args(touched.map(|change| change.path.as_str()))
        .stdin(Stdio::null())
        .output();
    let dirty = match output {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).into_owned()
        }
        // There is no git, or no repository.
        _ => return Ok(()),
    };
    // The format is two letters, a space and the path.
    match dirty.lines().next().and_then(|line| line.get(3..)) {
        None => Ok(()),
        Some(path) => Err(Error::new(
            format_args!("{} has uncommitted changes", path.trim_matches('"')),
            "commit them first, or use --force",
        )),
    }
}
