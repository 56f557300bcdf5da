//! Match conditions: expressions that must all be true for a webhook to be called.

use std::sync::Arc;

use kubewright_cel::{AccessedResource, AdmissionInput};
use kubewright_machinery::{Status, status};
use serde_json::Value;

use super::hook::Hook;
use crate::admission::{
    matching::{Match, Request},
    policy::{Decisions, Matched, request_resource},
    versioned::{Versioned, request_value},
};

/// The authorization checks of the conditions of one request, and the resource that they are about.
pub(super) struct Checks {
    decisions: Decisions,
    resource: Arc<AccessedResource>,
}

impl Checks {
    pub(super) fn new(request: &Request<'_>) -> Self {
        let resource = request_resource(request.cx, request.namespace(), request.name());
        Self {
            decisions: Decisions::default(),
            resource: Arc::new(resource),
        }
    }

    /// Evaluates the conditions of a webhook. If one fails and none is false, the failure policy decides.
    ///
    /// # Errors
    ///
    /// Fails with 403 if a condition fails and failures are not ignored.
    pub(super) async fn hold(
        &self,
        hook: &Hook,
        request: &Request<'_>,
        matched: &Match,
        objects: &Versioned,
    ) -> Result<bool, Status> {
        let fields = Value::Object(request_value(request, matched));
        let input = AdmissionInput {
            object: objects.object.as_ref(),
            old_object: objects.old.as_ref(),
            request: Some(&fields),
            decisions: Some(&self.decisions),
            request_resource: Some(&self.resource),
            ..AdmissionInput::default()
        };
        let evaluate = || hook.conditions.evaluate(&input, &[]);
        match self.decisions.evaluate(request.cx, evaluate).await? {
            Matched::Yes => Ok(true),
            Matched::No => Ok(false),
            Matched::Failed(_) if hook.ignores_failure => Ok(false),
            Matched::Failed(why) => {
                tracing::warn!(webhook = hook.name, %why, "failed evaluating match conditions");
                let resource = request.resource.group_resource();
                Err(status::forbidden(&resource, request.name(), why))
            }
        }
    }
}
