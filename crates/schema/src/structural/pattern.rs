//! Patterns in the syntax of Go's `regexp`, which is RE2's. Both engines are linear, and what they compile to is bounded.

use std::{fmt, sync::OnceLock};

use kubewright_cel::regex::Regex;

/// A pattern, compiled when it is first needed.
///
/// ```
/// use kubewright_schema::structural::Pattern;
///
/// let pattern = Pattern::new("^[a-z]+$");
/// assert!(pattern.matches("abc"));
/// assert!(Pattern::check("(").is_err());
/// ```
pub struct Pattern {
    text: Box<str>,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// Creates a pattern, which is compiled when it is first needed.
    pub fn new(text: &str) -> Self {
        Self {
            text: text.into(),
            compiled: OnceLock::new(),
        }
    }

    /// Returns the error of an invalid pattern, worded as in Go.
    ///
    /// # Errors
    ///
    /// Returns Go's message for an invalid pattern.
    pub fn check(text: &str) -> Result<(), String> {
        Regex::compile(text).map(|_| ())
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Reports whether the pattern matches a part of a text. An invalid pattern never matches.
    pub fn matches(&self, text: &str) -> bool {
        let compiled = self
            .compiled
            .get_or_init(|| Regex::compile(&self.text).ok());
        compiled.as_ref().is_some_and(|regex| regex.is_match(text))
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pattern").field(&self.text).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern: &str, text: &str) -> bool {
        Pattern::check(pattern).unwrap();
        Pattern::new(pattern).matches(text)
    }

    #[test]
    fn patterns_mean_what_they_mean_in_go() {
        assert!(found(r"^a[0-9]+$", "a17"));
        assert!(found("b", "abc"));
        assert!(!found(r"^\d+$", "٣"));
        assert!(!found(r"^\w+$", "ä"));
        assert!(found(r"^[\w.-]+$", "a.b-c_1"));
        assert!(found(r"^[[]$", "["));
        assert!(found(r"^[a&&b]+$", "a&b"));
        assert!(found(r"^[^\s]+$", "ä"));
        assert!(found(r"^\pL+$", "äöü"));
        assert!(found(r"^[[:alpha:]]+\z", "abc"));
        assert!(found(r"\Qa.b\E", "xa.by"));
        assert!(found(r"^(?i:ab)(?P<n>c)$", "ABc"));
        assert!(found("^.$", "ä"));
        assert!(found(r"^a{,3}$", "a{,3}"));
        assert!(found("^]$", "]"));
        assert!(found(
            "^((a{10}){10}){10}b{1000}$",
            &("a".repeat(1000) + &"b".repeat(1000))
        ));
        assert!(found(
            "^(a{25}b){40}(a{1000}){0}$",
            &("a".repeat(25) + "b").repeat(40)
        ));
    }

    #[test]
    fn errors_are_those_of_go() {
        for (pattern, text) in [
            ("(a", "missing closing ): `(a`"),
            ("a)", "unexpected ): `a)`"),
            ("[a", "missing closing ]: `[a`"),
            ("*a", "missing argument to repetition operator: `*`"),
            ("a**", "invalid nested repetition operator: `**`"),
            ("a{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
            ("a{1001}", "invalid repeat count: `{1001}`"),
            ("(a{40}b|c){26}", "invalid repeat count: `{26}`"),
            ("((a{9}){9}?){13,}?", "invalid repeat count: `{13,}?`"),
            (r"((\pL{900}){900}){900}", "invalid repeat count: `{900}`"),
            ("a{3,2}", "invalid repeat count: `{3,2}`"),
            ("[z-a]", "invalid character class range: `z-a`"),
            (r"\", "trailing backslash at end of expression: ``"),
            (r"\y", r"invalid escape sequence: `\y`"),
            ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
            ("(?<!a)", "invalid or unsupported Perl syntax: `(?<`"),
            (r"(a)\1", r"invalid escape sequence: `\1`"),
        ] {
            let error = Pattern::check(pattern).unwrap_err();
            assert_eq!(error, format!("error parsing regexp: {text}"));
        }
    }

    #[test]
    fn a_pattern_that_explodes_is_refused() {
        assert!(Pattern::check(r"(\pL{500}){500}").is_err());
        assert!(Pattern::check(&r"\pL{1000}".repeat(50)).is_err());
        assert!(!found(r"^(a+)+$", &format!("{}b", "a".repeat(10_000))));
    }
}
