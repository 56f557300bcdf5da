//! Label selectors: `app=web,tier in (front, back),!canary`.
//!
//! [`LabelSelector::parse`] takes the text form of list and watch requests, [`LabelSelector::from_label_selector`] the
//! object form that specs use. Both end in the same [`Requirement`]s, sorted by key, all of which must hold.
//!
//! Parsing takes time in proportion to the text (and sorting), keeps one token of lookahead and does not recurse.

mod parse;
#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::Value;

use crate::{
    field::{self, ErrorList, Path},
    go,
    validation::names,
};

/// A condition on labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
    nothing: bool,
}

/// One condition on one label.
///
/// ```
/// use kubewright_machinery::labels::{LabelSelector, Operator, Requirement};
///
/// let tier = Requirement::new("tier".into(), Operator::NotIn, vec!["front".into(), "back".into()])?;
/// assert!(tier.matches(None));
/// assert!(!tier.matches(Some("back")));
/// assert_eq!(LabelSelector::new(vec![tier]).to_string(), "tier notin (back,front)");
/// # Ok::<(), kubewright_machinery::labels::SelectorError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    key: String,
    operator: Operator,
    /// Sorted, so that a look-up is a binary search.
    values: Vec<String>,
}

/// The relation between a label and the values of a [`Requirement`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `key in (a,b)`
    In,
    /// `key notin (a,b)`, also true without the label.
    NotIn,
    /// `key=a`
    Equals,
    /// `key==a`
    DoubleEquals,
    /// `key!=a`, also true without the label.
    NotEquals,
    /// `key`
    Exists,
    /// `!key`
    DoesNotExist,
    /// `key>1`
    GreaterThan,
    /// `key<1`
    LessThan,
}

/// A selector that does not parse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SelectorError(pub(crate) String);

impl LabelSelector {
    /// The selector that matches everything.
    pub fn everything() -> Self {
        Self::default()
    }

    /// The selector that matches nothing.
    pub fn nothing() -> Self {
        Self {
            requirements: Vec::new(),
            nothing: true,
        }
    }

    /// Parses the text form. The empty text matches everything.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not a label selector.
    ///
    /// ```
    /// use kubewright_machinery::labels::LabelSelector;
    ///
    /// let selector = LabelSelector::parse("app=web,!canary")?;
    /// assert!(selector.matches(|key| (key == "app").then_some("web")));
    /// # Ok::<(), kubewright_machinery::labels::SelectorError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        parse::parse(text).map(Self::new)
    }

    /// All of these requirements.
    ///
    /// # Errors
    ///
    /// Returns an error if the key is not a label key, or the number of values does not fit the operator.
    pub fn new(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Self {
            requirements,
            nothing: false,
        }
    }

    /// Takes the object form, `{matchLabels, matchExpressions}`. `null` matches nothing, `{}` everything.
    ///
    /// # Errors
    ///
    /// Returns an error for unknown operators and invalid keys or values.
    pub fn from_label_selector(selector: &Value) -> Result<Self, SelectorError> {
        if selector.is_null() {
            return Ok(Self::nothing());
        }
        let mut requirements = Vec::new();
        if let Some(labels) = selector.get("matchLabels").and_then(Value::as_object) {
            for (key, value) in labels {
                let value = value.as_str().unwrap_or_default().to_owned();
                requirements.push(Requirement::new(
                    key.clone(),
                    Operator::Equals,
                    vec![value],
                )?);
            }
        }
        let expressions = selector.get("matchExpressions").and_then(Value::as_array);
        for expression in expressions.into_iter().flatten() {
            let text = |name| {
                expression
                    .get(name)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
            };
            let operator = match text("operator") {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                other => {
                    return Err(SelectorError(format!(
                        "{} is not a valid label selector operator",
                        go::quote(other)
                    )));
                }
            };
            let values = expression.get("values").and_then(Value::as_array);
            let values = values.into_iter().flatten();
            let values = values
                .map(|v| v.as_str().unwrap_or_default().to_owned())
                .collect();
            requirements.push(Requirement::new(text("key").to_owned(), operator, values)?);
        }
        Ok(Self::new(requirements))
    }

    /// The object form as tables print it: `<none>` for an empty one, `<error>` for an invalid one.
    pub fn format_label_selector(selector: &Value) -> String {
        match Self::from_label_selector(selector).map(|s| s.to_string()) {
            Err(_) => "<error>".into(),
            Ok(text) if text.is_empty() => "<none>".into(),
            Ok(text) => text,
        }
    }

    /// Reports whether the selector has no requirements and matches everything.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty() && !self.nothing
    }

    /// Reports whether the selector matches no labels at all.
    pub fn is_nothing(&self) -> bool {
        self.nothing
    }

    /// Reports whether labels match, given a function that looks up their values.
    pub fn matches<'a>(&self, get: impl Fn(&str) -> Option<&'a str>) -> bool {
        !self.nothing && self.requirements.iter().all(|r| r.matches(get(&r.key)))
    }

    /// Returns the requirements, sorted by key.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// The one value that a label must have to match, if it must.
    pub fn required_value(&self, key: &str) -> Option<&str> {
        let requirement = self.requirements.iter().find(|r| r.key == key)?;
        requirement.only_value()
    }

    /// Returns the first label that must have one particular value to match, with that value.
    pub fn required_label(&self) -> Option<(&str, &str)> {
        let mut requirements = self.requirements.iter();
        requirements.find_map(|r| Some((r.key.as_str(), r.only_value()?)))
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, requirement) in self.requirements.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            requirement.fmt(f)?;
        }
        Ok(())
    }
}

impl std::str::FromStr for LabelSelector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        Self::parse(text)
    }
}

impl Requirement {
    /// Returns the value that the label must have, if there is only one.
    fn only_value(&self) -> Option<&str> {
        match (self.operator, self.values.as_slice()) {
            (Operator::Equals | Operator::DoubleEquals | Operator::In, [one]) => Some(one),
            _ => None,
        }
    }

    /// Checks the parts and puts them together.
    ///
    /// # Errors
    ///
    /// Fails if the key or a value is not valid, or if the number of values does not fit the operator.
    pub fn new(
        key: String,
        operator: Operator,
        mut values: Vec<String>,
    ) -> Result<Self, SelectorError> {
        let errors = check(&key, operator, &values);
        if !errors.is_empty() {
            return Err(SelectorError(field::aggregate(&errors)));
        }
        values.sort_unstable();
        Ok(Self {
            key,
            operator,
            values,
        })
    }

    /// The label's key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the operator.
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// The values, sorted.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// Reports whether a label's value matches; `None` means that the label is missing.
    pub fn matches(&self, label: Option<&str>) -> bool {
        let has = |value: &str| {
            self.values
                .binary_search_by(|v| v.as_str().cmp(value))
                .is_ok()
        };
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => label.is_some_and(has),
            Operator::NotIn | Operator::NotEquals => !label.is_some_and(has),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::GreaterThan => self.compare(label, |label, bound| label > bound),
            Operator::LessThan => self.compare(label, |label, bound| label < bound),
        }
    }

    fn compare(&self, label: Option<&str>, holds: fn(i64, i64) -> bool) -> bool {
        let label = label.and_then(|l| l.parse().ok());
        let bound = self.values.first().and_then(|v| v.parse().ok());
        matches!((label, bound), (Some(label), Some(bound)) if holds(label, bound))
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, between, after) = match self.operator {
            Operator::In => ("", " in (", ")"),
            Operator::NotIn => ("", " notin (", ")"),
            Operator::Equals => ("", "=", ""),
            Operator::DoubleEquals => ("", "==", ""),
            Operator::NotEquals => ("", "!=", ""),
            Operator::GreaterThan => ("", ">", ""),
            Operator::LessThan => ("", "<", ""),
            Operator::Exists => ("", "", ""),
            Operator::DoesNotExist => ("!", "", ""),
        };
        write!(f, "{before}{}{between}", self.key)?;
        for (i, value) in self.values.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            f.write_str(value)?;
        }
        f.write_str(after)
    }
}

fn check(key: &str, operator: Operator, values: &[String]) -> ErrorList {
    let mut errors = ErrorList::new();
    errors.extend(check_key(key, &Path::new("key")));
    let path = Path::new("values");
    let counted = |ok: bool, rule: &str| {
        (!ok).then(|| {
            let list = if values.is_empty() && matches!(operator, Operator::In | Operator::NotIn) {
                Value::Null
            } else {
                Value::from(values)
            };
            field::invalid(&path, &list, rule)
        })
    };
    errors.extend(match operator {
        Operator::In | Operator::NotIn => counted(
            !values.is_empty(),
            "for 'in', 'notin' operators, values set can't be empty",
        ),
        Operator::Equals | Operator::DoubleEquals | Operator::NotEquals => counted(
            values.len() == 1,
            "exact-match compatibility requires one single value",
        ),
        Operator::Exists | Operator::DoesNotExist => counted(
            values.is_empty(),
            "values set must be empty for exists and does not exist",
        ),
        Operator::GreaterThan | Operator::LessThan => counted(
            values.len() == 1,
            "for 'Gt', 'Lt' operators, exactly one value is required",
        ),
    });
    if matches!(operator, Operator::GreaterThan | Operator::LessThan) {
        for (i, value) in values.iter().enumerate() {
            if value.parse::<i64>().is_err() {
                let rule = "for 'Gt', 'Lt' operators, the value must be an integer";
                errors.push(field::invalid_str(&path.index(i), value, rule));
            }
        }
    }
    for (i, value) in values.iter().enumerate() {
        let reasons = names::is_label_value(value);
        if !reasons.is_empty() {
            let at = path.index(i).key(key);
            errors.push(field::invalid_str(&at, value, reasons.join("; ")));
        }
    }
    errors
}

fn check_key(key: &str, path: &Path) -> Option<field::FieldError> {
    let reasons = names::is_qualified_name(key);
    (!reasons.is_empty()).then(|| field::invalid_str(path, key, reasons.join("; ")))
}
