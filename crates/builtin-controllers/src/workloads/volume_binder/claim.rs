//! One pass over a claim.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::ResourceExt;
use kubewright_controller::{Action, Context, Filter, Request, Result, events::EventType};
use kubewright_informer::Key;

use super::{
    BIND_COMPLETED, BOUND_BY_CONTROLLER, Binder, SELECTED_NODE,
    binding::bind,
    claims_annotation,
    classes::{self, is_delayed},
    matching::{Wanted, best_match, is_meant_for},
    status::{set_lost, set_unbound},
};

pub(super) async fn sync(context: &Context<(), Binder>, request: &Request) -> Result<Action> {
    let Some(claim) = context.get::<PersistentVolumeClaim>(request).await? else {
        context.state().forget(request.key());
        return Ok(Action::done());
    };
    let name = claim
        .spec
        .as_ref()
        .and_then(|spec| spec.volume_name.clone());
    let name = name.filter(|name| !name.is_empty());
    let is_bound = claims_annotation(&claim, BIND_COMPLETED).is_some();
    match (is_bound, name) {
        (true, name) => sync_bound(context, &claim, name).await?,
        (false, Some(name)) => sync_named(context, &claim, &name).await?,
        (false, None) => sync_unbound(context, &claim).await?,
    }
    Ok(Action::done())
}

async fn find(context: &Context<(), Binder>, name: &str) -> Result<Option<Arc<PersistentVolume>>> {
    Ok(context.client().get_key(&Key::new(None, name)).await?)
}

/// Finds a volume for a claim that takes any, or has one provisioned.
async fn sync_unbound(context: &Context<(), Binder>, claim: &PersistentVolumeClaim) -> Result<()> {
    let class = classes::find(context.client(), claim).await?;
    let is_delayed = class.is_some_and(|class| is_delayed(&class));
    let mut wanted = Wanted::by(claim);
    // The scheduler chooses the volumes of claims that wait for a pod.
    wanted.only_prebound = is_delayed;
    let volumes = context
        .client()
        .list::<PersistentVolume>(&Filter::new())
        .await?;
    if let Some(volume) = best_match(&wanted, &volumes) {
        return bind(context, &volume, claim).await;
    }
    if classes::assign_default(context, claim).await? {
        return Ok(());
    }
    if is_delayed && claims_annotation(claim, SELECTED_NODE).is_none() {
        classes::tell_of_waiting(context, claim).await?;
    } else if !classes::class_of(claim).is_empty() {
        return classes::provision(context, claim).await;
    } else {
        let message = "no persistent volumes available for this claim and no storage class is set";
        context
            .state()
            .tell(claim, EventType::Normal, "FailedBinding", message);
    }
    set_unbound(context, claim, "Pending").await?;
    Ok(())
}

/// Binds a claim to the volume that it names, if it may have it.
async fn sync_named(
    context: &Context<(), Binder>,
    claim: &PersistentVolumeClaim,
    name: &str,
) -> Result<()> {
    let Some(volume) = find(context, name).await? else {
        set_unbound(context, claim, "Pending").await?;
        return Ok(());
    };
    let is_claimed = volume
        .spec
        .as_ref()
        .is_some_and(|spec| spec.claim_ref.is_some());
    let problem = match is_claimed {
        true if is_meant_for(&volume, claim) => None,
        true => Some((
            "FailedBinding",
            format!("volume {name:?} already bound to a different claim."),
        )),
        false => {
            let mismatch = Wanted::by(claim).mismatch(&volume);
            mismatch.map(|reason| {
                let message = format!("Cannot bind to requested volume {name:?}: {reason}");
                ("VolumeMismatch", message)
            })
        }
    };
    let Some((reason, message)) = problem else {
        return bind(context, &volume, claim).await;
    };
    context
        .state()
        .tell(claim, EventType::Warning, reason, message);
    if is_claimed && claims_annotation(claim, BOUND_BY_CONTROLLER).is_some() {
        return Ok(());
    }
    set_unbound(context, claim, "Pending").await?;
    Ok(())
}

/// Checks that a claim which was bound still is.
async fn sync_bound(
    context: &Context<(), Binder>,
    claim: &PersistentVolumeClaim,
    name: Option<String>,
) -> Result<()> {
    let lost = async |reason: &str, message: &str| set_lost(context, claim, reason, message).await;
    let Some(name) = name else {
        let message =
            "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!";
        return lost("ClaimLost", message).await;
    };
    let Some(volume) = find(context, &name).await? else {
        let message = "Bound claim has lost its PersistentVolume. Data on the volume is lost!";
        return lost("ClaimLost", message).await;
    };
    let owner = volume
        .spec
        .as_ref()
        .and_then(|spec| spec.claim_ref.as_ref());
    match owner {
        Some(owner) if owner.uid != claim.uid() => {
            let message = "Two claims are bound to the same volume, this one is bound incorrectly";
            lost("ClaimMisbound", message).await
        }
        _ => bind(context, &volume, claim).await,
    }
}
