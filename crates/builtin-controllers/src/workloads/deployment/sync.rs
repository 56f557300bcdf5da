//! One pass over a Deployment.

use std::sync::Arc;

use kubewright_client::ErrorExt;
use kubewright_controller::{
    Action, Context, Error, Request, Result, events::EventType, events::Recorder,
};
use kubewright_machinery::labels::LabelSelector;
use serde_json::Value;

use super::{
    rollback,
    rollout::{Rollout, by_creation},
    sets::Create,
};
use crate::{
    namespace::is_terminating_cause,
    workloads::{
        objects::{Current, Deployment, ReplicaSet},
        pods::{Claims, owned_and_orphans},
    },
};

/// The number of failures in a row after which a Deployment is left alone until it changes.
const TRIES: usize = 15;

/// The label that distinguishes the pods of a Deployment's ReplicaSets.
pub(super) const HASH: &str = "pod-template-hash";

pub(super) async fn sync(context: &Context<(), Recorder>, request: &Request) -> Result<Action> {
    match attempt(context, request).await {
        Err(error) if error.api_status().is_some_and(is_terminating_cause) => Ok(Action::done()),
        Err(error) if context.attempt() >= TRIES => Err(Error::terminal(error).into()),
        outcome => outcome,
    }
}

async fn attempt(context: &Context<(), Recorder>, request: &Request) -> Result<Action> {
    let client = context.client();
    if context.get::<Deployment>(request).await?.is_none() {
        return Ok(Action::done());
    }
    let cache = client.informer::<Deployment>();
    let Some(stored) = cache.indexer().get(request.key().as_str()) else {
        return Ok(Action::done());
    };
    let Current { object, body } = Current::<Deployment>::of(&stored)?;
    let mut rollout = Rollout {
        context,
        deployment: object,
        body,
        old: Vec::new(),
        new: None,
    };
    if selects_everything(&rollout.deployment.spec.selector) {
        return reject(&mut rollout).await;
    }
    let sets = sets_of(context, &rollout.deployment).await?;
    rollout.assign(sets);
    run(&mut rollout).await
}

/// Chooses the action.
async fn run(rollout: &mut Rollout<'_>) -> Result<Action> {
    if rollout.deployment.metadata.deletion_timestamp.is_some() {
        rollout.sync_new_set(Create::No).await?;
        return rollout.sync_status().await;
    }
    rollout.check_paused().await?;
    if rollout.deployment.spec.paused {
        return resize(rollout).await;
    }
    if rollback::requested(&rollout.deployment).is_some() {
        return rollout.roll_back().await;
    }
    rollout.sync_new_set(Create::No).await?;
    if rollout.is_scaled() {
        return resize(rollout).await;
    }
    match rollout.deployment.spec.strategy.r#type.as_str() {
        "Recreate" => rollout.recreate().await,
        "RollingUpdate" => rollout.roll().await,
        other => {
            let message = format!("unexpected deployment strategy type: {other}");
            Err(Error::message(message).into())
        }
    }
}

/// Scales the ReplicaSets of a Deployment that is paused or was scaled, and replaces no pods.
async fn resize(rollout: &mut Rollout<'_>) -> Result<Action> {
    rollout.sync_new_set(Create::No).await?;
    rollout.scale().await?;
    let is_paused = rollout.deployment.spec.paused;
    if is_paused && rollback::requested(&rollout.deployment).is_none() {
        rollout.clean_up().await?;
    }
    rollout.sync_status().await
}

/// Warns that a Deployment which selects all pods does nothing.
async fn reject(rollout: &mut Rollout<'_>) -> Result<Action> {
    let message = "This deployment is selecting all pods. A non-empty selector is required.";
    rollout.event(EventType::Warning, "SelectingAll", message.into());
    let generation = rollout.deployment.metadata.generation.unwrap_or(0);
    if rollout.deployment.status.observed_generation < generation {
        rollout.deployment.status.observed_generation = generation;
        rollout.write_status().await?;
    }
    Ok(Action::done())
}

fn selects_everything(selector: &Value) -> bool {
    let is_empty = |field: &str| match &selector[field] {
        Value::Object(labels) => labels.is_empty(),
        Value::Array(expressions) => expressions.is_empty(),
        _ => true,
    };
    is_empty("matchLabels") && is_empty("matchExpressions")
}

/// Claims the ReplicaSets of a Deployment, oldest first.
async fn sets_of(
    context: &Context<(), Recorder>,
    deployment: &Deployment,
) -> Result<Vec<Current<ReplicaSet>>> {
    let client = context.client();
    let selector = LabelSelector::from_label_selector(&deployment.spec.selector)
        .map_err(|error| Error::terminal(error.to_string()))?;
    let stored = owned_and_orphans::<Deployment, ReplicaSet>(client, deployment).await?;
    let mut sets: Vec<Arc<ReplicaSet>> = Vec::with_capacity(stored.len());
    for set in &stored {
        sets.push(set.decode()?);
    }
    let claims = Claims::new(client, deployment);
    let matches = |set: &ReplicaSet| {
        let labels = set.metadata.labels.as_ref();
        selector.matches(|name| labels.and_then(|l| l.get(name)).map(String::as_str))
    };
    let claimed = claims.claim(sets, matches).await?;
    let is_claimed = |uid: &str| {
        let mut claimed = claimed.iter();
        claimed.any(|set| set.metadata.uid.as_deref() == Some(uid))
    };
    let mut currents = Vec::with_capacity(claimed.len());
    for set in stored.iter().filter(|set| is_claimed(set.uid())) {
        currents.push(Current::<ReplicaSet>::of(set)?);
    }
    currents.sort_by(|a, b| by_creation(&a.object, &b.object));
    Ok(currents)
}
