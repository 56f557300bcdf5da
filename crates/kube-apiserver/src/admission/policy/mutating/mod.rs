//! `MutatingAdmissionPolicy`: changes objects by the policies of the cluster.
//!
//! | file | contents |
//! |---|---|
//! | `compiled` | [`Mutator`]: the expressions of a policy, and the changes that they evaluate to |
//! | `patch` | a change applied to the object |
//! | `reinvocation` | which policies run in the second mutating pass |

mod compiled;
mod patch;
mod reinvocation;

use std::{sync::Arc, time::Instant};

use kubewright_apiserver::{
    admission::{Attributes, Operation, Plugin, Reinvocation},
    boxed_async,
    registry::BlockingPool,
    request::RequestContext,
};
use kubewright_machinery::{Status, go, status};
use serde_json::Value;

use self::{
    compiled::Mutator,
    patch::PatchError,
    reinvocation::{Invoked, Key},
};
use super::{
    Family, Params, Policies, PolicyMetrics,
    binding::Binding,
    conditions::Matched,
    definition::Policy,
    is_exempt,
    selection::{Invocation, Selected, select},
    subject::Subject,
};
use crate::{
    admission::{
        forbidden::forbidden,
        matching::{Request, RequestNamespace},
        stored::Stored,
        versioned::BeforeMutation,
    },
    kinds::Environment,
};

/// Mutating policies and their bindings.
pub(crate) struct Mutating;

impl Family for Mutating {
    const POLICIES: &'static str = "mutatingadmissionpolicies";
    const BINDINGS: &'static str = "mutatingadmissionpolicybindings";
    type Compiled = Mutator;

    fn compile(spec: &Value) -> Mutator {
        Mutator::compile(spec)
    }
}

/// The `MutatingAdmissionPolicy` plugin.
pub(crate) struct MutatingAdmissionPolicy {
    policies: Arc<Policies<Mutating>>,
    params: Params,
    stored: Stored,
    compiler: BlockingPool,
    metrics: PolicyMetrics,
}

/// The error of a policy that does not ignore errors.
struct PolicyError {
    message: String,
    /// The reason of the response, if it is not `Forbidden`.
    reason: Option<&'static str>,
}

impl PolicyError {
    fn new(
        policy: &Policy<Mutating>,
        binding: Option<&Binding>,
        error: &str,
        reason: Option<&'static str>,
    ) -> Option<Self> {
        let name = &policy.name;
        let by = match binding {
            Some(binding) => format!("'{name}' with binding '{}'", binding.name),
            None => go::quote(name),
        };
        (!policy.ignores_errors).then(|| Self {
            message: format!("policy {by} denied request: {error}"),
            reason,
        })
    }
}

impl MutatingAdmissionPolicy {
    pub(crate) fn new(environment: &Environment, metrics: &PolicyMetrics) -> Self {
        Self {
            policies: environment.mutating_policies.clone(),
            params: environment.params.clone(),
            stored: Stored(environment.store.clone()),
            compiler: environment.compiler.clone(),
            metrics: metrics.clone(),
        }
    }

    /// Runs the mutations of a policy for a binding, once for each parameter.
    async fn invoke(
        &self,
        invocation: &Invocation<Mutating>,
        subject: &mut Subject<'_>,
        object: Option<&Value>,
        invoked: &mut Invoked,
        pass: &Reinvocation,
        errors: &mut Vec<PolicyError>,
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
        let failed = |error: &str, errors: &mut Vec<PolicyError>| {
            let error = PolicyError::new(policy, Some(binding), error, Some("Invalid"));
            errors.extend(error);
        };
        if let Err(error) = subject.convert(object, matched).await {
            let error = format!("failed to configure policy: {}", error.message);
            errors.extend(PolicyError::new(policy, None, &error, None));
            return Ok(());
        }
        let mutator = policy.compiled(&self.compiler).await?;
        subject
            .prepare(matched, |variable| mutator.uses(variable))
            .await?;
        let cx = subject.request.cx;
        for param in params {
            let matches = {
                let input = subject.input(param.as_deref());
                let evaluate = || mutator.conditions.evaluate(&input, &mutator.variables);
                subject.decisions.evaluate(cx, evaluate).await?
            };
            match matches {
                Matched::Yes => {}
                Matched::No => continue,
                Matched::Failed(error) => {
                    failed(&error, errors);
                    continue;
                }
            }
            let key = Key::of(invocation, param.as_deref());
            if pass.round() > 0 && !invoked.runs_again(&key) {
                continue;
            }
            let before = subject.versioned.as_ref().and_then(|v| v.object.clone());
            for mutation in &mutator.mutations {
                if before.is_none() {
                    break;
                }
                let began = Instant::now();
                let observe = |error: Option<&str>| {
                    self.metrics.mutated(binding, error, began.elapsed());
                };
                let change = {
                    let input = subject.input(param.as_deref());
                    let evaluate = || mutation.evaluate(&input, &mutator.variables);
                    subject.decisions.evaluate(cx, evaluate).await?
                };
                let change = match change {
                    Ok(change) => change,
                    Err(error) => {
                        observe(Some(&error));
                        failed(&error, errors);
                        continue;
                    }
                };
                let Some(versioned) = &mut subject.versioned else {
                    break;
                };
                match patch::apply(subject.request, versioned, change) {
                    Ok(()) => observe(None),
                    Err(PatchError::Policy(error)) => {
                        observe(Some(&error));
                        failed(&error, errors);
                    }
                    Err(PatchError::Request(status)) => {
                        observe(Some(&status.message));
                        return Err(*status);
                    }
                }
            }
            let after = subject.versioned.as_ref().and_then(|v| v.object.as_ref());
            if before.as_ref() != after {
                invoked.require_all();
                pass.request();
            }
            if mutator.is_reinvocable {
                invoked.remember(key);
            }
        }
        Ok(())
    }
}

#[boxed_async]
impl Plugin for MutatingAdmissionPolicy {
    fn reads_updated(&self, cx: &RequestContext) -> bool {
        let idle = |index: &super::Index<Mutating>| index.is_idle(&cx.info.resource);
        !is_exempt(cx) && !self.policies.peek(idle).unwrap_or(false)
    }

    async fn mutate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        mut object: Option<&mut Value>,
    ) -> Result<(), Status> {
        if attributes.operation == Operation::Delete || is_exempt(cx) {
            return Ok(());
        }
        let candidates = {
            let index = self.policies.index().await.map_err(status::internal)?;
            index.candidates(&cx.info.resource)
        };
        let (false, Some(pass)) = (candidates.is_empty(), attributes.reinvocation) else {
            return Ok(());
        };
        if object.as_deref().is_some_and(Value::is_null) {
            // A policy was made since the update was found to be without effect. It has to be computed.
            return Err(status::internal("the object has to be read"));
        }
        let request = Request::new(cx, attributes);
        let namespace = RequestNamespace::new(&self.stored, request.namespace());
        let read = object.as_deref();
        let selected = select(&candidates, &self.params, &request, read, &namespace).await;
        if selected.is_empty() {
            return Ok(());
        }
        let mut invoked = pass.with_state(std::mem::take::<Invoked>);
        if pass.round() > 0 {
            invoked.begin_second(object.as_deref());
        }
        let mut errors = Vec::new();
        for selected in &selected {
            if let Selected::Misconfigured(found) = selected {
                let binding = found.binding.as_deref();
                let error = PolicyError::new(&found.policy, binding, &found.message(), None);
                errors.extend(error);
            }
        }
        let mut subject = Subject::new(&request, namespace);
        for selected in &selected {
            if let Selected::Bound(invocation) = selected {
                let read = object.as_deref();
                self.invoke(
                    invocation,
                    &mut subject,
                    read,
                    &mut invoked,
                    pass,
                    &mut errors,
                )
                .await?;
            }
        }
        if let (Some(versioned), Some(object)) = (subject.versioned.take(), object.as_deref_mut()) {
            let changed = versioned.into_changed(&request).await?;
            if let Some(changed) = changed {
                // Whatever the policies did, the plugins before them have not seen it.
                invoked.require_all();
                pass.request();
                let before = BeforeMutation::of(&request, object);
                *object = changed;
                before.restore_if_broken(cx, object);
            }
        }
        invoked.end(object.as_deref());
        pass.with_state(|kept: &mut Invoked| *kept = invoked);
        finish(cx, attributes, object.as_deref(), errors)
    }
}

/// Returns the response to a request that policies deny: the message of the first error, with all errors as causes.
fn finish(
    cx: &RequestContext,
    attributes: &Attributes<'_>,
    object: Option<&Value>,
    errors: Vec<PolicyError>,
) -> Result<(), Status> {
    let Some(first) = errors.first() else {
        return Ok(());
    };
    let object = object.unwrap_or(&Value::Null);
    let mut denied = forbidden(cx, attributes, object, "");
    denied.message = first.message.clone();
    if let Some(reason) = first.reason {
        denied.reason = reason.into();
    }
    let causes = errors.into_iter();
    Err(causes.fold(denied, |denied, error| {
        denied.with_cause("", error.message, "")
    }))
}
