//! Regular expressions of Go.
//!
//! Patterns are rewritten for the `regex` crate, which is of the same family and matches in the same way: `\d`, `\w`
//! and `\s` are ASCII in Go, `\Q..\E` and octal escapes exist there, set operations in classes do not. Patterns that Go
//! rejects are rejected with its messages.
//!
//! ```
//! use kubewright_cel::regex;
//!
//! assert!(regex::compile(r"^\d+$")?.is_match("42"));
//! assert_eq!(
//!     regex::compile("(").unwrap_err(),
//!     "error parsing regexp: missing closing ): `(`"
//! );
//! # Ok::<(), String>(())
//! ```

mod class;
mod rewrite;

pub use regex::Regex;

/// Compiles a pattern.
///
/// # Errors
///
/// Returns Go's message for an invalid pattern.
pub fn compile(pattern: &str) -> Result<Regex, String> {
    let rewritten = rewrite::rewrite(pattern)
        .map_err(|(what, part)| format!("error parsing regexp: {what}: `{part}`"))?;
    regex::RegexBuilder::new(&rewritten)
        .size_limit(SIZE_LIMIT)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => {
                format!("error parsing regexp: expression too large: `{pattern}`")
            }
            _ => format!("error parsing regexp: invalid character class range: `{pattern}`"),
        })
}

/// The maximum memory of a compiled pattern.
const SIZE_LIMIT: usize = 10 << 20;

#[cfg(test)]
mod tests {
    use super::compile;

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
    fn what_go_refuses_is_refused_in_its_words() {
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
}
