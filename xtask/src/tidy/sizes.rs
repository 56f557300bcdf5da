//! Files stay short: over 400 lines is a warning, over 600 an error, generated files aside.
//!
//! `xtask/tidy-allow.toml` lists files that may be longer, each with a reason: `"path" = "reason"`. An entry whose file
//! has become short, or is gone, is an error, so the list can only shrink.

use super::Finding;
use super::tree::{Tree, is_generated};

const WARN: usize = 400;
const FAIL: usize = 600;

const ALLOWED: &str = "xtask/tidy-allow.toml";

struct Entry<'a> {
    line: usize,
    path: &'a str,
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let allowed = entries(
        tree.files.get(ALLOWED).map_or("", String::as_str),
        &mut findings,
    );
    for (path, text) in tree.rust().filter(|(path, _)| !is_generated(path)) {
        let lines = text.lines().count();
        let listed = allowed.iter().any(|entry| entry.path == path);
        if lines > FAIL && !listed {
            let what = format!("{lines} lines, {FAIL} at most: split it by what it does");
            findings.push(Finding::error(path, FAIL + 1, what));
        } else if lines > WARN && lines <= FAIL {
            let what = format!("{lines} lines, more than {WARN}: is it one idea still?");
            findings.push(Finding::warning(path, WARN + 1, what));
        }
    }
    for Entry { line, path } in allowed {
        let lines = tree.files.get(path).map_or(0, |text| text.lines().count());
        if lines <= FAIL {
            let what = format!("`{path}` has {lines} lines: take it off the list");
            findings.push(Finding::error(ALLOWED, line, what));
        }
    }
    findings
}

fn entries<'a>(text: &'a str, findings: &mut Vec<Finding>) -> Vec<Entry<'a>> {
    let mut entries = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let quoted = |s: &'a str| s.trim().strip_prefix('"')?.strip_suffix('"');
        let entry = line
            .split_once('=')
            .and_then(|(path, why)| Some((quoted(path)?, quoted(why)?)));
        match entry {
            Some((path, reason)) if !reason.trim().is_empty() => {
                entries.push(Entry { line: n + 1, path });
            }
            _ => findings.push(Finding::error(
                ALLOWED,
                n + 1,
                "not an entry: write `\"path\" = \"reason\"`",
            )),
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::super::Severity;
    use super::*;

    fn found(path: &str, lines: usize, allowed: &str) -> Vec<(String, Severity)> {
        let text = "x\n".repeat(lines);
        let tree = Tree::of(&[(path, text.as_str()), (ALLOWED, allowed)]);
        check(&tree)
            .into_iter()
            .map(|finding| (finding.path, finding.severity))
            .collect()
    }

    #[test]
    fn long_files_are_found() {
        let path = "crates/store/src/lib.rs";
        assert_eq!(found(path, 400, ""), []);
        assert_eq!(found(path, 401, ""), [(path.to_owned(), Severity::Warning)]);
        assert_eq!(found(path, 601, ""), [(path.to_owned(), Severity::Error)]);
        assert_eq!(found("crates/catalog/src/generated/x.rs", 601, ""), []);
    }

    #[test]
    fn the_list_allows_with_a_reason_and_only_what_needs_it() {
        let path = "crates/store/src/lib.rs";
        let entry = "# long files\n\"crates/store/src/lib.rs\" = \"one table\"\n";
        assert_eq!(found(path, 601, entry), []);
        assert_eq!(
            found(path, 600, entry).last(),
            Some(&(ALLOWED.to_owned(), Severity::Error))
        );
        let no_reason = "\"crates/store/src/lib.rs\" = \"\"";
        assert_eq!(
            found(path, 10, no_reason),
            [(ALLOWED.to_owned(), Severity::Error)]
        );
    }
}
