//! The workspace as the checks see it: its text files, and which crate depends on which.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::metadata::{Metadata, Scope};

/// Folders that hold no source.
const SKIPPED: [&str; 3] = [".git", "target", "node_modules"];

/// The endings of files that are looked at.
const ENDINGS: [&str; 11] = [
    "rs", "toml", "md", "go", "sh", "py", "js", "yaml", "yml", "txt", "tmpl",
];

/// The prefix of the names of examples.
pub(crate) const EXAMPLES: &str = "examples/";

/// A workspace in memory.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// Texts by path from the root of the workspace.
    pub(crate) files: BTreeMap<String, String>,
    /// The crates in `crates/` and `examples/`.
    pub(crate) crates: Vec<Crate>,
}

/// One crate.
#[derive(Debug)]
pub(crate) struct Crate {
    /// The name of its folder in `crates/`; `examples/name` for an example.
    pub(crate) name: String,
    /// The crates of the workspace it is built on, by folder. Those of its tests are not among them, and neither are those
    /// that an example needs only to be a program.
    pub(crate) uses: Vec<String>,
}

impl Tree {
    /// Reads a workspace from the disk.
    pub(crate) fn load(root: &Path) -> Result<Self> {
        let mut tree = Self::default();
        tree.read(root, "")?;
        tree.crates = crates(&Metadata::load(root, Scope::Workspace)?);
        Ok(tree)
    }

    /// The Rust files, with their paths.
    pub(crate) fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .filter(|(path, _)| path.ends_with(".rs"))
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Reports whether a path is that of a file or a folder.
    pub(crate) fn has(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        self.files.contains_key(path) || self.files.keys().any(|file| file.starts_with(&folder))
    }

    fn read(&mut self, folder: &Path, prefix: &str) -> Result<()> {
        for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            let kind = entry.file_type()?;
            if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
                self.read(&entry.path(), &format!("{path}/"))?;
            } else if kind.is_file() && is_looked_at(&path) {
                self.files.insert(path, fs::read_to_string(entry.path())?);
            }
        }
        Ok(())
    }
}

/// The crate a file belongs to, by folder.
pub(crate) fn crate_of(path: &str) -> Option<&str> {
    path.strip_prefix("crates/")?
        .split_once('/')
        .map(|(name, _)| name)
}

/// Expands the braces of a path: `a/{b,c}.rs` is `a/b.rs` and `a/c.rs`.
pub(crate) fn alternatives(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('{') else {
        return vec![path.to_owned()];
    };
    let (names, after) = rest.split_once('}').unwrap_or((rest, ""));
    let names = names.split(',').map(str::trim);
    names.map(|name| format!("{before}{name}{after}")).collect()
}

/// Reports whether a file is part of what a crate ships: its sources without their tests.
pub(crate) fn is_shipped(path: &str) -> bool {
    let test = path.ends_with("/tests.rs") || path.contains("/tests/");
    path.starts_with("crates/") && path.contains("/src/") && !test
}

/// Reports whether a file is generated.
pub(crate) fn is_generated(path: &str) -> bool {
    path.contains("/src/generated/") || path.contains("/tests/it/generated/")
}

fn is_looked_at(path: &str) -> bool {
    path.starts_with(".ci/")
        || path
            .rsplit_once('.')
            .is_some_and(|(_, ending)| ENDINGS.contains(&ending))
}

fn crates(metadata: &Metadata) -> Vec<Crate> {
    let folder = |path: &str| {
        let mut parts = path.trim_end_matches("/Cargo.toml").rsplit(['/', '\\']);
        let name = parts.next()?;
        match parts.next()? {
            "crates" => Some(name.to_owned()),
            "examples" => Some(format!("{EXAMPLES}{name}")),
            _ => None,
        }
    };
    let crates = metadata.packages.iter().filter_map(|package| {
        let name = folder(&package.manifest_path)?;
        let example = name.starts_with(EXAMPLES);
        let shipped = package
            .dependencies
            .iter()
            .filter(|d| d.kind.as_deref() != Some("dev") && !(example && d.optional));
        let uses = shipped.filter_map(|d| folder(d.path.as_deref()?)).collect();
        Some(Crate { name, uses })
    });
    crates.collect()
}

#[cfg(test)]
impl Tree {
    /// A tree of some files.
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect();
        Self {
            files,
            crates: Vec::new(),
        }
    }

    /// The same tree with one more crate.
    pub(crate) fn with_crate(mut self, name: &str, uses: &[&str]) -> Self {
        let uses = uses.iter().map(|name| (*name).to_owned()).collect();
        self.crates.push(Crate {
            name: name.to_owned(),
            uses,
        });
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_known_by_folder_and_uses_of_tests_do_not_count() {
        let metadata = r#"{"packages": [
            {"name": "store", "version": "1.0.0", "manifest_path": "/x/crates/store/Cargo.toml", "dependencies": [
                {"kind": null, "path": "/x/crates/machinery"},
                {"kind": "dev", "path": "/x/crates/testing"},
                {"kind": null, "path": null}]},
            {"name": "xtask", "version": "1.0.0", "manifest_path": "/x/xtask/Cargo.toml", "dependencies": []}]}"#;
        let crates = crates(&serde_json::from_str(metadata).unwrap());
        assert_eq!(crates.len(), 1);
        assert_eq!(crates[0].name, "store");
        assert_eq!(crates[0].uses, ["machinery"]);
    }

    #[test]
    fn optional_dependencies_of_examples_do_not_count() {
        let metadata = r#"{"packages": [
            {"name": "shop", "version": "1.0.0", "manifest_path": "/x/examples/shop/Cargo.toml", "dependencies": [
                {"kind": null, "path": "/x/crates/controller"},
                {"kind": null, "path": "/x/crates/testing", "optional": true}]},
            {"name": "cli", "version": "1.0.0", "manifest_path": "/x/crates/cli/Cargo.toml", "dependencies": [
                {"kind": null, "path": "/x/examples/shop"}]}]}"#;
        let crates = crates(&serde_json::from_str(metadata).unwrap());
        assert_eq!(crates[0].name, "examples/shop");
        assert_eq!(crates[0].uses, ["controller"]);
        assert_eq!(crates[1].uses, ["examples/shop"]);
    }

    #[test]
    fn tests_are_not_shipped() {
        assert!(is_shipped("crates/store/src/lib.rs"));
        assert!(!is_shipped("crates/store/src/memory/tests.rs"));
        assert!(!is_shipped("crates/store/src/memory/tests/watch.rs"));
        assert!(!is_shipped("crates/store/tests/it/main.rs"));
        assert!(!is_shipped("xtask/src/main.rs"));
    }
}
