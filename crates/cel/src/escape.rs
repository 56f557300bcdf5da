//! Escapes property names as CEL identifiers: `a-b` is written `self.a__dash__b`, `namespace` is written
//! `self.__namespace__`.
//!
//! [`escape`] and [`unescape`] are inverse to each other on every name that can be escaped.

/// The reserved words, which cannot be names of fields.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Returns the identifier that a rule uses for the property `name`; `None` if it cannot be escaped (a leading digit,
/// a `$`).
///
/// ```
/// use kubewright_cel::{escape, unescape};
///
/// assert_eq!(escape("x.y/z").as_deref(), Some("x__dot__y__slash__z"));
/// assert_eq!(unescape("x__dot__y").as_deref(), Some("x.y"));
/// ```
pub fn escape(name: &str) -> Option<String> {
    let first = *name.as_bytes().first()?;
    if first.is_ascii_digit() {
        return None;
    }
    if is_reserved(name) {
        return Some(format!("__{name}__"));
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("__") {
            out.push_str("__underscores__");
            rest = after;
            continue;
        }
        match c {
            '.' => out.push_str("__dot__"),
            '-' => out.push_str("__dash__"),
            '/' => out.push_str("__slash__"),
            c if c.is_ascii_alphanumeric() || c == '_' => out.push(c),
            _ => return None,
        }
        rest = &rest[c.len_utf8()..];
    }
    Some(out)
}

/// Returns the property that an identifier represents; `None` if it holds an unknown escape.
///
/// ```
/// use kubewright_cel::{escape, unescape};
///
/// let identifier = escape("a-b").unwrap();
/// assert_eq!(identifier, "a__dash__b");
/// assert_eq!(unescape(&identifier).as_deref(), Some("a-b"));
/// ```
pub fn unescape(ident: &str) -> Option<String> {
    if !ident.contains("__") {
        return Some(ident.to_owned());
    }
    let mut out = String::with_capacity(ident.len());
    let mut rest = ident;
    while let Some(at) = rest.find("__") {
        let inner = &rest[at + 2..];
        // An escape is two underscores, at least one other character, two underscores.
        let length = inner.find('_').unwrap_or(inner.len());
        let word = &inner[..length];
        if word.is_empty() || !inner[length..].starts_with("__") {
            out.push_str(&rest[..at + 1]);
            rest = &rest[at + 1..];
            continue;
        }
        out.push_str(&rest[..at]);
        match word {
            "underscores" => out.push_str("__"),
            "dot" => out.push('.'),
            "dash" => out.push('-'),
            "slash" => out.push('/'),
            word if is_reserved(word) && word.len() + 4 == ident.len() => out.push_str(word),
            _ => return None,
        }
        rest = &inner[length + 2..];
    }
    out.push_str(rest);
    Some(out)
}

/// Reports whether `name` is a reserved word.
///
/// ```
/// use kubewright_cel::is_reserved;
///
/// assert!(is_reserved("namespace"));
/// assert!(!is_reserved("name"));
/// ```
pub fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_escape_and_come_back() {
        for (name, escaped) in [
            ("plain", "plain"),
            ("_ok", "_ok"),
            ("a-b", "a__dash__b"),
            ("a.b/c", "a__dot__b__slash__c"),
            ("x__y", "x__underscores__y"),
            ("namespace", "__namespace__"),
            ("a___b", "a__underscores___b"),
        ] {
            assert_eq!(escape(name).as_deref(), Some(escaped));
            assert_eq!(unescape(escaped).as_deref(), Some(name), "{escaped}");
        }
    }

    #[test]
    fn names_no_rule_can_say_have_no_identifier() {
        for name in ["", "1a", "a$", "é"] {
            assert_eq!(escape(name), None, "{name}");
        }
        assert_eq!(unescape("__nope__"), None);
        assert_eq!(unescape("a__if__"), None);
    }
}
