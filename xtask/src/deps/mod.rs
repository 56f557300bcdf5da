//! `deps`: checks the dependencies in `Cargo.lock`.
//!
//! Each must have an allowed licence and come from crates.io, and must not be there in two versions unless
//! `xtask/deps.toml` lists it with a reason. What is listed and no longer there is an error, so the list can only shrink. And each
//! crate must use what it depends on ([`unused`]).

mod unused;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use anyhow::{Context, Result, bail};

use crate::{
    metadata::{Metadata, Package, Scope},
    tidy::Tree,
};

/// The source of every dependency.
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Licences that are compatible with Apache-2.0 and ask for no more than attribution.
const LICENCES: [&str; 11] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// The list of crates that may be there in several versions.
const EXCEPTIONS: &str = "xtask/deps.toml";

pub(crate) fn run(args: &[String]) -> Result<()> {
    if !args.is_empty() {
        bail!("unknown arguments {args:?}");
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let metadata = Metadata::load(&root, Scope::All)?;
    let exceptions = fs::read_to_string(root.join(EXCEPTIONS)).context(EXCEPTIONS)?;
    let mut findings = check(&metadata.packages, &duplicates_allowed(&exceptions)?);
    let root = root.canonicalize().context("the workspace")?;
    let tree = Tree::load(&root)?;
    findings.extend(unused::check(&root, &metadata.packages, &tree));
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        n => bail!("{n} findings"),
    }
}

fn check(packages: &[Package], allowed: &BTreeSet<String>) -> Vec<String> {
    let mut findings = Vec::new();
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in packages {
        let Some(source) = &package.source else {
            continue;
        };
        let name = &package.name;
        versions.entry(name).or_default().push(&package.version);
        if source != CRATES_IO {
            findings.push(format!(
                "{name}: comes from {source}; use a release on crates.io"
            ));
        }
        let licence = package.license.as_deref().unwrap_or_default();
        if !is_allowed(licence) {
            findings.push(format!(
                "{name}: licence {licence:?} is not allowed; see LICENCES"
            ));
        }
    }
    for (name, versions) in &versions {
        if versions.len() > 1 && !allowed.contains(*name) {
            findings.push(format!(
                "{name}: in versions {}; unify them, or list the crate in {EXCEPTIONS} with a reason",
                versions.join(" and ")
            ));
        }
    }
    let single = |name: &&String| versions.get(name.as_str()).is_none_or(|all| all.len() < 2);
    findings.extend(
        allowed
            .iter()
            .filter(single)
            .map(|name| format!("{name}: has one version now; remove it from {EXCEPTIONS}")),
    );
    findings
}

/// Reports whether a licence expression can be satisfied with allowed licences alone.
///
/// `/` is the old spelling of `OR`. `AND` binds tighter than `OR`; parentheses occur only around alternatives.
fn is_allowed(expression: &str) -> bool {
    let known = |licence: &str| LICENCES.contains(&licence.trim());
    if known(expression) {
        return true;
    }
    if let Some((before, rest)) = expression.split_once('(') {
        let Some((inside, after)) = rest.split_once(')') else {
            return false;
        };
        let around = [before, after].map(|part| {
            let part = part.trim().trim_end_matches(" AND").trim_end_matches("AND");
            part.trim().trim_start_matches("AND ").trim().to_owned()
        });
        return is_allowed(inside)
            && around
                .iter()
                .all(|part| part.is_empty() || is_allowed(part));
    }
    expression
        .replace('/', " OR ")
        .split(" OR ")
        .any(|choice| choice.split(" AND ").all(known))
}

/// Reads lines of the form `name = "reason"`.
fn duplicates_allowed(text: &str) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let entry = line
            .split_once(" = ")
            .filter(|(_, reason)| reason.len() > 2);
        let (name, _) = entry.with_context(|| {
            format!("{EXCEPTIONS}: write `name = \"reason\"` instead of {line:?}")
        })?;
        names.insert(name.to_owned());
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, version: &str, license: &str, source: &str) -> Package {
        let package = serde_json::json!({
            "name": name, "version": version, "license": license, "source": source, "manifest_path": "/x",
        });
        serde_json::from_value(package).unwrap()
    }

    fn found(packages: &[Package], allowed: &[&str]) -> Vec<String> {
        check(
            packages,
            &allowed.iter().map(|name| (*name).to_owned()).collect(),
        )
    }

    #[test]
    fn licences_are_read_as_expressions() {
        for allowed in [
            "MIT",
            "MIT OR GPL-3.0",
            "MIT/Apache-2.0",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 AND ISC",
            "Apache-2.0 WITH LLVM-exception",
        ] {
            assert!(is_allowed(allowed), "{allowed}");
        }
        for refused in [
            "",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "(MIT OR ISC) AND GPL-3.0",
            "MPL-2.0",
        ] {
            assert!(!is_allowed(refused), "{refused}");
        }
    }

    #[test]
    fn a_foreign_source_is_found() {
        let package = package("a", "1.0.0", "MIT", "git+https://example.com/a");
        assert_eq!(found(&[package], &[]).len(), 1);
    }

    #[test]
    fn two_versions_need_a_reason_and_one_version_must_not_have_one() {
        let two = ["1.0.0", "2.0.0"].map(|version| package("a", version, "MIT", CRATES_IO));
        assert_eq!(found(&two, &[]).len(), 1);
        assert!(found(&two, &["a"]).is_empty());
        assert_eq!(found(&two[..1], &["a"]).len(), 1);
    }

    #[test]
    fn an_exception_without_a_reason_is_refused() {
        assert!(duplicates_allowed("a = \"\"").is_err());
        assert_eq!(duplicates_allowed("# x\na = \"why\"").unwrap().len(), 1);
    }
}
