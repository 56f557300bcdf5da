//! Checks `RULES.md`: every rule has tests, and every test that it names exists.

use std::{collections::BTreeSet, fs, path::Path};

const RULES: &str = include_str!("../../RULES.md");

/// Collects the names of all tests below a directory.
fn visit(directory: &Path, tests: &mut BTreeSet<String>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            visit(&path, tests);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("a file");
            let mut lines = text.lines().map(str::trim_start);
            while let Some(line) = lines.next() {
                if line.starts_with("#[test") || line.starts_with("#[tokio::test") {
                    tests.extend(lines.by_ref().take(4).find_map(name));
                }
            }
        }
    }
}

fn name(line: &str) -> Option<String> {
    let line = line.strip_prefix("async ").unwrap_or(line);
    let name = line.strip_prefix("fn ")?.split('(').next()?;
    Some(name.to_owned())
}

#[test]
fn every_rule_has_tests_and_all_of_them_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut tests = BTreeSet::new();
    visit(&root.join("src"), &mut tests);
    visit(&root.join("tests"), &mut tests);
    let rows = RULES.lines().filter(|line| line.starts_with("| "));
    for row in rows.filter(|row| !row.starts_with("| rule |")) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [rule, named, _note] = cells[..] else {
            panic!("{row} has {} cells", cells.len());
        };
        assert!(!named.is_empty(), "{rule} has no test");
        for test in named.split(',') {
            let test = test.trim().trim_matches('`');
            assert!(tests.contains(test), "{rule}: there is no test {test}");
        }
    }
}
