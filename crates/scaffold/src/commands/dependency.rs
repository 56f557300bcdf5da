//! [`Dependency`]: where a project gets kubewright from.

use std::path::PathBuf;

use crate::Error;

/// The source of the kubewright dependency.
///
/// ```
/// use kubewright_scaffold::{Dependency, GitReference};
///
/// let dependency = Dependency::git("git+https://example.com/kubewright.git?tag=v0.1.0")?;
/// let url = "https://example.com/kubewright.git".to_owned();
/// assert_eq!(dependency, Dependency::Git { url, reference: GitReference::Tag("v0.1.0".into()) });
/// # Ok::<(), kubewright_scaffold::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dependency {
    /// A checkout: the directory of the facade crate. Only this machine can build the project.
    Path(PathBuf),
    /// A version in the registry.
    Version(String),
    /// A git repository.
    Git {
        /// The URL, without the prefix `git+`.
        url: String,
        /// The commit to use.
        reference: GitReference,
    },
}

/// The commit of a git repository that a project uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitReference {
    /// The newest commit of the default branch.
    DefaultBranch,
    /// The newest commit of a branch.
    Branch(String),
    /// The commit of a tag.
    Tag(String),
    /// A commit by its hash.
    Rev(String),
}

/// The prefix of git URLs, as cargo writes them in `Cargo.lock`.
const GIT: &str = "git+";

impl Dependency {
    /// Parses `git+https://host/repository.git`, followed by `?branch=`, `?tag=` or `?rev=` for another commit than the newest
    /// one of the default branch.
    ///
    /// # Errors
    ///
    /// Fails if the text is not such a URL.
    pub fn git(text: &str) -> Result<Dependency, Error> {
        let wrong = |problem: &str| {
            Error::new(
                format_args!("{text:?} {problem}"),
                "write git+https://host/repository.git, then ?rev=, ?tag= or ?branch= if wanted",
            )
        };
        let url = text.strip_prefix(GIT).unwrap_or(text);
        let (url, query) = url.split_once('?').unwrap_or((url, ""));
        let (scheme, rest) = url
            .split_once("://")
            .ok_or_else(|| wrong("is not the URL of a git repository"))?;
        if !matches!(scheme, "https" | "http" | "ssh" | "git" | "file") || rest.is_empty() {
            return Err(wrong("is not the URL of a git repository"));
        }
        let visible = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '#');
        if !text.chars().all(visible) {
            return Err(wrong("has characters that a URL cannot have"));
        }
        let reference = match query.split_once('=') {
            None if query.is_empty() => GitReference::DefaultBranch,
            Some((_, "")) => return Err(wrong("names no commit")),
            Some(("branch", name)) => GitReference::Branch(name.to_owned()),
            Some(("tag", name)) => GitReference::Tag(name.to_owned()),
            Some(("rev", hash)) => GitReference::Rev(hash.to_owned()),
            _ => return Err(wrong("names a commit in an unknown way")),
        };
        let url = url.to_owned();
        Ok(Dependency::Git { url, reference })
    }

    /// Reports whether the text is meant as the URL of a git repository.
    pub fn is_git(text: &str) -> bool {
        text.starts_with(GIT) || text.contains("://")
    }

    /// Returns the keys of the entry in `Cargo.toml`.
    pub(super) fn manifest_keys(&self) -> String {
        match self {
            Dependency::Path(path) => format!("path = {:?}", path.display().to_string()),
            Dependency::Version(version) => format!("version = {version:?}"),
            Dependency::Git { url, reference } => match reference.key() {
                Some((key, name)) => format!("git = {url:?}, {key} = {name:?}"),
                None => format!("git = {url:?}"),
            },
        }
    }

    /// Returns the arguments with which `cargo install` installs the tool that belongs to the dependency.
    pub(super) fn install_arguments(&self) -> String {
        match self {
            Dependency::Version(version) => format!("kubewright-cli --version '{version}'"),
            Dependency::Git { url, reference } => match reference.key() {
                Some((key, name)) => format!("--git '{url}' --{key} '{name}' kubewright-cli"),
                None => format!("--git '{url}' kubewright-cli"),
            },
            // The checkout is on another machine, so its origin is used.
            Dependency::Path(_) => {
                format!("--git {} kubewright-cli", env!("CARGO_PKG_REPOSITORY"))
            }
        }
    }
}

impl GitReference {
    /// Returns the key of cargo for it, and its value.
    fn key(&self) -> Option<(&'static str, &str)> {
        match self {
            GitReference::DefaultBranch => None,
            GitReference::Branch(name) => Some(("branch", name)),
            GitReference::Tag(name) => Some(("tag", name)),
            GitReference::Rev(hash) => Some(("rev", hash)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_git_dependency_names_a_commit_in_the_ways_of_cargo() {
        for (text, keys) in [
            (
                "git+https://example.com/k.git",
                "git = \"https://example.com/k.git\"",
            ),
            (
                "git+https://example.com/k?rev=0a1b2c",
                "git = \"https://example.com/k\", rev = \"0a1b2c\"",
            ),
            (
                "git+ssh://git@example.com/k.git?tag=v0.1.0",
                "git = \"ssh://git@example.com/k.git\", tag = \"v0.1.0\"",
            ),
            (
                "git+file:///home/me/k?branch=next/two",
                "git = \"file:///home/me/k\", branch = \"next/two\"",
            ),
        ] {
            assert_eq!(Dependency::git(text).unwrap().manifest_keys(), keys);
        }
    }

    #[test]
    fn a_url_that_cargo_would_not_take_is_refused_with_the_right_form() {
        for (text, problem) in [
            ("git+example.com/k", "is not the URL of a git repository"),
            (
                "git+ftp://example.com/k",
                "is not the URL of a git repository",
            ),
            ("git+https://", "is not the URL of a git repository"),
            ("git+https://example.com/k?rev=", "names no commit"),
            (
                "git+https://example.com/k?commit=a",
                "names a commit in an unknown way",
            ),
            (
                "git+https://example.com/k?rev",
                "names a commit in an unknown way",
            ),
            (
                "git+https://example.com/k#0a1b2c",
                "has characters that a URL cannot have",
            ),
            (
                "git+https://example.com/\" x",
                "has characters that a URL cannot have",
            ),
        ] {
            let error = Dependency::git(text).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
            assert!(
                error.contains("; write git+https://host/repository.git"),
                "{error}"
            );
        }
    }

    #[test]
    fn the_tool_is_installed_from_the_source_of_the_dependency() {
        let git = Dependency::git("git+https://example.com/k?rev=0a1b2c").unwrap();
        assert_eq!(
            git.install_arguments(),
            "--git 'https://example.com/k' --rev '0a1b2c' kubewright-cli"
        );
        let version = Dependency::Version("0.1.0".into());
        assert_eq!(
            version.install_arguments(),
            "kubewright-cli --version '0.1.0'"
        );
    }
}
