//! Dead public items: those that nothing else in the workspace names.
//!
//! An item counts as named if its name occurs in any Rust file, page or template besides the line that defines it, so that
//! what only a test, an example or the book shows is not reported.

use std::collections::HashMap;

use super::{
    Finding,
    tree::{Tree, is_generated, is_shipped},
};

/// The keywords that come before the name of a public item.
const KEYWORDS: [&str; 10] = [
    "fn", "struct", "enum", "trait", "type", "const", "static", "async", "unsafe", "mod",
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let unused = unused(tree).into_iter();
    let finding = |(path, line, name)| {
        let what =
            format!("nothing names the public item `{name}`: remove it, or use it in a test");
        Finding::error(path, line, what)
    };
    unused.map(finding).collect()
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
        let mut before = "";
        for (n, line) in text.lines().enumerate() {
            let attribute = std::mem::replace(&mut before, line);
            let is_macro = attribute.trim_start().starts_with("#[proc_macro");
            let Some(name) = public_item(line).filter(|_| !is_macro) else {
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

/// Returns the words of a text: names and parts of paths.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
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
                "pub fn used() {}\npub const fn gone() {}\npub struct Kept;\nfn f() {}\n#[proc_macro_derive(D)]\npub fn derive() {}",
            ),
            ("crates/b/src/lib.rs", "fn g() { used() }"),
            ("README.md", "`Kept`"),
        ]);
        assert_eq!(unused(&tree), [("crates/a/src/lib.rs", 2, "gone")]);
    }

    #[test]
    fn fields_and_reexports_are_not_items() {
        assert_eq!(public_item("    pub name: String,"), None);
        assert_eq!(public_item("pub use a::B;"), None);
        assert_eq!(public_item("pub async fn run() {"), Some("run"));
        assert_eq!(public_item("pub(crate) fn run() {"), None);
    }
}
