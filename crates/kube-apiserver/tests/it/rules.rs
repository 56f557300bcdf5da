//! The table of rules in `RULES.md` is true: every test that it names is there.

use std::{collections::BTreeSet, fs, path::Path};

#[test]
fn every_test_that_the_rules_name_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let rules = fs::read_to_string(root.join("RULES.md")).expect("the rules");
    let mut tests = BTreeSet::new();
    for folder in [
        "kube-apiserver",
        "testing",
        "apiserver",
        "custom-kinds",
        "builtins",
        "cel",
        "schema",
        "resource",
        "cli",
        "rbac",
        "builtin-controllers",
    ] {
        collect(&root.join("..").join(folder), &mut tests);
    }
    collect(&root.join("../../conformance/tests"), &mut tests);
    let rows = rules.lines().filter(|line| line.starts_with("| "));
    let mut named = 0;
    for row in rows.skip(1) {
        let cell = row.split('|').nth(3).unwrap_or_default();
        for test in cell.split('`').skip(1).step_by(2) {
            named += 1;
            assert!(tests.contains(test), "no test is called {test}: {row}");
        }
    }
    assert!(named > 50, "the table was not read: {named}");
}

fn collect(folder: &Path, tests: &mut BTreeSet<String>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, tests);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let names = text.split("fn ").skip(1);
            tests.extend(names.filter_map(|rest| Some(rest.split(['(', '<']).next()?.to_owned())));
            // Tests that a macro makes: `name: "what it reads";`
            let made = text
                .lines()
                .filter_map(|line| line.trim().split_once(": \""));
            tests.extend(made.map(|(name, _)| name.to_owned()));
        }
    }
}
