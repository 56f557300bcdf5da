//! `validatingadmissionpolicy-status-controller`: checks the expressions of validating admission policies against the types of
//! the objects that they are for, and reports the warnings in `status.typeChecking`.
//!
//! A policy is enforced regardless of its status. It is checked once for each generation, against the schemas that the server
//! has then.
//!
//! | file | contents |
//! |---|---|
//! | `kinds` | the kinds that a policy is for |
//! | `schemas` | their types, from the OpenAPI documents of the server |
//! | `check` | the warnings |

mod check;
mod kinds;
mod schemas;

use std::sync::Arc;

use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicySpec,
};
use kube::{
    ResourceExt,
    api::{Patch, PatchParams},
};
use kubewright_client::{DiscoveryClient, DiscoveryRestMapper, ErrorExt, discovery::MemoryCache};
use kubewright_controller::{
    Action, Context, Controller, Handler, Manager, ManagerError, Request, Result, Watch,
};
use serde_json::{Value, json};

use self::{check::warnings, schemas::Schemas};
use crate::names::Name;

/// The field manager of the status.
const FIELD_MANAGER: &str = "validatingadmissionpolicy-status";

pub(crate) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    let discovery = DiscoveryClient::new(manager.client().live());
    let mapper = DiscoveryRestMapper::new(Arc::new(MemoryCache::new(discovery)));
    let reconcile = move |context: Context, request: Request| {
        let mapper = mapper.clone();
        async move { reconcile(&context, &request, &mapper).await }
    };
    Controller::builder()
        .named(Name::PolicyStatus.as_str())
        .watch(
            // A policy is read from the server when it is worked on.
            Watch::of::<ValidatingAdmissionPolicy>(Handler::for_object()).metadata_only(),
        )
        .build(manager, reconcile)?;
    Ok(())
}

async fn reconcile(
    context: &Context,
    request: &Request,
    mapper: &DiscoveryRestMapper,
) -> Result<Action> {
    let policy: Option<ValidatingAdmissionPolicy> =
        context.client().get_live(request.key()).await?;
    let Some(policy) = policy else {
        return Ok(Action::done());
    };
    let generation = policy.metadata.generation.unwrap_or_default();
    let status = policy.status.as_ref();
    let observed = status.and_then(|status| status.observed_generation);
    if generation <= observed.unwrap_or_default() {
        return Ok(Action::done());
    }
    let spec = policy.spec.clone().unwrap_or_default();
    let warnings = check_types(context, spec, mapper).await?;
    let status = json!({"observedGeneration": generation, "typeChecking": type_checking(warnings)});
    apply(context, &policy, status).await?;
    Ok(Action::done())
}

/// Returns the warnings about a policy.
async fn check_types(
    context: &Context,
    spec: ValidatingAdmissionPolicySpec,
    mapper: &DiscoveryRestMapper,
) -> Result<Vec<Value>> {
    let kinds = kinds::of(&spec, mapper).await?;
    let mut schemas = Schemas::new(context.client().live());
    let mut types = Vec::with_capacity(kinds.len());
    for kind in kinds {
        if let Some(of) = schemas.find(&kind).await {
            types.push((kind, of));
        }
    }
    let params = match kinds::of_params(&spec) {
        Some(kind) => {
            let of = schemas.find(&kind).await.flatten();
            Some((kind, of))
        }
        None => None,
    };
    let checked = tokio::task::spawn_blocking(move || warnings(&spec, &types, params.as_ref()));
    Ok(checked.await?)
}

fn type_checking(warnings: Vec<Value>) -> Value {
    match warnings.is_empty() {
        true => json!({}),
        false => json!({"expressionWarnings": warnings}),
    }
}

async fn apply(context: &Context, policy: &ValidatingAdmissionPolicy, status: Value) -> Result<()> {
    // The uid keeps the status of a policy that is deleted meanwhile from its successor.
    let object = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": policy.name_any(), "uid": policy.metadata.uid},
        "status": status,
    });
    let policies = context.client().cluster_api::<ValidatingAdmissionPolicy>();
    let how = PatchParams::apply(FIELD_MANAGER).force();
    let (name, patch) = (policy.name_any(), Patch::Apply(object));
    match policies.patch_status(&name, &how, &patch).await {
        Err(error) if error.is_not_found() || error.is_conflict() => Ok(()),
        applied => Ok(applied.map(drop)?),
    }
}
