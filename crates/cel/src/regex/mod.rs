//! Regular expressions of Go.
//!
//! Patterns are rewritten for the `regex` crate, which is of the same family and matches in the same way: `\d`, `\w`
//! and `\s` are ASCII in Go, `\Q..\E` and octal escapes exist there, set operations in classes do not. Patterns that Go
//! rejects are rejected with its messages.
//!
//! Invariants: matching takes linear time; compiling is bounded by [`MAX_PATTERN_BYTES`] and by the memory of the
//! compiled form.
//!
//! ```
//! use kubewright_cel::regex::Regex;
//!
//! let numbers = Regex::compile(r"\d+")?;
//! assert!(numbers.is_match("a42"));
//! assert_eq!(numbers.find("a42"), Some("42"));
//! assert_eq!(
//!     Regex::compile("(").unwrap_err(),
//!     "error parsing regexp: missing closing ): `(`"
//! );
//! # Ok::<(), String>(())
//! ```

mod cache;
mod class;
mod rewrite;

use std::sync::Arc;

use kubewright_machinery::limits::start_of;
use rewrite::Classes;

/// The longest pattern, in bytes. Go has no such bound; its compiler takes seconds for longer ones.
pub const MAX_PATTERN_BYTES: usize = 64 << 10;

/// The maximum memory of a compiled pattern, in bytes.
const SIZE_LIMIT: usize = 10 << 20;

/// A compiled pattern. Clones share it.
#[derive(Clone, Debug)]
pub struct Regex(Arc<regex::Regex>);

impl Regex {
    /// Compiles a pattern, or returns it as it was compiled before.
    ///
    /// # Errors
    ///
    /// Returns Go's message for an invalid pattern. A pattern that is longer than [`MAX_PATTERN_BYTES`], or whose
    /// compiled form is too large, is one of them.
    pub fn compile(pattern: &str) -> Result<Self, String> {
        if pattern.len() > MAX_PATTERN_BYTES {
            return Err(too_large(pattern));
        }
        if let Some(regex) = cache::get(pattern) {
            return Ok(regex);
        }
        // Checking each class costs as much as compiling it, so that is left to errors, which name the class.
        if let Ok(rewritten) = rewrite::rewrite(pattern, Classes::Assumed) {
            match build(&rewritten.text) {
                Ok(regex) => {
                    let regex = Self(Arc::new(regex));
                    cache::put(pattern, rewritten.weight, &regex);
                    return Ok(regex);
                }
                Err(regex::Error::CompiledTooBig(_)) => return Err(too_large(pattern)),
                Err(_) => {}
            }
        }
        let rewritten = rewrite::rewrite(pattern, Classes::Checked)
            .map_err(|(what, part)| format!("error parsing regexp: {what}: `{part}`"))?;
        match build(&rewritten.text) {
            Ok(regex) => Ok(Self(Arc::new(regex))),
            Err(regex::Error::CompiledTooBig(_)) => Err(too_large(pattern)),
            Err(_) => Err(format!(
                "error parsing regexp: invalid character class range: `{pattern}`"
            )),
        }
    }

    /// Returns whether the pattern matches a part of a text.
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// Returns the first match in a text.
    pub fn find<'t>(&self, text: &'t str) -> Option<&'t str> {
        self.0.find(text).map(|found| found.as_str())
    }

    /// Returns the matches in a text, from left to right.
    pub fn find_all<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        self.0.find_iter(text).map(|found| found.as_str())
    }
}

/// Estimates the number of states of a compiled pattern, without compiling it. Returns 0 for an invalid pattern.
///
/// The time to compile a pattern is proportional to it.
///
/// ```
/// use kubewright_cel::regex::weight;
///
/// assert_eq!(weight("abc"), 3);
/// assert_eq!(weight("(abc){10}"), 30);
/// ```
pub fn weight(pattern: &str) -> usize {
    if pattern.len() > MAX_PATTERN_BYTES {
        return 0;
    }
    rewrite::rewrite(pattern, Classes::Assumed).map_or(0, |rewritten| rewritten.weight)
}

fn build(rewritten: &str) -> Result<regex::Regex, regex::Error> {
    regex::RegexBuilder::new(rewritten)
        .size_limit(SIZE_LIMIT)
        .build()
}

fn too_large(pattern: &str) -> String {
    // The message goes into responses and logs.
    const SHOWN: usize = 1024;
    let shown = start_of(pattern, SHOWN);
    let dots = if shown.len() < pattern.len() {
        "..."
    } else {
        ""
    };
    format!("error parsing regexp: expression too large: `{shown}{dots}`")
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn compile(pattern: &str) -> Result<Regex, String> {
        Regex::compile(pattern)
    }

    #[test]
    fn classes_are_ascii() {
        for (pattern, text, matches) in [
            (r"^\d$", "٣", false),
            (r"^\w+$", "a_9", true),
            (r"^\w$", "é", false),
            (r"^[\d\s]+$", "1 2", true),
            (r"^[^\D]+$", "12", true),
            (r"\bfoo\b", "a foo b", true),
            (r"\Boo", "foo", true),
            (r"^[[:alpha:]_-]+$", "a_-b", true),
            (r"^[a[]$", "[", true),
            (r"^[a&&b]$", "&", true),
            (r"^[]a]$", "]", true),
            (r"^\Qa.b\E$", "a.b", true),
            (r"^\Qa.b\E$", "axb", false),
            (r"^\101$", "A", true),
            (r"^a{,2}$", "a{,2}", true),
            (r"^\pL\p{Lu}$", "aB", true),
            (r"(?i)^É$", "é", true),
            (r"^[\x41-\x43]$", "B", true),
            (r"^[a\-z]$", "-", true),
            ("^[\\w.-]+$", "a.b-c", true),
            ("^a#b c$", "a#b c", true),
            (r"^\<$", "<", true),
        ] {
            let regex = compile(pattern).unwrap_or_else(|why| panic!("{pattern}: {why}"));
            assert_eq!(regex.is_match(text), matches, "{pattern} {text}");
        }
    }

    #[test]
    fn patterns_that_go_rejects_have_its_errors() {
        for (pattern, why) in [
            ("[", "missing closing ]: `[`"),
            ("a(b", "missing closing ): `a(b`"),
            ("a)b", "unexpected ): `a)b`"),
            ("*a", "missing argument to repetition operator: `*`"),
            ("a**", "invalid nested repetition operator: `**`"),
            ("a{1001}", "invalid repeat count: `{1001}`"),
            ("a{3,2}", "invalid repeat count: `{3,2}`"),
            (r"\q", r"invalid escape sequence: `\q`"),
            ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
            ("[b-a]", "invalid character class range: `b-a`"),
            (r"a\", "trailing backslash at end of expression: ``"),
            (r"\pX{foo}", r"invalid character class range: `\pX`"),
        ] {
            assert_eq!(
                compile(pattern).err(),
                Some(format!("error parsing regexp: {why}")),
                "{pattern}"
            );
        }
    }

    #[test]
    fn hostile_patterns_are_answered_quickly() {
        let start = Instant::now();
        let words = |n: usize| {
            (0..n)
                .map(|i| format!("w{i}"))
                .collect::<Vec<_>>()
                .join("|")
        };
        for (pattern, too_large) in [
            (words(100_000), true),
            (words(3_000), false),
            ("x".repeat(1 << 20), true),
            ("[[:".repeat(20_000), false),
            ("{".repeat(60_000), false),
            (r"\pL".repeat(20_000), true),
            (r"\pL".repeat(20_000) + r"\p{No such}", false),
            (".{1000}".repeat(900), true),
            ("(".repeat(60_000), false),
            (r"\Qa".repeat(20_000), false),
        ] {
            let error = compile(&pattern).err().unwrap_or_default();
            assert!(error.len() < 1 << 17);
            assert_eq!(
                error.contains("expression too large"),
                too_large,
                "{}: {}",
                &pattern[..10],
                &error[..error.len().min(80)]
            );
        }
        assert!(start.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn weights_count_repetitions() {
        for (pattern, expected) in [
            ("", 0),
            ("a|b", 2),
            ("a{5}", 5),
            ("(a{5}b){2,3}", 18),
            ("(a(bc){2}){10}d", 51),
            ("(", 0),
        ] {
            assert_eq!(weight(pattern), expected, "{pattern}");
        }
        assert!(weight(".{1000}") >= 1000 && weight(r"\pL") >= 100);
    }
}
