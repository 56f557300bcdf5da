//! Words that code must not contain: I/O and clocks in the lowest layer, the terminal and the environment in libraries, leftovers
//! and catch-all modules anywhere.

use super::Finding;
use super::layers::is_lowest;
use super::rust_text::{code, lines_with, lines_with_grouped_std, without_tests};
use super::tree::{Tree, crate_of, is_shipped};

/// Names that layer 0 must not use.
const OUTSIDE_WORLD: [&str; 8] = [
    "tokio",
    "hyper",
    "std::fs",
    "std::env",
    "std::net",
    "SystemTime::now",
    "Instant::now",
    "Timestamp::now",
];

/// Names that only a program may use.
const PROGRAMS_ONLY: [&str; 9] = [
    "println!",
    "eprintln!",
    "print!",
    "eprint!",
    "stdout()",
    "stderr()",
    "process::exit",
    "exit()",
    "std::env",
];

/// The crate that is a program.
const PROGRAM: &str = "cli";

/// The file that is the body of other people's programs: the `main` of an operator.
const FRAME: &str = "crates/operator/src/program/mod.rs";

const LEFTOVERS: [&str; 3] = ["todo!", "unimplemented!", "dbg!"];

/// Names that say nothing about what is inside.
const CATCH_ALLS: [&str; 4] = ["utils", "helpers", "common", "misc"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.rust() {
        let code = code(text);
        leftovers(path, &code, &mut findings);
        catch_alls(path, &code, &mut findings);
        let Some(name) = crate_of(path).filter(|_| is_shipped(path)) else {
            continue;
        };
        let code = without_tests(&code);
        if is_lowest(name) {
            for word in OUTSIDE_WORLD {
                let what = format!("`{word}` in layer 0: {}", way_out(word));
                forbid(path, code, word, &what, &mut findings);
            }
        }
        if name != PROGRAM && path != FRAME {
            for word in PROGRAMS_ONLY {
                if is_lowest(name) && OUTSIDE_WORLD.contains(&word) {
                    continue;
                }
                let what = format!(
                    "`{word}` in a library: return or trace it, and leave the rest to `crates/{PROGRAM}`"
                );
                forbid(path, code, word, &what, &mut findings);
            }
        }
    }
    findings
}

fn way_out(word: &str) -> &'static str {
    match word {
        "std::net" => "addresses are in `core::net`, sockets belong to a higher layer",
        _ => "take it as an argument, or move the code to a higher layer",
    }
}

fn forbid(path: &str, code: &str, word: &str, what: &str, findings: &mut Vec<Finding>) {
    // Constants of the compiler, not of the environment.
    let code = &code.replace("std::env::consts", "");
    let mut lines = lines_with(code, word);
    if let Some(module) = word.strip_prefix("std::") {
        lines.extend(lines_with_grouped_std(code, module));
    }
    findings.extend(
        lines
            .into_iter()
            .map(|line| Finding::error(path, line, what)),
    );
}

fn leftovers(path: &str, code: &str, findings: &mut Vec<Finding>) {
    for word in LEFTOVERS {
        for line in lines_with(code, word) {
            let what = format!("`{word}` is left over: finish the code, or return an error");
            findings.push(Finding::error(path, line, what));
        }
    }
    for line in lines_with(code, "#[ignore]") {
        let what = "`#[ignore]` without a reason: write `#[ignore = \"why\"]`, or mend the test";
        findings.push(Finding::error(path, line, what));
    }
}

fn catch_alls(path: &str, code: &str, findings: &mut Vec<Finding>) {
    let what = |name| format!("module `{name}` says nothing: name it after what it holds");
    for name in CATCH_ALLS {
        if path
            .trim_end_matches(".rs")
            .split('/')
            .any(|part| part == name)
        {
            findings.push(Finding::error(path, 1, what(name)));
        }
        // A module in a file of its own is found by its path.
        for line in lines_with(code, &format!("mod {name} {{")) {
            findings.push(Finding::error(path, line, what(name)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)]))
            .iter()
            .map(|finding| finding.line)
            .collect()
    }

    #[test]
    fn layer_0_knows_no_world() {
        let path = "crates/merge/src/lib.rs";
        assert_eq!(
            lines(path, "use tokio::sync;\nlet now = Instant::now();"),
            [1, 2]
        );
        assert_eq!(lines(path, "use std::{fs, io};"), [1]);
        assert_eq!(lines(path, "std::env::var(x)"), [1]);
        assert!(lines(path, "// tokio\nlet tokio_like = \"std::fs\";").is_empty());
        assert!(lines("crates/store/src/lib.rs", "use tokio::sync;").is_empty());
    }

    #[test]
    fn tests_of_layer_0_may_do_as_they_please() {
        assert!(lines("crates/merge/src/tests.rs", "use std::fs;").is_empty());
        assert!(lines("crates/merge/tests/it/main.rs", "println!()").is_empty());
        let text = "fn f() {}\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}";
        assert!(lines("crates/merge/src/lib.rs", text).is_empty());
    }

    #[test]
    fn only_programs_print() {
        assert_eq!(
            lines("crates/store/src/lib.rs", "fn f() {\n    eprintln!(x);\n}"),
            [2]
        );
        assert_eq!(lines("crates/store/src/lib.rs", "use std::env;"), [1]);
        assert_eq!(
            lines("crates/store/src/lib.rs", "io::stderr().lock();"),
            [1]
        );
        assert_eq!(lines("crates/store/src/lib.rs", "error.exit()"), [1]);
        assert!(lines(FRAME, "error.exit()").is_empty());
        assert!(lines("crates/cli/src/main.rs", "println!(x)").is_empty());
        assert!(lines("xtask/src/main.rs", "println!(x)").is_empty());
        assert!(lines("crates/store/src/lib.rs", "let x = env!(y);").is_empty());
        assert!(lines("crates/store/src/lib.rs", "std::env::consts::OS").is_empty());
    }

    #[test]
    fn nothing_is_left_over() {
        assert_eq!(
            lines("xtask/src/main.rs", "todo!()\nunimplemented!()\ndbg!(x)"),
            [1, 2, 3]
        );
        assert_eq!(
            lines("crates/store/tests/it/main.rs", "#[ignore]\nfn f() {}"),
            [1]
        );
        assert!(lines("crates/store/tests/it/main.rs", "#[ignore = \"slow\"]").is_empty());
    }

    #[test]
    fn modules_have_names() {
        assert_eq!(lines("crates/store/src/utils.rs", ""), [1]);
        assert_eq!(lines("crates/store/src/common/x.rs", ""), [1]);
        assert_eq!(lines("crates/store/src/lib.rs", "\nmod helpers {\n}"), [2]);
        assert!(lines("crates/store/src/lib.rs", "mod commonality {\n}").is_empty());
    }
}
