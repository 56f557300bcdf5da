//! `unused`: lists public items that nothing else in the workspace names.
//!
//! An item counts as named if its name occurs in any Rust file, page or template besides the line that defines it, so that
//! what only an example or the book shows is not listed. The list is for a person to read: an item may be there for users.

use std::{collections::HashMap, path::Path};

use anyhow::{Result, bail};

use crate::tidy::{Tree, is_generated, is_shipped};

/// The keywords that come before the name of a public item.
const KEYWORDS: [&str; 10] = [
    "fn", "struct", "enum", "trait", "type", "const", "static", "async", "unsafe", "mod",
];

pub(crate) fn run(args: &[String]) -> Result<()> {
    if !args.is_empty() {
        bail!("unknown arguments {args:?}");
    }
    let tree = Tree::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))?;
    let unused = unused(&tree);
    for (path, line, name) in &unused {
        println!("{path}:{line}: {name}");
    }
    println!("{} public items that nothing else names", unused.len());
    Ok(())
}

fn unused(tree: &Tree) -> Vec<(&str, usize, &str)> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for text in tree.files.values() {
        for word in words(text) {
            *counts.entry(word).or_default() += 1;
        }
    }
    let mut unused = Vec::new();
    for (path, text) in tree.rust() {
        if !is_shipped(path) || is_generated(path) {
            continue;
        }
        for (n, line) in text.lines().enumerate() {
            let Some(name) = public_item(line) else {
                continue;
            };
            let here = words(line).filter(|word| *word == name).count();
            if counts.get(name).is_none_or(|all| *all <= here) {
                unused.push((path, n + 1, name));
            }
        }
    }
    unused
}

/// Returns the name that a line defines publicly.
fn public_item(line: &str) -> Option<&str> {
    let item = line.trim_start().strip_prefix("pub ")?;
    let mut parts = words(item).skip_while(|word| KEYWORDS.contains(word));
    let first = words(item).next()?;
    (KEYWORDS.contains(&first) && first != "mod")
        .then(|| parts.next())
        .flatten()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_that_nothing_names_is_listed() {
        let tree = Tree::of(&[
            (
                "crates/a/src/lib.rs",
                "pub fn used() {}\npub const fn gone() {}\npub struct Kept;\nfn f() {}",
            ),
            ("crates/b/src/lib.rs", "fn g() { used() }"),
            ("README.md", "`Kept`"),
        ]);
        assert_eq!(unused(&tree), [("crates/a/src/lib.rs", 2, "gone")]);
    }

    #[test]
    fn fields_and_reexports_are_no_items() {
        assert_eq!(public_item("    pub name: String,"), None);
        assert_eq!(public_item("pub use a::B;"), None);
        assert_eq!(public_item("pub async fn run() {"), Some("run"));
        assert_eq!(public_item("pub(crate) fn run() {"), None);
    }
}
