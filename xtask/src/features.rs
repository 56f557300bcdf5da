//! `features [CRATE...]`: builds every crate without its features, and with each feature alone.
//!
//! A crate that compiles only because another one turned a feature on fails here.

use std::path::Path;

use anyhow::Result;

use crate::{
    cargo,
    metadata::{Metadata, Package, Scope},
};

pub(crate) fn run(args: &[String]) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for package in Metadata::load(&root, Scope::Workspace)?.packages {
        let Some(folder) = package.crate_folder() else {
            continue;
        };
        if !args.is_empty() && !args.iter().any(|name| name == folder) {
            continue;
        }
        for features in selections(&package) {
            println!("{folder}: {}", features.unwrap_or("no features"));
            let mut command = vec!["check", "-q", "-p", &package.name, "--no-default-features"];
            if let Some(feature) = features {
                command.extend(["--features", feature]);
            }
            cargo::run(command)?;
        }
    }
    Ok(())
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
}
