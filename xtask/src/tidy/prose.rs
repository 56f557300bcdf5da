//! Words: documentation begins with a verb or a noun, and says things in the terms of the field.
//!
//! Checked are the first lines of doc comments and of scenarios, words of a glossary that must not come back, and identifiers of rules in
//! documents that readers do not have.

use super::Finding;
use super::tree::{Tree, is_generated};

/// Words that open a clause without a main clause, whatever follows.
const CLAUSES: [&str; 7] = ["What", "Who", "Whom", "Whose", "How", "Why", "Which"];

/// Words that open a clause which needs a main clause after a comma.
const CONDITIONS: [&str; 3] = ["Where", "When", "If"];

/// Terms that are gone, and what to write instead. One that begins with a capital is also found as a part of a name:
/// `Refusal` in `ResizeRefusal`.
const GONE: [(&str, &str); 31] = [
    ("Judge", "Validator"),
    ("judge", "validate"),
    ("judged", "validated"),
    ("judges", "validates"),
    ("Judgement", "Validity, Decision or Outcome"),
    ("Refusal", "Error or Rejection"),
    ("of_refusal", "of_denial"),
    ("seen_as", "convert_to"),
    ("see_as", "convert_to"),
    ("with_declared", "with_custom"),
    ("Companion", "decoded form"),
    ("companion", "decoded form"),
    ("Amended", "Patched"),
    ("amended", "patched"),
    ("Happening", "Event"),
    ("happening", "event"),
    ("upkeep", "maintenance"),
    ("Passage", "Step"),
    ("passage", "position, range or step"),
    ("fares", "status, state or snapshot"),
    ("said otherwise", "defaults to"),
    ("told otherwise", "by default"),
    ("is told", "is notified, or receives"),
    ("are told of", "are notified of"),
    ("was told", "was notified, or received"),
    ("were told", "were notified, or received"),
    ("told of", "notified of, or reported"),
    ("tells of", "reports"),
    ("ControlPlane", "KubeApiServer or Cluster"),
    ("doings", "actions or effects"),
    ("overtaking", "conflicts"),
];

/// The file that lists the words, and the one that says how they changed.
const EXEMPT: [&str; 2] = ["xtask/src/tidy/prose.rs", "CHANGELOG.md"];

/// Prefixes of standards and algorithms that look like identifiers of rules.
const NOT_RULES: [&str; 12] = [
    "UTF", "SHA", "RFC", "ISO", "AES", "CVE", "TLS", "KEP", "MD", "HTTP", "IEEE", "EN",
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in &tree.files {
        let exempt = EXEMPT.contains(&path.as_str()) || is_generated(path) || is_data(path);
        if exempt {
            continue;
        }
        // What a template writes is a part of other people's projects.
        if path.ends_with(".rs") || path.ends_with(".rs.tmpl") {
            bare_clauses(path, text, &mut findings);
        }
        title(path, text, &mut findings);
        if [".rs", ".md", ".tmpl"].iter().any(|e| path.ends_with(e)) {
            gone(path, text, &mut findings);
            rule_identifiers(path, text, &mut findings);
        }
    }
    findings
}

/// Recorded answers and third-party definitions are not our words.
fn is_data(path: &str) -> bool {
    [
        "/golden/",
        "/recorded/",
        "/testdata/",
        "conformance/definitions/",
    ]
    .iter()
    .any(|part| path.contains(part))
}

fn bare_clauses(path: &str, text: &str, findings: &mut Vec<Finding>) {
    let lines: Vec<&str> = text.lines().collect();
    let mut inside = false;
    for (n, line) in lines.iter().enumerate() {
        let doc = doc(line);
        let first = doc.filter(|_| !inside);
        inside = doc.is_some();
        let bare = |text| is_bare_clause(text) || is_bare_whether(text, &lines[n + 1..]);
        if first.is_some_and(bare) {
            let what = "opens with a bare clause: begin with a verb, or name the thing";
            findings.push(Finding::error(path, n + 1, what));
        }
    }
}

/// Checks the title of a scenario: the first comment of a kubectl scenario, and `about` in one of the conformance suite.
fn title(path: &str, text: &str, findings: &mut Vec<Finding>) {
    let mark = match path {
        path if path.starts_with("conformance/kubectl/") => "# ",
        path if path.starts_with("conformance/scenarios/") => "about: ",
        _ => return,
    };
    let first = text.lines().next().and_then(|line| line.strip_prefix(mark));
    match first.map(|title| title.trim_matches('"')) {
        None => {
            let what = format!("no title: begin with `{}`", mark.trim_end());
            findings.push(Finding::error(path, 1, what));
        }
        Some(title) if is_bare_clause(title) => {
            let what = "opens with a bare clause: begin with a verb, or name the thing";
            findings.push(Finding::error(path, 1, what));
        }
        Some(_) => {}
    }
}

/// Reports whether a function is documented by a clause with "whether" instead of "Returns whether" or "Reports whether".
///
/// For a field, "Whether" is the usual beginning.
fn is_bare_whether(text: &str, after: &[&str]) -> bool {
    let item = after
        .iter()
        .map(|line| line.trim_start())
        .find(|line| !line.starts_with("//") && !line.starts_with("#["));
    text.starts_with("Whether ") && item.is_some_and(|line| line.contains("fn "))
}

/// Returns the text of a line of a doc comment.
fn doc(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line
        .strip_prefix("///")
        .or_else(|| line.strip_prefix("//!"))?;
    (!text.starts_with('/')).then_some(text.trim_start())
}

fn is_bare_clause(text: &str) -> bool {
    let word = text.split(' ').next().unwrap_or_default();
    let sentence = text.split(". ").next().unwrap_or_default();
    if sentence.contains('?') {
        return false;
    }
    CLAUSES.contains(&word) || CONDITIONS.contains(&word) && !sentence.contains(',')
}

fn gone(path: &str, text: &str, findings: &mut Vec<Finding>) {
    for (n, line) in text.lines().enumerate() {
        for (word, instead) in GONE {
            if has_word(line, word) {
                let what = format!("`{word}` is no word of ours any more: write {instead}");
                findings.push(Finding::error(path, n + 1, what));
            }
        }
    }
}

/// Reports whether a text contains a word. One that begins with a capital may be a part of a name: `Refusal` in `ResizeRefusal`.
fn has_word(line: &str, word: &str) -> bool {
    let is_camel = word.starts_with(char::is_uppercase);
    let letter = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let begins = before.is_none_or(|c| !letter(c) || is_camel && c.is_lowercase());
        let ends = after.is_none_or(|c| !letter(c) || is_camel && c.is_uppercase());
        begins && ends
    })
}

fn rule_identifiers(path: &str, text: &str, findings: &mut Vec<Finding>) {
    for (n, line) in text.lines().enumerate() {
        if let Some(identifier) = rule_identifier(line) {
            let what =
                format!("`{identifier}` names a rule that readers cannot look up: say the rule");
            findings.push(Finding::error(path, n + 1, what));
        }
    }
}

/// Finds two to four capitals, a hyphen and a number that stand alone: `WQ-23`.
fn rule_identifier(line: &str) -> Option<&str> {
    let name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == '.' || c == '/';
    line.split(|c| !name(c)).find(|word| {
        word.split_once('-').is_some_and(|(letters, number)| {
            (2..=4).contains(&letters.len())
                && letters.chars().all(|c| c.is_ascii_uppercase())
                && !NOT_RULES.contains(&letters)
                && (1..=2).contains(&number.len())
                && number.chars().all(|c| c.is_ascii_digit())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let found = check(&Tree::of(&[(path, text)]));
        found.into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_doc_comment_does_not_open_with_a_bare_clause() {
        let path = "crates/store/src/lib.rs";
        assert_eq!(lines(path, "/// What is the case.\nx"), [1]);
        assert_eq!(lines(path, "//! Who may what.\n"), [1]);
        assert_eq!(lines(path, "/// Where it listens.\n"), [1]);
        assert_eq!(
            lines(path, "/// Whether it is open.\n#[must_use]\npub fn open()"),
            [1]
        );
        assert!(lines(path, "/// Whether it is open.\nopen: bool,").is_empty());
        assert!(lines(path, "/// Where a key is missing, returns `None`.\n").is_empty());
        assert!(lines(path, "/// Returns what was stored.\n").is_empty());
        assert!(
            lines(
                path,
                "/// A store.\n/// What it holds is lost at the end.\n"
            )
            .is_empty()
        );
        assert!(lines(path, "// What is not a doc comment\n").is_empty());
    }

    #[test]
    fn a_scenario_has_a_title() {
        let kubectl = "conformance/kubectl/a.txt";
        assert_eq!(lines(kubectl, "# Who may what.\n$ kubectl"), [1]);
        assert_eq!(lines(kubectl, "$ kubectl"), [1]);
        assert!(lines(kubectl, "# Impersonation.\n").is_empty());
        let about = "conformance/scenarios/a/b.yaml";
        assert_eq!(lines(about, "about: \"Which rules: these.\"\n"), [1]);
        assert!(lines(about, "about: Roles.\n").is_empty());
    }

    #[test]
    fn words_that_are_gone_do_not_come_back() {
        let path = "crates/store/src/lib.rs";
        assert_eq!(lines(path, "struct Judge;\nstruct Judged;"), [1]);
        assert_eq!(lines("README.md", "five unless said otherwise"), [1]);
        assert_eq!(lines(path, "enum ResizeRefusal {}\nRefusals"), [1]);
        let template = "crates/scaffold/templates/api/types.rs.tmpl";
        assert_eq!(lines(template, "/// What is the case.\n"), [1]);
        assert_eq!(lines(template, "// is told\n"), [1]);
        assert!(lines("CHANGELOG.md", "`Judge` is `Validator` now").is_empty());
    }

    #[test]
    fn rules_are_said_not_numbered() {
        let path = "crates/store/src/lib.rs";
        assert_eq!(lines(path, "// WQ-23: no key twice"), [1]);
        assert_eq!(lines("crates/store/RULES.md", "| LE-10 | x |"), [1]);
        for fine in ["// UTF-8", "// SHA-256", "x-AB-12", "TLS-1", "a/CR-1.json"] {
            assert!(lines(path, fine).is_empty(), "{fine}");
        }
    }
}
