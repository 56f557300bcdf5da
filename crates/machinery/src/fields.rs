//! Field selectors: `metadata.name=web,status.phase!=Running`.
//!
//! A selector is a list of terms, all of which must hold. The fields that a resource supports are checked elsewhere.

use std::{borrow::Cow, fmt};

use crate::labels::SelectorError;

/// A condition on fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector {
    terms: Vec<FieldTerm>,
}

/// One condition on one field.
///
/// ```
/// use kubewright_machinery::fields::{FieldOperator, FieldSelector, FieldTerm};
///
/// let term = FieldTerm {
///     field: "spec.host".into(),
///     operator: FieldOperator::NotEquals,
///     value: "a,b".into(),
/// };
/// assert_eq!(term.to_string(), r"spec.host!=a\,b");
/// assert!(FieldSelector::new(vec![term]).matches(|_| Some("c".into())));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldTerm {
    /// `metadata.name`
    pub field: String,
    /// The relation between field and value.
    pub operator: FieldOperator,
    /// The value, without escapes.
    pub value: String,
}

/// The relation between a field and the value of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldOperator {
    /// `=` or `==`
    Equals,
    /// `!=`
    NotEquals,
}

/// Escapes `\`, `,` and `=` in a value, so that it can be part of a selector.
pub fn escape_value(value: &str) -> Cow<'_, str> {
    if !value.contains(['\\', ',', '=']) {
        return value.into();
    }
    let mut out = String::with_capacity(value.len() + 2);
    for c in value.chars() {
        if matches!(c, '\\' | ',' | '=') {
            out.push('\\');
        }
        out.push(c);
    }
    out.into()
}

/// Unescapes a value of a selector.
///
/// # Errors
///
/// Returns an error for an incomplete or unknown escape.
pub fn unescape_value(text: &str) -> Result<Cow<'_, str>, SelectorError> {
    if !text.contains(['\\', ',', '=']) {
        return Ok(text.into());
    }
    let sequence = |c: Option<char>| {
        let c = c.map(String::from).unwrap_or_default();
        SelectorError(format!(
            "invalid field selector: invalid escape sequence: \\{c}"
        ))
    };
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => out.push(c),
                other => return Err(sequence(other)),
            },
            ',' | '=' => {
                return Err(SelectorError(format!(
                    "invalid field selector: unescaped character in value: {}",
                    u32::from(c)
                )));
            }
            c => out.push(c),
        }
    }
    Ok(out.into())
}

impl FieldSelector {
    /// Parses the text of list and watch requests. The empty text matches everything.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not a field selector.
    ///
    /// ```
    /// use kubewright_machinery::fields::FieldSelector;
    ///
    /// let selector = FieldSelector::parse("metadata.name=web,status.phase!=Running")?;
    /// assert_eq!(selector.required_value("metadata.name"), Some("web"));
    /// # Ok::<(), kubewright_machinery::labels::SelectorError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let mut parts = split_terms(text);
        parts.sort_unstable();
        let mut terms = Vec::with_capacity(parts.len());
        for part in parts.into_iter().filter(|p| !p.is_empty()) {
            let Some((field, operator, value)) = split_term(part) else {
                return Err(SelectorError(format!(
                    "invalid selector: '{text}'; can't understand '{part}'"
                )));
            };
            let value = unescape_value(value)?;
            if field.is_empty() && value.is_empty() {
                continue;
            }
            terms.push(FieldTerm {
                field: field.to_owned(),
                operator,
                value: value.into_owned(),
            });
        }
        Ok(Self { terms })
    }

    /// Returns the selector that matches everything.
    pub fn everything() -> Self {
        Self::default()
    }

    /// Creates the selector for one value of one field.
    pub fn one(field: impl Into<String>, value: impl Into<String>) -> Self {
        Self::new(vec![FieldTerm {
            field: field.into(),
            operator: FieldOperator::Equals,
            value: value.into(),
        }])
    }

    /// Creates a selector from terms.
    pub fn new(terms: Vec<FieldTerm>) -> Self {
        Self { terms }
    }

    /// The terms, sorted by their text if they were parsed.
    pub fn terms(&self) -> &[FieldTerm] {
        &self.terms
    }

    /// Reports whether the selector has no terms and matches everything.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The value that a field must have to match, if it must have one.
    pub fn required_value(&self, field: &str) -> Option<&str> {
        let mut equal = self
            .terms
            .iter()
            .filter(|t| t.operator == FieldOperator::Equals);
        equal.find(|t| t.field == field).map(|t| t.value.as_str())
    }

    /// Reports whether fields match, given a function that looks up their values. A missing field counts as empty.
    pub fn matches<'a>(&self, get: impl Fn(&str) -> Option<Cow<'a, str>>) -> bool {
        self.terms.iter().all(|term| {
            let equal = get(&term.field).unwrap_or_default() == term.value.as_str();
            equal == (term.operator == FieldOperator::Equals)
        })
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, term) in self.terms.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            term.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for FieldTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = match self.operator {
            FieldOperator::Equals => "=",
            FieldOperator::NotEquals => "!=",
        };
        write!(f, "{}{operator}{}", self.field, escape_value(&self.value))
    }
}

impl std::str::FromStr for FieldSelector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        Self::parse(text)
    }
}

/// Splits at commas that are not escaped.
fn split_terms(text: &str) -> Vec<&str> {
    let mut escaped = false;
    text.split(|c: char| {
        let splits = c == ',' && !escaped;
        escaped = c == '\\' && !escaped;
        splits
    })
    .collect()
}

/// Splits at the first operator.
fn split_term(term: &str) -> Option<(&str, FieldOperator, &str)> {
    for (i, _) in term.char_indices().filter(|(_, c)| matches!(c, '!' | '=')) {
        let (field, rest) = term.split_at(i);
        if let Some(value) = rest.strip_prefix("!=") {
            return Some((field, FieldOperator::NotEquals, value));
        }
        if let Some(value) = rest.strip_prefix("==").or_else(|| rest.strip_prefix('=')) {
            return Some((field, FieldOperator::Equals, value));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        FieldSelector::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn terms_are_sorted_and_printed_back() {
        for (text, printed) in [
            ("", ""),
            (",,", ""),
            ("=", ""),
            ("!=", ""),
            ("x=a,y=b", "x=a,y=b"),
            ("y=b,x==a", "x=a,y=b"),
            ("metadata.name!=web", "metadata.name!=web"),
            ("x=", "x="),
            (r"x=a\,b\=c\\", r"x=a\,b\=c\\"),
            ("=x", "=x"),
            ("a!b=c", "a!b=c"),
        ] {
            let selector = FieldSelector::parse(text).unwrap();
            assert_eq!(selector.to_string(), printed, "{text}");
            assert_eq!(FieldSelector::parse(printed).unwrap(), selector, "{text}");
        }
    }

    #[test]
    fn wrong_selectors_say_what_is_wrong() {
        assert_eq!(
            message("foo"),
            "invalid selector: 'foo'; can't understand 'foo'"
        );
        assert_eq!(
            message("a=b,c"),
            "invalid selector: 'a=b,c'; can't understand 'c'"
        );
        assert_eq!(
            message(r"a=\n"),
            r"invalid field selector: invalid escape sequence: \n"
        );
        assert_eq!(
            message("a=b\\"),
            r"invalid field selector: invalid escape sequence: \"
        );
        assert_eq!(
            message("a=b=c"),
            "invalid field selector: unescaped character in value: 61"
        );
    }

    #[test]
    fn a_missing_field_counts_as_empty() {
        let get = |field: &str| (field == "a").then_some(Cow::Borrowed("1"));
        for (text, matches) in [
            ("", true),
            ("a=1", true),
            ("a=2", false),
            ("a!=1", false),
            ("a!=2", true),
            ("b=", true),
            ("b!=", false),
            ("a=1,b=1", false),
        ] {
            assert_eq!(
                FieldSelector::parse(text).unwrap().matches(get),
                matches,
                "{text}"
            );
        }
    }

    #[test]
    fn an_exact_match_is_found_by_its_field() {
        let selector = FieldSelector::parse("metadata.name=web,spec.nodeName!=n").unwrap();
        assert_eq!(selector.required_value("metadata.name"), Some("web"));
        assert_eq!(selector.required_value("spec.nodeName"), None);
        assert!(!selector.is_empty());
        assert_eq!(selector.terms().len(), 2);
    }

    #[test]
    fn a_million_terms_parse() {
        let text = "a=b,".repeat(1_000_000);
        assert_eq!(
            FieldSelector::parse(&text).unwrap().terms().len(),
            1_000_000
        );
    }
}
