//! Files and folders of modules have one shape: a module with children is `name/mod.rs`.
//!
//! The one exception is a file whose only children are its tests: `name.rs` with `name/tests.rs`.

use super::Finding;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, _) in tree.rust() {
        let Some(stem) = path.strip_suffix(".rs") else {
            continue;
        };
        let folder = format!("{stem}/");
        let child = |other: &str| {
            other
                .strip_prefix(&folder)
                .is_some_and(|rest| !rest.starts_with("tests"))
        };
        if path.contains("/src/") && !stem.ends_with("/tests") && tree.rust().any(|(p, _)| child(p))
        {
            let what = format!("has children in `{folder}`: move it to `{folder}mod.rs`");
            findings.push(Finding::error(path, 1, what));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(files: &[&str]) -> Vec<String> {
        let files: Vec<(&str, &str)> = files.iter().map(|path| (*path, "")).collect();
        let found = check(&Tree::of(&files));
        found.into_iter().map(|finding| finding.path).collect()
    }

    #[test]
    fn a_module_with_children_is_a_folder() {
        let file = "crates/store/src/memory.rs";
        assert_eq!(paths(&[file, "crates/store/src/memory/tree.rs"]), [file]);
        assert!(paths(&[file, "crates/store/src/memory/tests.rs"]).is_empty());
        assert!(
            paths(&[
                "crates/store/src/memory/mod.rs",
                "crates/store/src/memory/tree.rs"
            ])
            .is_empty()
        );
    }
}
