//! `public-api [CRATE...]`: checks which dependencies the public signatures of the crates name.
//!
//! A type of a dependency in a public signature makes a new major version of that dependency one of ours, so
//! ARCHITECTURE.md lists those that may appear there (the line "Public signatures may name: ..."). The task reads
//! rustdoc's JSON, which is unstable: the wrapper beside `.ci/run` allows it for rustdoc alone.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::{
    cargo,
    metadata::{Metadata, Package, Scope},
};

/// The beginning of the line of ARCHITECTURE.md that lists the dependencies.
const ALLOWED: &str = "Public signatures may name:";

/// Crates of the standard library.
const STANDARD: [&str; 4] = ["std", "core", "alloc", "proc_macro"];

/// The wrapper of rustdoc.
const RUSTDOC: &str = ".ci/rustdoc-json";

/// Crates without a library that others use.
const PROGRAMS: [&str; 1] = ["cli"];

pub(crate) fn run(args: &[String]) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let root = root.canonicalize()?;
    let page = fs::read_to_string(root.join("ARCHITECTURE.md"))?;
    let allowed = allowed(&page)?;
    let mut used = BTreeSet::new();
    let mut findings = 0;
    for package in Metadata::load(&root, Scope::Workspace)?.packages {
        let Some(folder) = package.crate_folder() else {
            continue;
        };
        let chosen = args.is_empty() || args.iter().any(|name| name == folder);
        if !chosen || PROGRAMS.contains(&folder) {
            continue;
        }
        let foreign = foreign(&document(&root, &package)?);
        let counted: Vec<String> = foreign
            .iter()
            .map(|(n, uses)| format!("{n} {}", uses.len()))
            .collect();
        println!("{folder}: {}", counted.join(", "));
        for (name, uses) in &foreign {
            if !allowed.contains(name) {
                findings += 1;
                let first: Vec<&str> = uses.iter().take(5).map(String::as_str).collect();
                println!(
                    "  {name} is not listed in ARCHITECTURE.md; it is named by {}",
                    first.join(", ")
                );
            }
            used.insert(name.clone());
        }
    }
    if args.is_empty() {
        for name in allowed.difference(&used) {
            findings += 1;
            println!("{name}: listed in ARCHITECTURE.md, but no public signature names it");
        }
    }
    ensure!(findings == 0, "{findings} findings");
    Ok(())
}

/// Reads the names from a line such as "Public signatures may name: `bytes`, `http`."
fn allowed(page: &str) -> Result<BTreeSet<String>> {
    let Some(at) = page.find(ALLOWED) else {
        bail!("ARCHITECTURE.md has no line {ALLOWED:?}");
    };
    let paragraph = page[at..].split("\n\n").next().unwrap_or_default();
    Ok(paragraph
        .split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect())
}

/// Documents a crate and returns rustdoc's JSON.
fn document(root: &Path, package: &Package) -> Result<Value> {
    let mut command = cargo::command();
    command
        .args([
            "rustdoc",
            "-q",
            "--lib",
            "--all-features",
            "-p",
            &package.name,
            "--",
        ])
        .args([
            "-Z",
            "unstable-options",
            "--output-format",
            "json",
            "--cap-lints",
            "allow",
        ])
        .env("RUSTDOC", root.join(RUSTDOC))
        .current_dir(root);
    let status = command.status().context("cannot run cargo")?;
    ensure!(status.success(), "{command:?} failed");
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let file = target
        .join("doc")
        .join(format!("{}.json", package.name.replace('-', "_")));
    let text = fs::read(&file).with_context(|| file.display().to_string())?;
    Ok(serde_json::from_slice(&text)?)
}

/// Returns the foreign crates that public items name, each with the names of these items.
fn foreign(document: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for item in document["index"]
        .as_object()
        .into_iter()
        .flat_map(|index| index.values())
    {
        let inner = &item["inner"];
        // Implementations of derives and of blanket traits are not written by us.
        let derived = item["attrs"].to_string().contains("automatically_derived");
        let blanket =
            !inner["impl"]["blanket_impl"].is_null() || inner["impl"]["is_synthetic"] == true;
        if item["crate_id"] != 0 || derived || blanket {
            continue;
        }
        let mut ids = Vec::new();
        collect(inner, &mut ids);
        for id in ids {
            let crate_id = &document["paths"][id.to_string()]["crate_id"];
            let name = document["external_crates"][crate_id.to_string()]["name"].as_str();
            let Some(name) = name.filter(|name| !is_ours(name)) else {
                continue;
            };
            let item = item["name"].as_str().unwrap_or("an implementation");
            found
                .entry(name.replace('_', "-"))
                .or_default()
                .insert(item.to_owned());
        }
    }
    found
}

fn is_ours(name: &str) -> bool {
    name.starts_with("kubewright") || STANDARD.contains(&name)
}

/// Collects the ids of the types and traits in a signature.
fn collect<'a>(value: &'a Value, ids: &mut Vec<&'a Value>) {
    match value {
        Value::Object(fields) => {
            if fields.contains_key("path") || fields.contains_key("source") {
                ids.extend(fields.get("id"));
            }
            fields.values().for_each(|value| collect(value, ids));
        }
        Value::Array(items) => items.iter().for_each(|value| collect(value, ids)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_read_from_the_page() {
        let page = "text\n\nPublic signatures may name: `bytes`,\n`http`.\n\n`tokio`";
        assert_eq!(
            allowed(page).unwrap(),
            ["bytes".to_owned(), "http".to_owned()].into()
        );
        assert!(allowed("nothing").is_err());
    }

    #[test]
    fn a_foreign_type_in_a_signature_is_found() {
        let document = serde_json::json!({
            "index": {
                "1": {"crate_id": 0, "name": "get", "attrs": [], "inner": {"function": {"sig": {"output":
                    {"resolved_path": {"path": "Bytes", "id": 7}}}}}},
                "2": {"crate_id": 0, "name": "own", "attrs": [], "inner": {"function": {"sig": {"output":
                    {"resolved_path": {"path": "Key", "id": 8}}}}}},
            },
            "paths": {"7": {"crate_id": 3}, "8": {"crate_id": 0}},
            "external_crates": {"3": {"name": "serde_json"}},
        });
        let found = foreign(&document);
        assert_eq!(found.len(), 1);
        assert_eq!(found["serde-json"], ["get".to_owned()].into());
    }
}
