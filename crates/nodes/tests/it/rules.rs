//! Checks `RULES.md`: no row is missing, and every test that it names exists.

use std::{collections::BTreeSet, fs, path::Path};

const RULES: &str = include_str!("../../RULES.md");

/// The number of rules.
const ROWS: usize = 31;

/// The directories that hold tests.
const PLACES: [&str; 2] = ["src", "tests"];

/// The names of all tests below a directory.
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
fn every_rule_has_its_tests_or_a_reason() {
    let mut tests = BTreeSet::new();
    for place in PLACES {
        visit(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join(place),
            &mut tests,
        );
    }
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    let rows = RULES.lines().filter(|line| line.starts_with("| "));
    for row in rows.filter(|row| !row.starts_with("| rule |")) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [rule, named, note] = cells[..] else {
            wrong.push(format!("not three cells: {row}"));
            continue;
        };
        if !seen.insert(rule) {
            wrong.push(format!("there twice: {rule}"));
        }
        let mut named = named.split('`').skip(1).step_by(2).peekable();
        if named.peek().is_none() && note.is_empty() {
            wrong.push(format!("neither a test nor a reason: {rule}"));
        }
        let missing = named.filter(|test| !tests.contains(*test));
        wrong.extend(missing.map(|test| format!("there is no test {test}: {rule}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(seen.len(), ROWS, "the table of rules is not whole");
}
