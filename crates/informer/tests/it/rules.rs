//! Checks `RULES.md` and `FAULTS.md`: no row is missing, and every test that they name exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const RULES: &str = include_str!("../../RULES.md");
const FAULTS: &str = include_str!("../../FAULTS.md");

/// The number of rules.
const ROWS: usize = 204;

/// The names of tests.
type Tests = BTreeSet<String>;

fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = text.lines().filter(|line| line.starts_with("| "));
    lines
        .map(|line| {
            let cells = line
                .strip_prefix('|')
                .and_then(|line| line.strip_suffix('|'));
            cells.unwrap_or(line).split('|').map(str::trim).collect()
        })
        .filter(|row: &Vec<&str>| !matches!(row.first(), Some(&"rule" | &"fault")))
}

fn named(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The names of all tests below these directories.
fn tests(directories: &[&str]) -> Tests {
    let mut tests = Tests::new();
    for directory in directories {
        visit(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join(directory),
            &mut tests,
        );
    }
    tests
}

fn visit(directory: &Path, tests: &mut Tests) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            visit(&path, tests);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            read(&fs::read_to_string(&path).expect("a file"), tests);
        }
    }
}

fn read(text: &str, tests: &mut Tests) {
    let mut lines = text.lines().map(str::trim_start);
    while let Some(line) = lines.next() {
        if line.starts_with("#[test") || line.starts_with("#[tokio::test") {
            let name = lines.by_ref().take(4).find_map(name);
            tests.extend(name.map(str::to_owned));
        }
    }
}

fn name(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("async ").unwrap_or(line);
    line.strip_prefix("fn ")?.split('(').next()
}

#[test]
fn every_rule_has_its_tests_or_a_reason() {
    let tests = tests(&["src", "tests", "../client/src", "../client/tests"]);
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for row in rows(RULES) {
        let [rule, named_tests, note] = row[..] else {
            wrong.push(format!("not three cells: {row:?}"));
            continue;
        };
        if !seen.insert(rule) {
            wrong.push(format!("there twice: {rule}"));
        }
        if named(named_tests).next().is_none() && note.is_empty() {
            wrong.push(format!("neither a test nor a reason: {rule}"));
        }
        for test in named(named_tests) {
            if !tests.contains(test) {
                wrong.push(format!("there is no test {test}: {rule}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(seen.len(), ROWS, "the table of rules is not whole");
}

#[test]
fn every_fault_has_its_tests_on_both_servers() {
    let memory = tests(&["tests/it/faults", "tests/it/sockets"]);
    let embedded = tests(&["tests/it/embedded", "tests/it/sockets"]);
    let mut faults = 0;
    for row in rows(FAULTS) {
        let [fault, in_memory, on_embedded] = row[..] else {
            panic!("not three cells: {row:?}");
        };
        for (cell, tests) in [(in_memory, &memory), (on_embedded, &embedded)] {
            assert!(named(cell).next().is_some(), "{fault} has no test");
            for test in named(cell) {
                let test = test.rsplit("::").next().unwrap_or(test);
                assert!(tests.contains(test), "{fault}: there is no test {test}");
            }
        }
        faults += 1;
    }
    assert_eq!(faults, 24, "the table of faults is not whole");
}
