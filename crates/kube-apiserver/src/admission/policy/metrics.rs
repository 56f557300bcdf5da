//! The metrics of policies, by the names of kube-apiserver.

use std::time::Duration;

use kubewright_metrics::{Collect, CounterVec, HistogramVec, TextWriter};

use super::{binding::Binding, expression::OUT_OF_BUDGET};

/// The upper bounds of durations, in seconds.
static SECONDS: [f64; 5] = [0.000_000_5, 0.001, 0.01, 0.1, 1.0];

/// The metrics of all policies. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct PolicyMetrics {
    validations: CounterVec<4>,
    validation_seconds: HistogramVec<4>,
    mutations: CounterVec<3>,
    mutation_seconds: HistogramVec<3>,
}

impl Default for PolicyMetrics {
    fn default() -> Self {
        let validation = [
            "enforcement_action",
            "error_type",
            "policy",
            "policy_binding",
        ];
        let mutation = ["error_type", "policy", "policy_binding"];
        Self {
            validations: CounterVec::new(
                "apiserver_validating_admission_policy_check_total",
                "Validations that failed, by policy, binding, error and action.",
                validation,
            ),
            validation_seconds: HistogramVec::new(
                "apiserver_validating_admission_policy_check_duration_seconds",
                "Duration of validations that failed, by policy, binding, error and action.",
                validation,
                &SECONDS,
            ),
            mutations: CounterVec::new(
                "apiserver_mutating_admission_policy_check_total",
                "Mutations by policy, binding and error.",
                mutation,
            ),
            mutation_seconds: HistogramVec::new(
                "apiserver_mutating_admission_policy_check_duration_seconds",
                "Duration of mutations, by policy, binding and error.",
                mutation,
                &SECONDS,
            ),
        }
    }
}

impl PolicyMetrics {
    /// Counts a validation that failed, with the action that was taken: `deny`, `warn`, `audit`, or `allow` for an error that is
    /// passed over.
    pub(super) fn validated(&self, binding: &Binding, action: &str, message: &str, took: Duration) {
        let labels = [action, error_type(message), &binding.policy, &binding.name];
        self.validations.with(labels).inc();
        self.validation_seconds
            .with(labels)
            .observe(took.as_secs_f64());
    }

    /// Counts a mutation, which may have failed.
    pub(super) fn mutated(&self, binding: &Binding, error: Option<&str>, took: Duration) {
        let error = error.map_or("no_error", error_type);
        let labels = [error, &binding.policy, &binding.name];
        self.mutations.with(labels).inc();
        self.mutation_seconds
            .with(labels)
            .observe(took.as_secs_f64());
    }

    /// Writes the metrics.
    pub(crate) fn collect(&self, out: &mut TextWriter) {
        self.mutation_seconds.collect(out);
        self.mutations.collect(out);
        self.validation_seconds.collect(out);
        self.validations.collect(out);
    }
}

/// Returns the type of an error. It depends on the message alone, and a validation that is false has the type of other errors.
fn error_type(message: &str) -> &'static str {
    let budget = OUT_OF_BUDGET
        .split_once(',')
        .map_or(OUT_OF_BUDGET, |(start, _)| start);
    match message {
        message if message.starts_with("compilation") => "compile_error",
        message if message.starts_with(budget) => "out_of_budget",
        _ => "invalid_error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_determines_the_type_of_an_error() {
        for (message, error) in [
            ("compilation error: ERROR: <input>:1:1", "compile_error"),
            (OUT_OF_BUDGET, "out_of_budget"),
            ("failed expression: false", "invalid_error"),
            ("must evaluate to bool but got int", "invalid_error"),
        ] {
            assert_eq!(error_type(message), error, "{message}");
        }
    }
}
