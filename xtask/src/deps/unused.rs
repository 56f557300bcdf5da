//! Finds dependencies that nothing in their crate names.
//!
//! The search is for words in the sources, so a name in a comment counts as a use. It can miss an unused dependency, and rarely
//! reports one that is used: only macros name crates that the source does not.

use std::path::Path;

use crate::{
    metadata::{Dependency, Package},
    tidy::{Tree, words},
};

/// Folders of a crate that are built with its tests only.
const TESTS: [&str; 3] = ["tests/", "benches/", "examples/"];

/// A word in the source of a crate, and the dependencies that the macro of this name needs.
const MACROS: [(&str, &[&str]); 1] = [(
    "CustomResource",
    &["k8s-openapi", "schemars", "serde", "serde_json"],
)];

/// A dependency that selects a version of the Kubernetes API for all crates, even if the crate itself does not use it.
const SELECTS: (&str, &str) = ("k8s-openapi", "latest");

pub(super) fn check(root: &Path, packages: &[Package], tree: &Tree) -> Vec<String> {
    let own: Vec<(&Package, String)> = packages
        .iter()
        .filter(|package| package.source.is_none())
        .filter_map(|package| Some((package, folder(root, package)?)))
        .collect();
    let mut findings = Vec::new();
    for (package, folder) in &own {
        let is_elsewhere = |path: &str| {
            own.iter()
                .any(|(_, other)| other.len() > folder.len() && path.starts_with(other.as_str()))
        };
        let texts: Vec<(&str, &str)> = tree
            .files
            .iter()
            .filter(|(path, _)| path.ends_with(".rs") || path.ends_with(".md"))
            .filter(|(path, _)| path.starts_with(folder.as_str()) && !is_elsewhere(path))
            .map(|(path, text)| (&path[folder.len()..], text.as_str()))
            .collect();
        for dependency in &package.dependencies {
            if !is_used(dependency, &texts) {
                findings.push(format!(
                    "{folder}Cargo.toml: nothing names the dependency `{}`; remove it, or move it to [dev-dependencies] \
                     if tests do",
                    dependency.name
                ));
            }
        }
    }
    findings
}

/// Returns the folder of a package, relative to the workspace, with a slash at the end.
fn folder(root: &Path, package: &Package) -> Option<String> {
    let manifest = Path::new(&package.manifest_path).strip_prefix(root).ok()?;
    let folder = manifest.parent()?.to_str()?;
    Some(format!("{folder}/"))
}

fn is_used(dependency: &Dependency, texts: &[(&str, &str)]) -> bool {
    let (selects, feature) = SELECTS;
    if dependency.name == selects && dependency.features.iter().any(|f| f == feature) {
        return true;
    }
    let name = dependency.rename.as_ref().unwrap_or(&dependency.name);
    let word = name.replace('-', "_");
    let is_dev = dependency.kind.as_deref() == Some("dev");
    let built = |path: &str| is_dev || !TESTS.iter().any(|folder| path.starts_with(folder));
    let has = |word: &str| {
        let mut texts = texts.iter().filter(|(path, _)| built(path));
        texts.any(|(_, text)| words(text).any(|other| other == word))
    };
    has(&word)
        || MACROS
            .iter()
            .any(|(derived, needed)| needed.contains(&dependency.name.as_str()) && has(derived))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(dependency: serde_json::Value, files: &[(&str, &str)]) -> usize {
        let package = serde_json::json!({
            "name": "a", "version": "1.0.0", "license": "MIT", "source": null,
            "manifest_path": "/w/crates/a/Cargo.toml", "dependencies": [dependency],
        });
        let package = serde_json::from_value(package).unwrap();
        check(Path::new("/w"), &[package], &Tree::of(files)).len()
    }

    #[test]
    fn a_dependency_that_is_named_nowhere_is_found() {
        let jiff = serde_json::json!({"name": "jiff-2", "kind": null});
        let used = "use jiff_2::Timestamp;";
        assert_eq!(found(jiff.clone(), &[("crates/a/src/lib.rs", used)]), 0);
        assert_eq!(
            found(jiff.clone(), &[("crates/a/src/lib.rs", "jiff_22")]),
            1
        );
        assert_eq!(found(jiff.clone(), &[("crates/b/src/lib.rs", used)]), 1);
        assert_eq!(found(jiff, &[("crates/a/tests/it/main.rs", used)]), 1);
        let dev = serde_json::json!({"name": "jiff-2", "kind": "dev"});
        assert_eq!(found(dev, &[("crates/a/tests/it/main.rs", used)]), 0);
    }

    #[test]
    fn renames_macros_and_selected_versions_are_uses() {
        let renamed = serde_json::json!({"name": "jiff", "rename": "time", "kind": null});
        let lib = |text| [("crates/a/src/lib.rs", text)];
        assert_eq!(found(renamed, &lib("time::now()")), 0);
        let schemars = serde_json::json!({"name": "schemars", "kind": null});
        assert_eq!(found(schemars, &lib("#[derive(CustomResource)]")), 0);
        let latest =
            serde_json::json!({"name": "k8s-openapi", "kind": null, "features": ["latest"]});
        assert_eq!(found(latest, &lib("")), 0);
    }
}
