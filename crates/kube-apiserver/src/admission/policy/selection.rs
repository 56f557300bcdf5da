//! The policies and bindings that a request matches, with their parameters.

use std::sync::Arc;

use serde_json::Value;

use super::{Family, Params, binding::Binding, candidates::Candidates, definition::Policy};
use crate::admission::matching::{Match, Request, RequestNamespace};

const NO_CONSTRAINTS: &str = "policy contained no match constraints, a required field";

/// A policy that a request matches.
pub(crate) enum Selected<F: Family> {
    /// The policy, or a binding of it, cannot be evaluated.
    Misconfigured(Misconfigured<F>),
    /// The policy is evaluated for a binding.
    Bound(Invocation<F>),
}

/// A policy that cannot be evaluated.
pub(crate) struct Misconfigured<F: Family> {
    pub(crate) policy: Arc<Policy<F>>,
    pub(crate) binding: Option<Arc<Binding>>,
    pub(crate) error: String,
}

/// A policy and a binding that a request matches.
pub(crate) struct Invocation<F: Family> {
    pub(crate) policy: Arc<Policy<F>>,
    pub(crate) binding: Arc<Binding>,
    pub(crate) matched: Match,
    /// The policy is evaluated once for each of them. `None` means null.
    pub(crate) params: Vec<Option<Arc<Value>>>,
}

impl<F: Family> Misconfigured<F> {
    /// Returns a message that describes the misconfiguration.
    pub(crate) fn message(&self) -> String {
        let what = match self.binding {
            Some(_) => "binding",
            None => "policy",
        };
        format!("failed to configure {what}: {}", self.error)
    }
}

/// Selects those of the policies that a request matches, in order.
pub(crate) async fn select<F: Family>(
    candidates: &Candidates<F>,
    params: &Params,
    request: &Request<'_>,
    object: Option<&Value>,
    namespace: &RequestNamespace<'_>,
) -> Vec<Selected<F>> {
    let mut selected = Vec::new();
    for bound in candidates.for_objects(object.into_iter().chain(request.old())) {
        let policy = &bound.policy;
        let misconfigured = |binding: Option<&Arc<Binding>>, error: String| {
            Selected::Misconfigured(Misconfigured {
                policy: policy.clone(),
                binding: binding.cloned(),
                error,
            })
        };
        let Some(constraints) = &policy.constraints else {
            selected.push(misconfigured(None, NO_CONSTRAINTS.to_owned()));
            continue;
        };
        let matched = match constraints.matches(request, object, namespace).await {
            Ok(Some(matched)) => matched,
            Ok(None) => continue,
            Err(error) => {
                selected.push(misconfigured(None, error.message));
                continue;
            }
        };
        let kind = policy.param_kind.as_ref();
        let resource = match kind.map(|kind| params.resource(kind)).transpose() {
            Ok(resource) => resource,
            Err(error) => {
                selected.push(misconfigured(None, error));
                continue;
            }
        };
        for binding in &bound.bindings {
            let applies = match &binding.resources {
                Some(criteria) => criteria.matches(request, object, namespace).await,
                None => Ok(Some(matched.clone())),
            };
            let found = match (applies, &resource, &binding.params) {
                (Ok(None), ..) => continue,
                (Err(error), ..) => Err(error.message),
                (Ok(_), Some(resource), Some(reference)) => {
                    let read = params.read(request.cx, resource, reference, request.namespace());
                    read.await
                        .map(|found| found.iter().cloned().map(Some).collect())
                }
                (Ok(_), ..) => Ok(vec![None]),
            };
            selected.push(match found {
                Err(error) => misconfigured(Some(binding), error),
                Ok(params) => Selected::Bound(Invocation {
                    policy: policy.clone(),
                    binding: binding.clone(),
                    matched: matched.clone(),
                    params,
                }),
            });
        }
    }
    selected
}
