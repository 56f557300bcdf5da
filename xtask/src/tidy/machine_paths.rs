//! Nothing in the tree names a place on somebody's machine.

use super::Finding;
use super::tree::Tree;

/// Beginnings of such places. Written in two pieces, or this file would be a finding.
const PLACES: [&str; 3] = [
    concat!("/wo", "rk/"),
    concat!("/opt/or", "acle"),
    concat!("/tmp/", "target"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in &tree.files {
        for (n, line) in text.lines().enumerate() {
            let place = PLACES.iter().find(|place| names(line, place));
            findings.extend(place.map(|place| {
                let what = format!("`{place}` is a place on one machine: take it as a setting");
                Finding::error(path, n + 1, what)
            }));
        }
    }
    findings
}

/// Reports whether a line names the folder itself, not one of that name below another.
fn names(line: &str, place: &str) -> bool {
    line.match_indices(place).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '}'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_on_a_machine_are_found_in_every_file() {
        for place in PLACES {
            let line = format!("x\nsee {place}/x");
            let found = check(&Tree::of(&[("README.md", &line)]));
            assert_eq!(found.len(), 1, "{place}");
            assert_eq!(found[0].line, 2);
        }
    }

    #[test]
    fn a_folder_below_another_is_accepted() {
        let line = format!("docs{}notes.md", PLACES[0]);
        assert!(check(&Tree::of(&[("README.md", &line)])).is_empty());
    }
}
