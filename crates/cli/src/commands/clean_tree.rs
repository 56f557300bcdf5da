//! What git has not kept is not removed.
//!
//! Commands that only insert lines can be taken back by hand. One that removes can be taken back only by git, so what it touches
//! must be committed. Without git there is nothing to look at.

use std::process::{Command, Stdio};

use kubewright_scaffold::{Refusal, plan::Plan};

/// Refuses if a file that the plan changes or removes has changes that are not committed.
pub(crate) fn check(plan: &Plan) -> Result<(), Refusal> {
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
        // No git, or no repository.
        _ => return Ok(()),
    };
    // Two letters, a space, the path.
    match dirty.lines().next().and_then(|line| line.get(3..)) {
        None => Ok(()),
        Some(path) => Err(Refusal::new(
            format_args!(
                "{} has changes that are not committed",
                path.trim_matches('"')
            ),
            "commit them first, or go on with --force",
        )),
    }
}
