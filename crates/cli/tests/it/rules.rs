//! Checks `RULES.md`: every rule has tests, and every named test exists.

use std::{collections::BTreeSet, fs, path::Path};

const RULES: &str = include_str!("../../RULES.md");

/// The names of all tests below a directory.
fn tests(directory: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            tests(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("a file");
            let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
            for (i, line) in lines.iter().enumerate() {
                if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
                    let name = lines[i..].iter().take(4).find_map(|line| {
                        let line = line.strip_prefix("async ").unwrap_or(line);
                        line.strip_prefix("fn ")?.split('(').next()
                    });
                    found.extend(name.map(str::to_owned));
                }
            }
        }
    }
}

#[test]
fn every_line_has_tests_that_are_there() {
    let mut found = BTreeSet::new();
    for directory in [
        "src",
        "tests",
        "../scaffold/src",
        "../scaffold/tests",
        "../operator/tests",
        "../operator/src",
    ] {
        tests(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join(directory),
            &mut found,
        );
    }
    let mut wrong = Vec::new();
    let mut lines = 0;
    for row in RULES.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [rule, named, note] = cells[..] else {
            wrong.push(format!("not three cells: {row}"));
            continue;
        };
        if rule == "rule" {
            continue;
        }
        lines += 1;
        let names: Vec<&str> = named.split('`').skip(1).step_by(2).collect();
        if names.is_empty() && note.is_empty() {
            wrong.push(format!("{rule}: neither a test nor a reason"));
        }
        for name in names {
            if !found.contains(name) {
                wrong.push(format!("{rule}: there is no test {name}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(lines > 30, "only {lines} lines");
}
