//! [`Report`]: denials, warnings and audit annotations of the policies of one request.

use kubewright_apiserver::{admission::Attributes, request::RequestContext};
use kubewright_machinery::{Status, go};
use serde::Serialize;
use serde_json::Value;

use super::{
    Validating,
    evaluate::{Annotation, Denial, Outcome},
};
use crate::admission::{
    forbidden::forbidden,
    policy::{
        binding::{Action, Binding},
        definition::Policy,
        metrics::PolicyMetrics,
    },
};

/// The key of the audit annotation about a failed validation.
const FAILURE_KEY: &str = "validation.policy.admission.k8s.io/validation_failure";

/// The findings of the policies of a request.
pub(super) struct Report<'a> {
    cx: &'a RequestContext,
    metrics: &'a PolicyMetrics,
    /// The first denial, by its message and its reason.
    denied: Option<(String, String)>,
    /// Audit annotations: distinct values by key.
    annotations: Vec<(String, Vec<String>)>,
}

/// A failed validation in an audit annotation.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Failure<'a> {
    message: &'a str,
    policy: &'a str,
    binding: &'a str,
    expression_index: usize,
    validation_actions: Vec<&'static str>,
}

impl<'a> Report<'a> {
    pub(super) fn new(cx: &'a RequestContext, metrics: &'a PolicyMetrics) -> Self {
        Self {
            cx,
            metrics,
            denied: None,
            annotations: Vec::new(),
        }
    }

    /// Adds the error of a policy, or of a binding, that cannot be evaluated.
    pub(super) fn misconfigured(
        &mut self,
        policy: &Policy<Validating>,
        binding: Option<&Binding>,
        message: &str,
    ) {
        if !policy.ignores_errors {
            self.deny(policy, binding, message, "");
        }
    }

    /// Adds the outcome of an evaluation.
    pub(super) fn add(&mut self, policy: &Policy<Validating>, binding: &Binding, outcome: Outcome) {
        for error in &outcome.ignored {
            let took = error.took;
            self.metrics
                .validated(binding, "allow", &error.message, took);
        }
        for denial in &outcome.denials {
            for action in &binding.actions {
                let (label, took) = (action.metric_label(), denial.took);
                self.metrics
                    .validated(binding, label, &denial.message, took);
                match action {
                    Action::Deny => {
                        self.deny(policy, Some(binding), &denial.message, &denial.reason);
                    }
                    Action::Warn => self.warn(policy, binding, denial),
                    Action::Audit => self.audit(binding, denial),
                }
            }
        }
        for annotation in outcome.annotations {
            match annotation {
                Annotation::Publish { key, value } => {
                    self.annotate(format!("{}/{key}", policy.name), value);
                }
                Annotation::Failed(error) => {
                    let took = error.took;
                    self.metrics
                        .validated(binding, "deny", &error.message, took);
                    self.deny(policy, Some(binding), &error.message, "");
                }
            }
        }
    }

    /// Publishes the audit annotations, and returns the first denial as the response.
    pub(super) fn finish(
        self,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<(), Status> {
        for (key, values) in self.annotations {
            self.cx.annotations.add(&key, || values.join(", "));
        }
        let Some((message, reason)) = self.denied else {
            return Ok(());
        };
        let object = object.unwrap_or(&Value::Null);
        let mut status = forbidden(self.cx, attributes, object, &message);
        let reason = match reason.as_str() {
            "" => "Invalid",
            reason => reason,
        };
        status.code = match reason {
            "Forbidden" => 403,
            "Unauthorized" => 401,
            "RequestEntityTooLarge" => 413,
            _ => 422,
        };
        status.reason = reason.into();
        Err(status.with_cause("", message, ""))
    }

    fn deny(
        &mut self,
        policy: &Policy<Validating>,
        binding: Option<&Binding>,
        message: &str,
        reason: &str,
    ) {
        self.denied.get_or_insert_with(|| {
            let policy = &policy.name;
            let by = match binding {
                Some(binding) => format!("'{policy}' with binding '{}'", binding.name),
                None => format!("'{policy}'"),
            };
            let message = format!("ValidatingAdmissionPolicy {by} denied request: {message}");
            (message, reason.to_owned())
        });
    }

    fn warn(&self, policy: &Policy<Validating>, binding: &Binding, denial: &Denial) {
        let (policy, binding, message) = (&policy.name, &binding.name, &denial.message);
        self.cx.warnings.add(format!(
            "Validation failed for ValidatingAdmissionPolicy '{policy}' with binding '{binding}': {message}"
        ));
    }

    fn audit(&self, binding: &Binding, denial: &Denial) {
        self.cx.annotations.add(FAILURE_KEY, || {
            go::json_of(&[Failure {
                message: &denial.message,
                policy: &binding.policy,
                binding: &binding.name,
                expression_index: denial.index,
                validation_actions: binding.actions.iter().map(|a| a.as_str()).collect(),
            }])
        });
    }

    fn annotate(&mut self, key: String, value: String) {
        let found = self.annotations.iter_mut().find(|(known, _)| *known == key);
        match found {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => self.annotations.push((key, vec![value])),
        }
    }
}
