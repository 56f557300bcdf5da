//! One pass over a StatefulSet.

use std::{collections::HashMap, sync::Arc, time::Duration};

use kubewright_controller::{Action, Context, Request, Result, events::Recorder};
use kubewright_informer::StoredObject;
use kubewright_machinery::labels::LabelSelector;
use serde_json::json;

use super::{
    control::Control,
    identity::{is_member, ordinal},
    replica::Replica,
    revisions::revisions_of,
    update::Update,
};
use crate::workloads::{
    history,
    objects::{Current, Draft, Pod, StatefulSet, StatefulSetStatus},
    pods::{Claims, owned_and_orphans},
};

pub(super) async fn sync(context: &Context<(), Recorder>, request: &Request) -> Result<Action> {
    let client = context.client();
    if context.get::<StatefulSet>(request).await?.is_none() {
        return Ok(Action::done());
    }
    let cache = client.informer::<StatefulSet>();
    let Some(stored) = cache.indexer().get(request.key().as_str()) else {
        return Ok(Action::done());
    };
    let current = Current::<StatefulSet>::of(&stored)?;
    let set = &current.object;
    let Ok(selector) = LabelSelector::from_label_selector(&set.spec.selector) else {
        tracing::error!(%request, "the selector is invalid");
        return Ok(Action::done());
    };
    let known = history::list(client, set, &selector).await?;
    let pods = pods_of(context, set, &selector).await?;
    let revisions = revisions_of(client, set, &known).await?;
    let used: Vec<String> = pods.iter().map(|pod| pod.revision().to_owned()).collect();
    let now = context.now();
    let control = Control { context, set };
    let update = Update::new(control, &revisions, now, pods);
    let mut status = StatefulSetStatus {
        observed_generation: set.metadata.generation.unwrap_or(0),
        current_revision: revisions.current.metadata.name.clone().unwrap_or_default(),
        update_revision: revisions.update.metadata.name.clone().unwrap_or_default(),
        collision_count: Some(revisions.collisions),
        ..StatefulSetStatus::default()
    };
    update.count(&mut status);
    let outcome = update.run(&mut status).await;
    complete(set, &mut status);
    let written = write_status(context, &current, &status).await;
    let is_live = |name: &str| {
        let own = [&status.current_revision, &status.update_revision];
        let before = &revisions.current.metadata.name;
        own.iter().any(|live| *live == name)
            || before.as_deref() == Some(name)
            || used.iter().any(|live| live == name)
    };
    let truncated = history::truncate(client, &known, is_live, set.spec.revision_history_limit);
    outcome.and(written).and(truncated.await)?;
    Ok(next_check(&update, set, &status))
}

/// Claims the pods with the names of the set.
async fn pods_of(
    context: &Context<(), Recorder>,
    set: &StatefulSet,
    selector: &LabelSelector,
) -> Result<Vec<Replica>> {
    let client = context.client();
    let stored = owned_and_orphans::<StatefulSet, Pod>(client, set).await?;
    let mut pods = Vec::with_capacity(stored.len());
    let mut by_name: HashMap<String, Arc<StoredObject>> = HashMap::new();
    for object in stored {
        pods.push(object.decode::<Pod>()?);
        by_name.insert(object.name().to_owned(), object);
    }
    let matches = |pod: &Pod| selector.matches(|name| pod.label(name)) && is_member(set, pod);
    let claimed = Claims::new(client, set).claim(pods, matches).await?;
    let replica = |pod: Arc<Pod>| {
        Some(Replica {
            ordinal: ordinal(&pod)?,
            stored: by_name.remove(pod.metadata.name.as_deref()?),
            template: None,
            pod,
        })
    };
    Ok(claimed.into_iter().filter_map(replica).collect())
}

/// Makes the new revision the current one when all pods have it and are ready.
fn complete(set: &StatefulSet, status: &mut StatefulSetStatus) {
    let wanted = set.replicas();
    if set.spec.update_strategy.r#type == "RollingUpdate"
        && [
            status.updated_replicas,
            status.ready_replicas,
            status.replicas,
        ] == [wanted; 3]
    {
        status.current_replicas = status.updated_replicas;
        status.current_revision.clone_from(&status.update_revision);
    }
}

/// Writes the status if it differs in more than the number of collisions.
async fn write_status(
    context: &Context<(), Recorder>,
    current: &Current<StatefulSet>,
    status: &StatefulSetStatus,
) -> Result<()> {
    let known = StatefulSetStatus {
        collision_count: status.collision_count,
        ..current.object.status.clone()
    };
    if known == *status {
        return Ok(());
    }
    let mut body = current.body.clone();
    body["status"] = json!(status);
    let draft = Draft::<StatefulSet>::new(current.object.metadata.clone(), body);
    context.client().update_status(&draft).await?;
    Ok(())
}

/// Returns when the next pod becomes available without any event.
fn next_check(update: &Update<'_>, set: &StatefulSet, status: &StatefulSetStatus) -> Action {
    let wait = set.spec.min_ready_seconds;
    if wait <= 0 || status.ready_replicas == status.available_replicas {
        return Action::done();
    }
    let pods = update.replicas.iter().chain(&update.condemned);
    let at = pods.filter_map(|replica| replica.pod.available_at(wait));
    let next = at.filter(|at| *at > update.now).min();
    let left = next.and_then(|at| Duration::try_from(at.duration_since(update.now)).ok());
    let fallback = Duration::from_secs(u64::from(wait.unsigned_abs()));
    Action::requeue_after(left.unwrap_or(fallback))
}
