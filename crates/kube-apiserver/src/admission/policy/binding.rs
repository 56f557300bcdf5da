//! [`Binding`]: a binding of a policy, decoded.

use std::sync::Arc;

use kubewright_machinery::{json::Read, labels::LabelSelector};
use serde_json::Value;

use crate::admission::matching::Criteria;

/// A binding of a policy.
#[derive(Debug)]
pub(crate) struct Binding {
    pub(crate) name: Arc<str>,
    /// The name of the policy.
    pub(crate) policy: String,
    /// The requests that the binding is for; `None` for all that the policy is for.
    pub(crate) resources: Option<Criteria>,
    pub(crate) params: Option<ParamRef>,
    /// The consequences of a failed validation. Bindings of mutating policies have none.
    pub(crate) actions: Vec<Action>,
}

/// The parameters that a binding refers to.
#[derive(Debug)]
pub(crate) struct ParamRef {
    pub(crate) name: String,
    /// The namespace, or empty for that of the request.
    pub(crate) namespace: String,
    /// The parsed selector, or the error that a matching request fails with.
    pub(crate) selector: Option<Result<LabelSelector, String>>,
    /// The selector as JSON.
    pub(crate) selector_text: Option<Arc<str>>,
    /// Whether a request fails if there are no parameters.
    pub(crate) deny_missing: bool,
}

/// The consequence of a failed validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Deny,
    Warn,
    Audit,
}

impl Binding {
    /// Reads a stored binding.
    pub(crate) fn read(name: &str, spec: &Value) -> Self {
        let set = |key: &str| Some(&spec[key]).filter(|value| value.is_set());
        Self {
            name: name.into(),
            policy: spec["policyName"].text().to_owned(),
            resources: set("matchResources").map(Criteria::of_resources),
            params: set("paramRef").map(ParamRef::read),
            actions: spec["validationActions"]
                .texts()
                .filter_map(Action::named)
                .collect(),
        }
    }
}

impl ParamRef {
    fn read(reference: &Value) -> Self {
        let selector = Some(&reference["selector"]).filter(|selector| selector.is_set());
        let parse = |selector| LabelSelector::from_label_selector(selector);
        Self {
            name: reference["name"].text().to_owned(),
            namespace: reference["namespace"].text().to_owned(),
            selector: selector.map(|s| parse(s).map_err(|e| e.to_string())),
            selector_text: selector.map(|s| s.to_string().into()),
            deny_missing: reference["parameterNotFoundAction"].text() == "Deny",
        }
    }
}

impl Action {
    fn named(name: &str) -> Option<Self> {
        match name {
            "Deny" => Some(Self::Deny),
            "Warn" => Some(Self::Warn),
            "Audit" => Some(Self::Audit),
            _ => None,
        }
    }

    /// Returns the name in bindings.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "Deny",
            Self::Warn => "Warn",
            Self::Audit => "Audit",
        }
    }

    /// Returns the name in metrics.
    pub(crate) fn metric_label(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Warn => "warn",
            Self::Audit => "audit",
        }
    }
}
