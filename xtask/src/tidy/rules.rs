//! Tables of rules: every rule in a `RULES.md` has tests or a note, and every test and file that it names exists.
//!
//! The columns are found by their headers: `tests` holds names of tests, `where` holds paths, and `note` explains deviations.
//! In a `FAULTS.md`, each column but the first holds names of tests as `module::name`, from the directories of [`SERVERS`].

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::tree::{Tree, alternatives};

/// The columns of `FAULTS.md`, and the directories of their tests within the crate.
const SERVERS: [(&str, [&str; 2]); 2] = [
    (
        "on the server in memory",
        ["tests/it/faults/", "tests/it/sockets/"],
    ),
    (
        "on the embedded server",
        ["tests/it/embedded/", "tests/it/sockets/"],
    ),
];

/// The tests of the workspace: the paths of the files that define them, by name.
struct Tests<'a>(BTreeMap<&'a str, Vec<&'a str>>);

/// A row of a table, by the headers of its cells.
struct Row<'a> {
    cells: Vec<(&'a str, &'a str)>,
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let tests = Tests::of(tree);
    let mut findings = Vec::new();
    for (path, text) in &tree.files {
        if path.ends_with("/RULES.md") {
            check_table(path, text, &mut findings, |row, wrong| {
                rule(tree, &tests, row, wrong);
            });
        } else if path.ends_with("/FAULTS.md") {
            let home = path.trim_end_matches("FAULTS.md");
            check_table(path, text, &mut findings, |row, wrong| {
                fault(&tests, home, row, wrong);
            });
        }
    }
    findings
}

/// Checks each row of the tables of a file with a function that appends descriptions of what is wrong.
fn check_table(
    path: &str,
    text: &str,
    findings: &mut Vec<Finding>,
    check: impl Fn(&Row<'_>, &mut Vec<String>),
) {
    let mut seen = BTreeSet::new();
    let mut header: Option<Vec<&str>> = None;
    for (n, line) in text.lines().enumerate() {
        let Some(cells) = cells(line) else {
            header = None;
            continue;
        };
        let Some(names) = &header else {
            header = Some(cells);
            continue;
        };
        if line.starts_with("|-") {
            continue;
        }
        let mut wrong = Vec::new();
        if cells.len() == names.len() {
            if !seen.insert(cells[0]) {
                wrong.push("is listed twice".to_owned());
            }
            let cells = names.iter().copied().zip(cells).collect();
            check(&Row { cells }, &mut wrong);
        } else {
            wrong.push(format!(
                "has {} cells instead of {}",
                cells.len(),
                names.len()
            ));
        }
        let of = |what: String| Finding::error(path, n + 1, format!("the row {what}"));
        findings.extend(wrong.into_iter().map(of));
    }
    if seen.is_empty() {
        findings.push(Finding::error(path, 1, "there is no table of rules"));
    }
}

fn rule(tree: &Tree, tests: &Tests<'_>, row: &Row<'_>, wrong: &mut Vec<String>) {
    let named: Vec<&str> = quoted(row.cell("tests")).collect();
    if named.is_empty() && row.cell("note").is_empty() {
        wrong.push("has neither a test nor a note".to_owned());
    }
    let missing = named.into_iter().filter(|name| !tests.0.contains_key(name));
    wrong.extend(missing.map(|name| format!("names the test `{name}`, which does not exist")));
    // A path without a folder is in the folder of the one before it.
    let mut folder = "";
    for path in quoted(row.cell("where")) {
        let whole = match path.rsplit_once('/') {
            Some((before, _)) if !before.is_empty() => {
                folder = before;
                path.to_owned()
            }
            _ => format!("{folder}/{path}"),
        };
        let paths = alternatives(&whole).into_iter();
        let missing = paths.filter(|path| !tree.has(&format!("crates/{path}")));
        wrong.extend(missing.map(|path| format!("names `{path}`, which does not exist")));
    }
}

fn fault(tests: &Tests<'_>, home: &str, row: &Row<'_>, wrong: &mut Vec<String>) {
    for (server, folders) in SERVERS {
        let folders = folders.map(|folder| format!("{home}{folder}"));
        let mut named = quoted(row.cell(server)).peekable();
        if named.peek().is_none() {
            wrong.push(format!("has no test {server}"));
        }
        for name in named {
            let test = name.rsplit("::").next().unwrap_or(name);
            let files = tests.0.get(test).map_or(&[][..], Vec::as_slice);
            if !files
                .iter()
                .any(|file| folders.iter().any(|folder| file.starts_with(folder)))
            {
                wrong.push(format!(
                    "names the test `{name}`, which does not exist {server}"
                ));
            }
        }
    }
}

impl<'a> Tests<'a> {
    fn of(tree: &'a Tree) -> Self {
        let mut tests: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (path, text) in tree.rust() {
            for name in tests_in(text) {
                tests.entry(name).or_default().push(path);
            }
        }
        Self(tests)
    }
}

impl<'a> Row<'a> {
    /// Returns the cell under a header; empty if there is none.
    fn cell(&self, header: &str) -> &'a str {
        let found = self.cells.iter().find(|(name, _)| *name == header);
        found.map_or("", |(_, cell)| cell)
    }
}

/// Returns the names of the tests in a file: functions with an attribute, and those of macros, such as
/// `definitions_of_our_own: "definitions/own";`.
fn tests_in(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut lines = text.lines().map(str::trim_start);
    while let Some(line) = lines.next() {
        if line.starts_with("#[test") || line.starts_with("#[tokio::test") {
            names.extend(lines.by_ref().take(6).find_map(function));
        } else if line.ends_with("\";") {
            let made = line.split_once(": \"").map(|(name, _)| name);
            names.extend(made.filter(|name| !name.contains(' ')));
        }
    }
    names
}

fn function(line: &str) -> Option<&str> {
    let line = line.strip_prefix("async ").unwrap_or(line);
    line.strip_prefix("fn ")?.split(['(', '<']).next()
}

/// Returns the cells of a row of a table.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.strip_prefix('|')?;
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    Some(inner.split('|').map(str::trim).collect())
}

fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TESTS: &str = "#[tokio::test]\n#[should_panic]\nasync fn writes_are_ordered() {}\n";

    fn found(rules: &str) -> Vec<String> {
        let text =
            format!("# Rules\n\n| rule | where | tests | note |\n|---|---|---|---|\n{rules}");
        let files = [
            ("crates/store/RULES.md", text.as_str()),
            ("crates/store/src/memory/mod.rs", ""),
            ("crates/store/src/memory/tree.rs", TESTS),
        ];
        let found = check(&Tree::of(&files));
        found.into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn rules_need_tests_that_exist_or_a_note() {
        assert!(found("| a | | `writes_are_ordered` | |\n| b | | | not needed |").is_empty());
        assert_eq!(
            found("| a | | | |"),
            ["the row has neither a test nor a note"]
        );
        assert_eq!(
            found("| a | | `reads_are_ordered` | |"),
            ["the row names the test `reads_are_ordered`, which does not exist"]
        );
    }

    #[test]
    fn rules_are_listed_once_with_all_their_cells() {
        let row = "| a | | `writes_are_ordered` | |\n";
        assert_eq!(found(&row.repeat(2)), ["the row is listed twice"]);
        assert_eq!(
            found("| a | |"),
            [
                "the row has 2 cells instead of 4",
                "there is no table of rules"
            ]
        );
        assert_eq!(found(""), ["there is no table of rules"]);
    }

    #[test]
    fn files_of_rules_exist() {
        let row = |path: &str| found(&format!("| a | {path} | `writes_are_ordered` | |"));
        assert!(row("`store/src/memory/mod.rs`, `tree.rs`, `store/src/`").is_empty());
        assert_eq!(
            row("`store/src/memory/mod.rs`, `log.rs`"),
            ["the row names `store/src/memory/log.rs`, which does not exist"]
        );
    }

    #[test]
    fn faults_have_tests_on_both_servers() {
        let row = "| cut | `faults::is_cut` | `embedded::is_cut` |";
        let text = format!(
            "| fault | on the server in memory | on the embedded server |\n|---|---|---|\n{row}"
        );
        let test = "#[test]\nfn is_cut() {}\n";
        let files = [
            ("crates/informer/FAULTS.md", text.as_str()),
            ("crates/informer/tests/it/faults/mod.rs", test),
            ("crates/informer/tests/it/embedded/mod.rs", test),
        ];
        assert!(check(&Tree::of(&files)).is_empty());
        let found = check(&Tree::of(&files[..2]));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].what.contains("on the embedded server"));
    }

    #[test]
    fn macros_make_tests() {
        let text = "suites! {\n    of_our_own: \"definitions/own\";\n}\nlet x = \"a: \";\n";
        assert_eq!(tests_in(text), ["of_our_own"]);
    }
}
