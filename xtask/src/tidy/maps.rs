//! The pages that describe the crates name every crate, in its layer.
//!
//! CONTRIBUTING.md holds a table of the layers that must equal the one made here; the map of ARCHITECTURE.md must link to
//! every crate, and the paths that it gives must exist.

use super::Finding;
use super::layers::LAYERS;
use super::tree::{EXAMPLES, Tree, alternatives};

/// The page with the table of layers.
const CONTRIBUTING: &str = "CONTRIBUTING.md";

/// The page with the map.
const ARCHITECTURE: &str = "ARCHITECTURE.md";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let crates = tree.crates.iter().map(|c| c.name.as_str());
    let mut crates: Vec<&str> = crates.filter(|name| !name.starts_with(EXAMPLES)).collect();
    crates.sort_unstable();
    let page = |path| tree.files.get(path).map_or("", String::as_str);
    let mut findings = Vec::new();
    let table = table(&crates);
    if !page(CONTRIBUTING).contains(&table) {
        let what = format!("the table of layers is not up to date; write\n{table}");
        findings.push(Finding::error(CONTRIBUTING, 1, what));
    }
    for name in crates {
        if !page(ARCHITECTURE).contains(&format!("[`{name}`](crates/{name})")) {
            let what = format!("the map lacks the crate `{name}`: add a row that links to it");
            findings.push(Finding::error(ARCHITECTURE, 1, what));
        }
    }
    for (n, line) in page(ARCHITECTURE).lines().enumerate() {
        for path in paths(line) {
            if !exists(tree, &path) {
                let what = format!("`{path}` does not exist: say where it is now");
                findings.push(Finding::error(ARCHITECTURE, n + 1, what));
            }
        }
    }
    findings
}

/// Returns the paths within crates that a line names in backticks: `store/src/port.rs`, `a/src/{b,c}.rs`.
fn paths(line: &str) -> Vec<String> {
    let quoted = line.split('`').skip(1).step_by(2);
    let within = quoted.filter(|text| {
        (text.contains("/src/") || text.contains("/tests/")) && !text.contains(['<', '*', ' '])
    });
    within.flat_map(alternatives).collect()
}

/// Reports whether a path, within `crates/` or from the root, is that of a file or a folder.
fn exists(tree: &Tree, path: &str) -> bool {
    tree.has(&format!("crates/{path}")) || tree.has(path)
}

/// Renders the layers as a table, with the crates that exist.
fn table(crates: &[&str]) -> String {
    let mut table = "| layer | crates |\n|---|---|\n".to_owned();
    for (layer, title, names) in LAYERS {
        let mut names: Vec<&str> = names
            .iter()
            .copied()
            .filter(|name| crates.contains(name))
            .collect();
        names.sort_unstable();
        table += &format!("| {layer}, {title} | `{}` |\n", names.join("`, `"));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(contributing: &str, architecture: &str) -> Vec<String> {
        let files = [(CONTRIBUTING, contributing), (ARCHITECTURE, architecture)];
        let tree = Tree::of(&files).with_crate("store", &[]);
        check(&tree).into_iter().map(|f| f.path).collect()
    }

    #[test]
    fn both_pages_name_every_crate() {
        let (table, row) = (table(&["store"]), "| 1 | [`store`](crates/store) |");
        assert!(found(&table, row).is_empty());
        assert_eq!(found("", row), [CONTRIBUTING]);
        assert_eq!(found(&table, ""), [ARCHITECTURE]);
    }

    #[test]
    fn a_path_that_is_gone_is_found() {
        let (table, row) = (table(&["store"]), "[`store`](crates/store)");
        let gone = format!("{row} `store/src/{{lib,gone}}.rs` `store/src/<kind>.rs`");
        let files = [
            (CONTRIBUTING, table.as_str()),
            (ARCHITECTURE, gone.as_str()),
            ("crates/store/src/lib.rs", ""),
        ];
        let found = check(&Tree::of(&files).with_crate("store", &[]));
        assert_eq!(found.len(), 1);
        assert!(found[0].what.contains("store/src/gone.rs"));
    }
}
