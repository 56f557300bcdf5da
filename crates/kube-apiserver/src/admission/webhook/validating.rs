//! `ValidatingAdmissionWebhook`: calls webhooks side by side, any of which can reject the request.

use std::sync::Arc;

use futures_util::future::join_all;
use kubewright_apiserver::{
    admission::{Attributes, Plugin},
    boxed_async,
    request::{RequestContext, Warnings},
};
use kubewright_machinery::{Status, gvk::GroupVersionKind, status};
use serde_json::Value;

use super::{
    Webhooks,
    call::{CallError, call, is_over, timed_out},
    conditions::Checks,
    hook::Hook,
    index::Validating,
    review::Role,
};
use crate::admission::{
    matching::{Match, Request, RequestNamespace},
    versioned::Versioned,
};

/// The `ValidatingAdmissionWebhook` plugin.
pub(crate) struct ValidatingAdmissionWebhook(pub(crate) Webhooks<Validating>);

#[boxed_async]
impl Plugin for ValidatingAdmissionWebhook {
    fn reads_updated(&self, cx: &RequestContext) -> bool {
        self.0.concern(cx)
    }

    async fn validate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<(), Status> {
        let Some(hooks) = self.0.hooks(cx).await? else {
            return Ok(());
        };
        let request = Request::new(cx, attributes);
        // The state of the futures below is large, and most requests do not get here.
        Box::pin(self.dispatch(&request, &hooks, object)).await
    }
}

/// A webhook to call, with the objects in the version that it requests.
struct Invocation {
    hook: Arc<Hook>,
    matched: Match,
    objects: Arc<Versioned>,
    /// The warnings of the webhook. They go to the request in the order of the webhooks, however long each takes.
    warnings: Warnings,
}

impl ValidatingAdmissionWebhook {
    async fn dispatch(
        &self,
        request: &Request<'_>,
        hooks: &[Arc<Hook>],
        object: Option<&Value>,
    ) -> Result<(), Status> {
        let relevant = self.relevant(request, hooks, object).await?;
        if relevant.is_empty() {
            return Ok(());
        }
        if is_over(request) {
            return Err(timed_out());
        }
        let calls = relevant.iter().enumerate();
        let calls = calls.map(|(index, invocation)| self.call(index, invocation, request));
        // All are waited for; the first that is configured answers, so that the answer does not depend on their speed.
        let outcomes = join_all(calls).await;
        for invocation in &relevant {
            request.cx.warnings.extend(invocation.warnings.take());
        }
        outcomes.into_iter().collect()
    }

    async fn relevant(
        &self,
        request: &Request<'_>,
        hooks: &[Arc<Hook>],
        object: Option<&Value>,
    ) -> Result<Vec<Invocation>, Status> {
        let namespace = RequestNamespace::new(&self.0.stored, request.namespace());
        let checks = Checks::new(request, &self.0.compiler);
        let mut versions: Vec<(GroupVersionKind, Arc<Versioned>)> = Vec::new();
        let mut relevant = Vec::new();
        for hook in hooks {
            let matched = hook.criteria.matches(request, object, &namespace).await?;
            let Some(matched) = matched else { continue };
            let known = versions.iter().find(|(kind, _)| *kind == matched.kind);
            let objects = match known {
                Some((_, objects)) => objects.clone(),
                None => {
                    let made = Versioned::new(request, object, &matched.kind).await;
                    let made = made.map_err(|e| status::internal(e.message))?;
                    let made = Arc::new(made);
                    versions.push((matched.kind.clone(), made.clone()));
                    made
                }
            };
            if !hook.conditions.is_empty()
                && !checks.hold(hook, request, &matched, &objects).await?
            {
                continue;
            }
            relevant.push(Invocation {
                hook: hook.clone(),
                matched,
                objects,
                warnings: Warnings::default(),
            });
        }
        Ok(relevant)
    }

    async fn call(
        &self,
        index: usize,
        invocation: &Invocation,
        request: &Request<'_>,
    ) -> Result<(), Status> {
        let Invocation {
            hook,
            matched,
            objects,
            warnings,
        } = invocation;
        let timer = self.0.metrics.start(hook, request, "validating");
        let called = call(
            &self.0.outgoing,
            hook,
            request,
            matched,
            objects,
            Role::Validating,
            warnings,
        );
        let outcome = called.await;
        timer.observe(outcome.as_ref().err());
        match outcome {
            Ok(_) => Ok(()),
            Err(CallError::Failed { reason, .. }) if hook.ignores_failure => {
                self.0.metrics.fail_open(hook, "validating");
                tracing::warn!(webhook = hook.name, %reason, "failed calling webhook, failing open");
                let key = format!(
                    "failed-open.validating.webhook.admission.k8s.io/round_0_index_{index}"
                );
                request.cx.annotations.add(&key, || hook.name.clone());
                Ok(())
            }
            Err(error) => {
                tracing::warn!(webhook = hook.name, ?error, "rejected by webhook");
                Err(error.into_status(hook))
            }
        }
    }
}
