//! `features [CRATE...]`: builds every crate without its features, and with each feature alone.
//!
//! A crate that compiles only because another one turned a feature on fails here.

use std::path::Path;

use anyhow::{Context, Result};

use crate::{
    cargo,
    metadata::{Metadata, Package, Scope},
};

pub(crate) fn run(args: &[String]) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let packages = Metadata::load(&root, Scope::All)?.packages;
    let version = newest_kubernetes(&packages)?;
    for package in packages.iter().filter(|package| package.source.is_none()) {
        let Some(folder) = package.crate_folder() else {
            continue;
        };
        if !args.is_empty() && !args.iter().any(|name| name == folder) {
            continue;
        }
        for features in selections(package) {
            println!("{folder}: {}", features.unwrap_or("no features"));
            let mut command = vec!["check", "-q", "-p", &package.name, "--no-default-features"];
            if let Some(feature) = features {
                command.extend(["--features", feature]);
            }
            cargo::run_with(command, ("K8S_OPENAPI_ENABLED_VERSION", &version))?;
        }
    }
    Ok(())
}

/// Returns the newest version of Kubernetes that k8s-openapi knows, such as `1.37`.
///
/// A library without features leaves the choice to the program that uses it, so a build of the library alone has to choose.
fn newest_kubernetes(packages: &[Package]) -> Result<String> {
    let api = packages
        .iter()
        .find(|package| package.name == "k8s-openapi");
    let latest = api.and_then(|api| api.features.get("latest")?.first());
    let latest = latest.context("k8s-openapi has no feature `latest`")?;
    let version = latest.strip_prefix('v').unwrap_or(latest);
    Ok(version.replace('_', "."))
}

/// The features to build with: none, then each one that a user can name.
///
/// A crate without features is built once, alone: together with the others, it may lean on features that they turn on.
fn selections(package: &Package) -> Vec<Option<&str>> {
    let named = package
        .features
        .keys()
        .map(|name| Some(name.as_str()))
        .filter(|name| *name != Some("default"));
    std::iter::once(None).chain(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_feature_is_built_alone() {
        let package = r#"{"name": "a", "version": "1.0.0", "license": null, "source": null, "manifest_path": "/x",
            "features": {"default": ["b"], "b": [], "c": ["b"]}}"#;
        let package: Package = serde_json::from_str(package).unwrap();
        assert_eq!(selections(&package), [None, Some("b"), Some("c")]);
    }

    #[test]
    fn a_library_alone_is_built_for_the_newest_kubernetes() {
        let package = r#"{"name": "k8s-openapi", "version": "1.0.0", "license": null, "source": null, "manifest_path": "/x",
            "features": {"latest": ["v1_37"], "v1_37": []}}"#;
        let package: Package = serde_json::from_str(package).unwrap();
        assert_eq!(newest_kubernetes(&[package]).unwrap(), "1.37");
        assert!(newest_kubernetes(&[]).is_err());
    }
}
