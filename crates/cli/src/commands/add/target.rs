//! The kind that a command is about, as one argument or as kubebuilder's flags.

use kubewright_scaffold::{Error, Gvk};

/// Returns the kind that was named by `crew/v1/Captain`, or by `--group`, `--version` and `--kind`.
///
/// # Errors
///
/// Fails if it was named in neither way, or in both.
pub(super) fn target(
    gvk: Option<String>,
    group: Option<String>,
    version: Option<String>,
    kind: Option<String>,
) -> Result<Gvk, Error> {
    match (gvk, group, version, kind) {
        (Some(text), None, None, None) => Gvk::parse(&text),
        (None, group, Some(version), Some(kind)) => Ok(Gvk {
            group: group.unwrap_or_default(),
            version,
            kind,
        }),
        _ => Err(Error::new(
            "no kind was given",
            "use --group, --version and --kind, or crew/v1/Captain",
        )),
    }
}
