//! The pages that describe the crates name every crate, in its layer.
//!
//! CONTRIBUTING.md holds a table of the layers that must equal the one made here; the map of ARCHITECTURE.md must link to
//! every crate.

use super::Finding;
use super::layers::LAYERS;
use super::tree::{EXAMPLES, Tree};

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
    findings
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

    fn paths(contributing: &str, architecture: &str) -> Vec<String> {
        let files = [(CONTRIBUTING, contributing), (ARCHITECTURE, architecture)];
        let tree = Tree::of(&files).with_crate("store", &[]);
        check(&tree).into_iter().map(|f| f.path).collect()
    }

    #[test]
    fn both_pages_name_every_crate() {
        let (table, row) = (table(&["store"]), "| 1 | [`store`](crates/store) |");
        assert!(paths(&table, row).is_empty());
        assert_eq!(paths("", row), [CONTRIBUTING]);
        assert_eq!(paths(&table, ""), [ARCHITECTURE]);
    }
}
