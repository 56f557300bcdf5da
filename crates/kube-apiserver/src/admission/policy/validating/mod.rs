//! `ValidatingAdmissionPolicy`: rejects requests by the policies of the cluster.
//!
//! | file | contents |
//! |---|---|
//! | `compiled` | [`Validator`]: the expressions of a policy |
//! | `evaluate` | their evaluation over one request and one parameter |
//! | `report` | denials, warnings and audit annotations |

mod compiled;
mod evaluate;
mod report;

use std::sync::Arc;

use kubewright_apiserver::{
    admission::{Attributes, Plugin},
    boxed_async,
    registry::BlockingPool,
    request::RequestContext,
};
use kubewright_machinery::{Status, status};
use serde_json::Value;

use self::{compiled::Validator, evaluate::evaluate, report::Report};
use super::{
    Family, Params, Policies, PolicyMetrics, is_exempt,
    selection::{Invocation, Selected, select},
    subject::Subject,
};
use crate::{
    admission::{
        matching::{Request, RequestNamespace},
        stored::Stored,
    },
    kinds::Environment,
};

/// Validating policies and their bindings.
pub(crate) struct Validating;

impl Family for Validating {
    const POLICIES: &'static str = "validatingadmissionpolicies";
    const BINDINGS: &'static str = "validatingadmissionpolicybindings";
    type Compiled = Validator;

    fn compile(spec: &Value) -> Validator {
        Validator::compile(spec)
    }
}

/// The `ValidatingAdmissionPolicy` plugin.
pub(crate) struct ValidatingAdmissionPolicy {
    policies: Arc<Policies<Validating>>,
    params: Params,
    stored: Stored,
    compiler: BlockingPool,
    metrics: PolicyMetrics,
}

impl ValidatingAdmissionPolicy {
    pub(crate) fn new(environment: &Environment, metrics: &PolicyMetrics) -> Self {
        Self {
            policies: environment.validating_policies.clone(),
            params: environment.params.clone(),
            stored: Stored(environment.store.clone()),
            compiler: environment.compiler.clone(),
            metrics: metrics.clone(),
        }
    }

    /// Evaluates a policy for one of its bindings, once for each parameter.
    async fn evaluate(
        &self,
        invocation: &Invocation<Validating>,
        subject: &mut Subject<'_>,
        object: Option<&Value>,
        report: &mut Report<'_>,
    ) -> Result<(), Status> {
        let Invocation {
            policy,
            binding,
            matched,
            params,
        } = invocation;
        if params.is_empty() {
            return Ok(());
        }
        if let Err(error) = subject.convert(object, matched).await {
            let error = format!("failed to convert object version: {}", error.message);
            report.misconfigured(
                policy,
                Some(binding),
                &format!("failed to configure binding: {error}"),
            );
            return Ok(());
        }
        let validator = policy.compiled(&self.compiler).await?;
        subject
            .prepare(matched, |variable| validator.uses(variable))
            .await?;
        for param in params {
            let input = subject.input(param.as_deref());
            let evaluate = || evaluate(&validator, &input, !policy.ignores_errors);
            let cx = subject.request.cx;
            let outcome = subject.decisions.evaluate(cx, evaluate).await?;
            report.add(policy, binding, outcome);
        }
        Ok(())
    }
}

#[boxed_async]
impl Plugin for ValidatingAdmissionPolicy {
    fn reads_updated(&self, cx: &RequestContext) -> bool {
        let idle = |index: &super::Index<Validating>| index.is_idle(&cx.info.resource);
        !is_exempt(cx) && !self.policies.peek(idle).unwrap_or(false)
    }

    async fn validate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<(), Status> {
        if is_exempt(cx) {
            return Ok(());
        }
        let candidates = {
            let index = self.policies.index().await.map_err(status::internal)?;
            index.candidates(&cx.info.resource)
        };
        if candidates.is_empty() {
            return Ok(());
        }
        if object.is_some_and(Value::is_null) {
            // A policy was made since the update was found to be without effect. It has to be computed.
            return Err(status::internal("the object has to be read"));
        }
        let request = Request::new(cx, attributes);
        let namespace = RequestNamespace::new(&self.stored, request.namespace());
        let selected = select(&candidates, &self.params, &request, object, &namespace).await;
        if selected.is_empty() {
            return Ok(());
        }
        let mut subject = Subject::new(&request, namespace);
        let mut report = Report::new(cx, &self.metrics);
        for selected in &selected {
            match selected {
                Selected::Misconfigured(found) => {
                    let binding = found.binding.as_deref();
                    report.misconfigured(&found.policy, binding, &found.message());
                }
                Selected::Bound(invocation) => {
                    self.evaluate(invocation, &mut subject, object, &mut report)
                        .await?;
                }
            }
        }
        report.finish(attributes, object)
    }
}
