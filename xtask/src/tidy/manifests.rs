//! Every crate of the workspace takes its edition, its license and its lints from there.

use super::Finding;
use super::tree::Tree;

/// Settings, and the table they belong to.
const SHARED: [(&str, &str); 3] = [
    ("[package]", "edition.workspace = true"),
    ("[package]", "license.workspace = true"),
    ("[lints]", "workspace = true"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let manifests = tree
        .files
        .iter()
        .filter(|(path, _)| path.ends_with("/Cargo.toml"));
    let mut findings = Vec::new();
    for (path, text) in manifests {
        // The crate is the root of another workspace.
        if text.lines().any(|line| line.trim() == "[workspace]") {
            continue;
        }
        for (table, setting) in SHARED {
            if !has(text, table, setting) {
                let what = format!("no `{setting}` under `{table}`: add it");
                findings.push(Finding::error(path, 1, what));
            }
        }
    }
    findings
}

fn has(text: &str, table: &str, setting: &str) -> bool {
    let mut lines = text
        .lines()
        .map(str::trim)
        .skip_while(|line| *line != table)
        .skip(1);
    lines
        .by_ref()
        .take_while(|line| !line.starts_with('['))
        .any(|line| line == setting)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_settings_come_from_the_workspace() {
        let good = "[package]\nname = \"x\"\nedition.workspace = true\n\
                    license.workspace = true\n\n[lints]\nworkspace = true\n";
        assert!(check(&Tree::of(&[("crates/x/Cargo.toml", good)])).is_empty());
        let own = good.replace("edition.workspace = true", "edition = \"2021\"");
        assert_eq!(check(&Tree::of(&[("crates/x/Cargo.toml", &own)])).len(), 1);
        let no_lints = good.replace("[lints]", "[features]");
        assert_eq!(
            check(&Tree::of(&[("crates/x/Cargo.toml", &no_lints)])).len(),
            1
        );
    }

    #[test]
    fn the_workspace_itself_has_none_to_take() {
        for path in ["Cargo.toml", "fuzz/libfuzzer/Cargo.toml"] {
            assert!(check(&Tree::of(&[(path, "[workspace]\n")])).is_empty());
        }
    }
}
