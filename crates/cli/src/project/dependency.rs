//! The dependency of a new project on kubewright.

use std::path::Path;

use kubewright_scaffold::{Dependency, Error};

use super::here;

/// The facade in the checkout that this program was built from, which may be gone.
const CHECKOUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../kubewright");

/// Chooses the dependency: a version, a git repository, a checkout, or by default the checkout that this program was built
/// from if it exists, otherwise the version of this program.
pub(crate) fn dependency(wanted: Option<&str>) -> Result<Dependency, Error> {
    let facade = |path: &Path| {
        [path.to_owned(), path.join("crates/kubewright")]
            .into_iter()
            .find(|path| path.join("src/lib.rs").is_file() && path.ends_with("kubewright"))
            .and_then(|path| path.canonicalize().ok())
    };
    match wanted {
        None => Ok(facade(Path::new(CHECKOUT)).map_or_else(
            || Dependency::Version(env!("CARGO_PKG_VERSION").to_owned()),
            Dependency::Path,
        )),
        Some(version)
            if version.starts_with(|c: char| c.is_ascii_digit() || "=^~*".contains(c)) =>
        {
            Ok(Dependency::Version(version.to_owned()))
        }
        Some(url) if Dependency::is_git(url) => Dependency::git(url),
        Some(path) => facade(&here()?.join(path))
            .map(Dependency::Path)
            .ok_or_else(|| {
                Error::new(
                    format_args!(
                        "{path:?} is neither a version, nor a git repository, nor a checkout of kubewright"
                    ),
                    "use a version such as 0.1.0, a URL such as git+https://host/repository.git, or a directory",
                )
            }),
    }
}
