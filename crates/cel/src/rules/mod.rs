//! Validation rules of schemas: `x-kubernetes-validations`.
//!
//! | file | contents |
//! |---|---|
//! | `compile` | rules of one schema node: checked, estimated, planned |
//! | `evaluate` | evaluation of the rules of one node on one value |
//! | `validator` | the rules of a whole schema on a whole object |
//! | `correlation` | correlation of new values with old ones |
//! | `field_path` | the `fieldPath` of a rule |
//!
//! A rule that names `oldSelf` is a transition rule: it runs only where there is an old value, unless it says
//! `optionalOldSelf`, and it fails even where nothing has changed.

mod compile;
mod correlation;
mod evaluate;
mod field_path;
mod validator;

pub use compile::{CompiledRule, compile_rules};
pub use field_path::normalized_field_path;
pub use validator::{Outcome, Ratcheting, Validator};

use serde_json::Value as Json;

/// A rule of `x-kubernetes-validations`.
///
/// ```
/// use kubewright_cel::{Reason, Rule};
/// use serde_json::json;
///
/// let rule = Rule::from_json(&json!({
///     "rule": "self == oldSelf", "message": "may not change", "reason": "FieldValueForbidden",
/// }));
/// assert_eq!(rule.message, "may not change");
/// assert_eq!(rule.reason, Some(Reason::Forbidden));
/// assert_eq!(rule.optional_old_self, None);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rule {
    /// The expression that must be true.
    pub rule: String,
    /// The message of a failure.
    pub message: String,
    /// An expression for the message of a failure, which takes precedence over `message`.
    pub message_expression: String,
    /// The kind of error.
    pub reason: Option<Reason>,
    /// The field the error is about, from the node of the rule.
    pub field_path: String,
    /// `true` if `oldSelf` is an optional.
    pub optional_old_self: Option<bool>,
}

/// The kind of error that a rule causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// `FieldValueInvalid`
    Invalid,
    /// `FieldValueForbidden`
    Forbidden,
    /// `FieldValueRequired`
    Required,
    /// `FieldValueDuplicate`
    Duplicate,
}

impl Rule {
    /// Reads the JSON of a rule. A reason that is not known is none.
    pub fn from_json(json: &Json) -> Self {
        let text = |name: &str| json[name].as_str().unwrap_or("").to_owned();
        Self {
            rule: text("rule"),
            message: text("message"),
            message_expression: text("messageExpression"),
            reason: Reason::from_name(&text("reason")),
            field_path: text("fieldPath"),
            optional_old_self: json["optionalOldSelf"].as_bool(),
        }
    }

    /// Returns the text of the rule in errors: the message, or else the expression.
    fn shown(&self) -> &str {
        match self.message.is_empty() {
            true => self.rule.trim(),
            false => self.message.trim(),
        }
    }

    fn message_or_default(&self) -> String {
        match self.message.is_empty() {
            true => format!("failed rule: {}", self.shown()),
            false => self.message.trim().to_owned(),
        }
    }
}

impl Reason {
    /// The reason called `name` in a rule.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "FieldValueInvalid" => Some(Self::Invalid),
            "FieldValueForbidden" => Some(Self::Forbidden),
            "FieldValueRequired" => Some(Self::Required),
            "FieldValueDuplicate" => Some(Self::Duplicate),
            _ => None,
        }
    }
}
