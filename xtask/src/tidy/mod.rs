//! `cargo xtask tidy`: checks the rules of the workspace that the compiler does not know.
//!
//! | module | rule |
//! |---|---|
//! | `layers` | crates depend on lower layers only |
//! | `words` | what code may not say, where: I/O and clocks in layer 0, printing in libraries, leftovers anywhere |
//! | `sizes` | files stay short |
//! | `docs` | every file says what it is, every crate shows an example |
//! | `modules` | a module with children is a folder with a `mod.rs` |
//! | `prose` | doc comments begin with a verb or a noun; words that are gone do not come back |
//! | `maps` | the pages that describe the crates name all of them |
//! | `rules` | every rule in a `RULES.md` has tests, and all that it names exists |
//! | `manifests` | every crate takes edition, license and lints from the workspace |
//! | `machine_paths` | nothing names a path on somebody's machine |
//!
//! A check is a function from a [`Tree`] in memory to [`Finding`]s, so that each can be tested on a tree of three lines.

mod docs;
mod layers;
mod machine_paths;
mod manifests;
mod maps;
mod modules;
mod prose;
mod rules;
mod rust_text;
mod sizes;
mod tree;
mod unused;
mod words;

use std::fmt;
use std::path::Path;

use anyhow::{Result, bail};

pub(crate) use tree::Tree;
pub(crate) use unused::words;

/// A violation of a rule, with the way to fix it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    line: usize,
    what: String,
    severity: Severity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Severity {
    Warning,
    Error,
}

/// Runs the task.
pub(crate) fn run(args: &[String]) -> Result<()> {
    if !args.is_empty() {
        bail!("unknown arguments {args:?}");
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let findings = check(&Tree::load(&root)?);
    for finding in &findings {
        println!("{finding}");
    }
    match findings
        .iter()
        .filter(|f| f.severity == Severity::Error)
        .count()
    {
        0 => Ok(()),
        1 => bail!("1 finding"),
        n => bail!("{n} findings"),
    }
}

/// Runs all checks and returns their findings, sorted by path.
fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = [
        layers::check(tree),
        words::check(tree),
        sizes::check(tree),
        docs::check(tree),
        manifests::check(tree),
        maps::check(tree),
        modules::check(tree),
        prose::check(tree),
        rules::check(tree),
        machine_paths::check(tree),
        unused::check(tree),
    ]
    .concat();
    findings.sort();
    findings
}

impl Finding {
    fn error(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            what: what.into(),
            severity: Severity::Error,
        }
    }

    fn warning(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(path, line, what)
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            line,
            what,
            severity,
        } = self;
        let prefix = if *severity == Severity::Warning {
            "warning: "
        } else {
            ""
        };
        write!(f, "{prefix}{path}:{line}: {what}")
    }
}
