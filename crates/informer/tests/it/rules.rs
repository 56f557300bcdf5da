//! What `RULES.md` and `FAULTS.md` claim is so: every rule and every fault is in them, and every test that they name is
//! there and says which rule it is about.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const RULES: &str = include_str!("../../RULES.md");
const FAULTS: &str = include_str!("../../FAULTS.md");

/// The rules of client-go's behaviour that are about clients and informers.
const SECTIONS: [(&str, &[std::ops::RangeInclusive<u8>]); 27] = [
    ("FG", &[1..=2]),
    ("K", &[1..=8]),
    ("LW", &[1..=3]),
    ("PG", &[1..=8]),
    ("RF", &[1..=4, 10..=18, 20..=30, 40..=50]),
    ("Q", &[1..=5]),
    ("DF", &[1..=8]),
    ("RQ", &[1..=12]),
    ("FI", &[1..=1]),
    ("HP", &[1..=1]),
    ("ST", &[1..=12]),
    ("CT", &[1..=4]),
    (
        "SI",
        &[1..=4, 10..=14, 20..=22, 30..=32, 40..=41, 50..=53, 60..=61],
    ),
    ("SY", &[1..=4]),
    ("OC", &[1..=4]),
    ("LS", &[1..=4]),
    ("FA", &[1..=8]),
    ("FC", &[1..=4]),
    ("DI", &[1..=15]),
    ("RM", &[1..=7]),
    ("DY", &[1..=5]),
    ("MD", &[1..=1]),
    ("SC", &[1..=1]),
    ("TC", &[1..=1]),
    ("RE", &[1..=20]),
    ("CO", &[1..=5]),
    ("WA", &[1..=3]),
];

/// A test: the lines from its comment to its end.
type Tests = BTreeMap<String, Vec<String>>;

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

/// All tests below these directories, by name; several may share one.
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
    let lines: Vec<_> = text.lines().collect();
    for (i, line) in lines.iter().enumerate() {
        let trimmed = line.trim_start();
        let is_test = trimmed.starts_with("#[test") || trimmed.starts_with("#[tokio::test");
        let function = || lines[i..].iter().take(4).find_map(|line| name(line));
        let Some(name) = is_test.then(function).flatten() else {
            continue;
        };
        let is_comment = |line: &&&str| line.trim_start().starts_with(['/', '#']);
        let begin = i - lines[..i].iter().rev().take_while(is_comment).count();
        let end = format!("{}}}", &line[..line.len() - trimmed.len()]);
        let length = lines[i..].iter().position(|line| *line == end);
        let body = lines[begin..i + length.unwrap_or(0)].join("\n");
        tests.entry(name.to_owned()).or_default().push(body);
    }
}

fn name(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("async ").unwrap_or(line);
    line.strip_prefix("fn ")?.split('(').next()
}

/// Whether a text has this rule, and not one whose number only begins with it.
fn cites(text: &str, rule: &str) -> bool {
    text.match_indices(rule).any(|(at, _)| {
        let before = text[..at].bytes().next_back();
        let after = text[at + rule.len()..].bytes().next();
        !before.is_some_and(|byte| byte.is_ascii_alphanumeric())
            && !after.is_some_and(|byte| byte.is_ascii_digit())
    })
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
            wrong.push(format!("{rule} is there twice"));
        }
        if named(named_tests).next().is_none() && note.is_empty() {
            wrong.push(format!("{rule} has neither a test nor a reason"));
        }
        for test in named(named_tests) {
            match tests.get(test) {
                None => wrong.push(format!("{rule}: there is no test {test}")),
                Some(bodies) if !bodies.iter().any(|body| cites(body, rule)) => {
                    wrong.push(format!("{rule}: {test} does not say so"));
                }
                Some(_) => {}
            }
        }
    }
    for (section, ranges) in SECTIONS {
        for number in ranges.iter().cloned().flatten() {
            let rule = format!("{section}-{number}");
            if !seen.contains(&*rule) {
                wrong.push(format!("{rule} is missing"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
                assert!(tests.contains_key(test), "{fault}: there is no test {test}");
            }
        }
        faults += 1;
    }
    assert_eq!(faults, 24, "the table of faults is not whole");
}

#[test]
fn a_rule_is_cited_by_its_whole_number() {
    assert!(cites("// RF-1, RF-20", "RF-1") && cites("RF-1", "RF-1"));
    assert!(!cites("RF-10", "RF-1") && !cites("XRF-1", "RF-1"));
}
