//! `MutatingAdmissionWebhook`: calls webhooks one after the other, and applies their patches.

use std::sync::Arc;

use kubewright_apiserver::{
    admission::{Attributes, Plugin, Reinvocation},
    audit::Level,
    boxed_async,
    request::RequestContext,
};
use kubewright_machinery::{Status, go, status};
use kubewright_merge::json_patch::{self, Decoding, Patch};
use serde_json::{Value, json};

use super::{
    Webhooks,
    call::{CallError, call, is_over, timed_out},
    conditions::Checks,
    hook::Hook,
    index::Mutating,
    reinvocation::Reinvoked,
    review::{Response, Role},
};
use crate::admission::{
    matching::{Match, Request, RequestNamespace},
    versioned::{BeforeMutation, Versioned},
};

/// The `MutatingAdmissionWebhook` plugin.
pub(crate) struct MutatingAdmissionWebhook(pub(crate) Webhooks<Mutating>);

#[boxed_async]
impl Plugin for MutatingAdmissionWebhook {
    fn reads_updated(&self, cx: &RequestContext) -> bool {
        self.0.concern(cx)
    }

    async fn mutate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&mut Value>,
    ) -> Result<(), Status> {
        let (Some(hooks), Some(pass)) = (self.0.hooks(cx).await?, attributes.reinvocation) else {
            return Ok(());
        };
        let request = Request::new(cx, attributes);
        // The state of the futures below is large, and most requests do not get here.
        Box::pin(self.dispatch(&request, &hooks, pass, object)).await
    }
}

/// A webhook in its round.
struct Turn<'a> {
    hook: &'a Hook,
    /// The position among all webhooks.
    index: usize,
    round: usize,
}

impl MutatingAdmissionWebhook {
    async fn dispatch(
        &self,
        request: &Request<'_>,
        hooks: &[Arc<Hook>],
        pass: &Reinvocation,
        mut object: Option<&mut Value>,
    ) -> Result<(), Status> {
        let round = pass.round();
        if round > 0 {
            pass.with_state(|state: &mut Reinvoked| state.begin_second(object.as_deref()));
        }
        let namespace = RequestNamespace::new(&self.0.stored, request.namespace());
        let checks = Checks::new(request, &self.0.compiler);
        let mut objects: Option<Versioned> = None;
        for (index, hook) in hooks.iter().enumerate() {
            let current = match &objects {
                Some(objects) => objects.object.as_ref(),
                None => object.as_deref(),
            };
            let matched = hook.criteria.matches(request, current, &namespace).await?;
            let Some(matched) = matched else { continue };
            if !hook.conditions.is_empty() {
                let objects = versioned(&mut objects, request, object.as_deref(), &matched).await?;
                let held = checks.hold(hook, request, &matched, objects).await?;
                if !held {
                    continue;
                }
            }
            if round > 0 && !pass.with_state(|state: &mut Reinvoked| state.is_due(&hook.key)) {
                continue;
            }
            let versioned = versioned(&mut objects, request, object.as_deref(), &matched).await?;
            let turn = Turn { hook, index, round };
            let outcome = self.call(&turn, request, &matched, versioned).await;
            if matches!(outcome, Ok(true)) {
                pass.with_state(Reinvoked::require_previous);
                pass.request();
            }
            if hook.reinvoked {
                pass.with_state(|state: &mut Reinvoked| state.invoked(&hook.key));
            }
            if let Err(error) = outcome {
                self.fail(&turn, request, error)?;
            }
        }
        if let (Some(objects), Some(object)) = (objects, object.as_deref_mut())
            && let Some(changed) = objects.into_changed(request).await?
        {
            let before = BeforeMutation::of(request, object);
            *object = changed;
            before.restore_if_broken(request.cx, object);
        }
        pass.with_state(|state: &mut Reinvoked| state.end(object.as_deref()));
        Ok(())
    }

    /// Calls a webhook and applies its patch. Returns whether the object has changed.
    async fn call(
        &self,
        turn: &Turn<'_>,
        request: &Request<'_>,
        matched: &Match,
        objects: &mut Versioned,
    ) -> Result<bool, CallError> {
        let hook = turn.hook;
        let timer = self.0.metrics.start(hook, request, "admit");
        let called = call(
            &self.0.outgoing,
            hook,
            request,
            matched,
            objects,
            Role::Mutating,
            &request.cx.warnings,
        );
        let outcome = called
            .await
            .and_then(|response| turn.patch(request, objects, &response));
        timer.observe(outcome.as_ref().err());
        let mutated = *outcome.as_ref().unwrap_or(&false);
        let key = turn.key("mutation.webhook.admission.k8s.io");
        request.cx.annotations.add(&key, || {
            format!(
                "{{\"configuration\":{},\"webhook\":{},\"mutated\":{mutated}}}",
                Value::from(hook.configuration.as_str()),
                Value::from(hook.name.as_str()),
            )
        });
        outcome
    }

    /// Decides about a call that did not allow the request: an ignored failure lets it pass.
    fn fail(&self, turn: &Turn<'_>, request: &Request<'_>, error: CallError) -> Result<(), Status> {
        let hook = turn.hook;
        match error {
            CallError::Failed { reason, .. } if hook.ignores_failure => {
                self.0.metrics.fail_open(hook, "admit");
                tracing::warn!(webhook = hook.name, %reason, "failed calling webhook, failing open");
                let key = turn.key("failed-open.mutation.webhook.admission.k8s.io");
                request.cx.annotations.add(&key, || hook.name.clone());
                match is_over(request) {
                    true => Err(timed_out()),
                    false => Ok(()),
                }
            }
            error => {
                tracing::warn!(webhook = hook.name, ?error, "rejected by webhook");
                Err(error.into_status(hook))
            }
        }
    }
}

impl Turn<'_> {
    /// Returns the key of an audit annotation about the turn.
    fn key(&self, prefix: &str) -> String {
        format!("{prefix}/round_{}_index_{}", self.round, self.index)
    }

    /// Applies the patch of a response. Returns whether the object has changed.
    fn patch(
        &self,
        request: &Request<'_>,
        objects: &mut Versioned,
        response: &Response,
    ) -> Result<bool, CallError> {
        if response.patch.is_empty() {
            return Ok(false);
        }
        let name = go::quote(&self.hook.name);
        let patch = Patch::decode(&response.patch, Decoding::Lenient).map_err(|e| {
            let text = format!("received undecodable patch in webhook response: {e}");
            CallError::failed(text, 503)
        })?;
        if patch.is_empty() {
            return Ok(false);
        }
        let internal = |text: String| CallError::Internal(status::internal(text));
        let Some(object) = &objects.object else {
            return Err(internal(format!(
                "admission webhook {name} attempted to modify the object, which is not supported for this operation"
            )));
        };
        if response.patch_type != "JSONPatch" {
            let given = go::quote(&response.patch_type);
            return Err(CallError::failed(
                format!("unsupported patch type {given}"),
                400,
            ));
        }
        let patched = json_patch::apply(object.clone(), &patch);
        let patched = patched.map_err(|e| internal(e.to_string()))?;
        let changed = objects
            .replace(request, patched)
            .map_err(CallError::Internal)?;
        let key = self.key("patch.webhook.admission.k8s.io");
        request.cx.annotations.add_at(Level::Request, &key, || {
            let patch: Value = serde_json::from_slice(&response.patch).unwrap_or_default();
            json!({
                "configuration": self.hook.configuration,
                "webhook": self.hook.name,
                "patch": patch,
                "patchType": "JSONPatch",
            })
            .to_string()
        });
        Ok(changed)
    }
}

/// Returns the objects in the version that a webhook asks for, as the webhooks before it left them.
async fn versioned<'a>(
    objects: &'a mut Option<Versioned>,
    request: &Request<'_>,
    object: Option<&Value>,
    matched: &Match,
) -> Result<&'a mut Versioned, Status> {
    // The real server reports such a failure as that of a failure.
    let twice = |e: Status| status::internal(status::internal(e.message).message);
    match objects {
        Some(objects) => {
            let converted = objects.convert(request, object, &matched.kind).await;
            converted.map_err(twice)?;
            Ok(objects)
        }
        none => {
            let made = Versioned::new(request, object, &matched.kind).await;
            Ok(none.insert(made.map_err(twice)?))
        }
    }
}
