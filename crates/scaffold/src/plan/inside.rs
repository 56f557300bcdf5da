//! Rejects paths that lead out of a project.
//!
//! File names come from CRDs, `operator.toml`, other people's projects and the journal of an interrupted command. None of them
//! may name a file outside the directory that the user chose, neither with `..` nor through a symbolic link.

use std::path::{Component, Path};

use crate::Error;

/// Checks that a path within a directory stays within it.
///
/// # Errors
///
/// Fails for an absolute or empty path, for one with `.` or `..`, and if a directory on the way is a link that leads out.
pub(super) fn check(root: &Path, path: &str) -> Result<(), Error> {
    let wrong = || {
        Error::new(
            format_args!("{path:?} leads out of {}", root.display()),
            "use names without slashes and dots",
        )
    };
    let relative = Path::new(path);
    let normal = |part: Component<'_>| matches!(part, Component::Normal(_));
    if path.is_empty() || path.ends_with('/') || !relative.components().all(normal) {
        return Err(wrong());
    }
    let Ok(real_root) = root.canonicalize() else {
        // Nothing exists yet, so there are no links.
        return Ok(());
    };
    let mut directories = relative.ancestors().skip(1);
    let existing = directories.find_map(|directory| root.join(directory).canonicalize().ok());
    match existing.is_none_or(|directory| directory.starts_with(&real_root)) {
        true => Ok(()),
        false => Err(wrong()),
    }
}
