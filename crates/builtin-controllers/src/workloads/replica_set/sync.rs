//! One pass over a set of pods.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use kube::ResourceExt;
use kubewright_client::Error;
use kubewright_controller::{Action, Context, Request, Result, events::Recorder};
use kubewright_informer::StoredObject;

use super::{Replicated, status, surplus};
use crate::workloads::{
    objects::{Current, Pod, controller_reference},
    pace::Pace,
    pods::{Claims, PodControl, owned_and_orphans, pod_of, slow_start},
};

/// The maximum number of pods that are created or deleted in one pass.
const BURST: usize = 500;

pub(super) async fn sync<K: Replicated>(
    context: &Context<(), Recorder>,
    request: &Request,
    pace: &Pace,
) -> Result<Action> {
    pace.rest(request).await;
    let client = context.client();
    if context.get::<K>(request).await?.is_none() {
        return Ok(Action::done());
    }
    let cache = client.informer::<K>();
    let Some(stored) = cache.indexer().get(request.key().as_str()) else {
        return Ok(Action::done());
    };
    let set: Arc<K> = stored.decode()?;
    let Some(selector) = set.selector() else {
        tracing::error!(%request, "the selector is invalid");
        return Ok(Action::done());
    };
    let pods = pods_of(context, &*set).await?;
    pace.looked_at(request, pods.len());
    let matches = |pod: &Pod| selector.matches(|name| pod.label(name));
    let terminating = pods
        .iter()
        .filter(|pod| pod.is_terminating() && is_controlled_by(pod, &*set) && matches(pod));
    let terminating = terminating.count();
    let active = pods.into_iter().filter(|pod| pod.is_active()).collect();
    let active = Claims::new(client, &*set).claim(active, matches).await?;
    let failure = match set.meta().deletion_timestamp {
        Some(_) => None,
        None => manage(context, &*set, &active).await?,
    };
    let now = context.now();
    let counts = status::Counts {
        active: &active,
        terminating,
        failure: failure.as_ref(),
    };
    let new = status::calculate(&*set, &counts, now);
    write_status(context, &stored, &*set, &new).await?;
    if let Some(error) = failure {
        return Err(error.into());
    }
    // A pod that is ready becomes available without any event.
    let wait = set.spec().min_ready_seconds;
    if wait > 0 && new.ready_replicas != new.available_replicas {
        let at = active.iter().filter_map(|pod| pod.available_at(wait));
        let next = at.filter(|at| *at > now).min();
        let left = next.and_then(|at| Duration::try_from(at.duration_since(now)).ok());
        let fallback = Duration::from_secs(u64::from(wait.unsigned_abs()));
        return Ok(Action::requeue_after(left.unwrap_or(fallback)));
    }
    Ok(Action::done())
}

/// Returns the pods that a set controls, and those of its namespace that nothing controls.
pub(super) async fn pods_of<K: Replicated>(
    context: &Context<(), Recorder>,
    set: &K,
) -> Result<Vec<Arc<Pod>>> {
    let stored = owned_and_orphans::<K, Pod>(context.client(), set).await?;
    let pods: std::result::Result<_, _> = stored.iter().map(StoredObject::decode).collect();
    Ok(pods?)
}

fn is_controlled_by<K: Replicated>(pod: &Pod, set: &K) -> bool {
    kubewright_controller::owner::is_controlled_by(pod, set)
}

/// Creates missing pods, or deletes surplus ones. Returns the error of the server, which goes into the status.
async fn manage<K: Replicated>(
    context: &Context<(), Recorder>,
    set: &K,
    active: &[Arc<Pod>],
) -> Result<Option<Error>> {
    let control = PodControl {
        client: context.client(),
        recorder: context.state(),
        owner: set.object_ref(&()),
    };
    let wanted = usize::try_from(set.spec().replicas.unwrap_or(1)).unwrap_or(0);
    if active.len() < wanted {
        let missing = (wanted - active.len()).min(BURST);
        let namespace = set.namespace().unwrap_or_default();
        let pod = pod_of(&set.spec().template, &namespace, &controller_reference(set));
        if set.spec().template.labels().is_empty() {
            return Ok(Some(Error::Request(
                "unable to create pods, no labels".into(),
            )));
        }
        let (_, failure) = slow_start(missing, BURST, |_| control.create(&pod)).await;
        return Ok(failure);
    }
    let surplus = (active.len() - wanted).min(BURST);
    if surplus == 0 {
        return Ok(None);
    }
    let doomed = surplus::choose(context, set, active, surplus).await?;
    let deletions = doomed.iter().map(|pod| control.delete(pod));
    let outcomes = join_all(deletions).await;
    Ok(outcomes.into_iter().find_map(std::result::Result::err))
}

/// Writes the status if it differs; after a conflict once more, onto the object as the server has it.
async fn write_status<K: Replicated>(
    context: &Context<(), Recorder>,
    stored: &Arc<StoredObject>,
    set: &K,
    status: &crate::workloads::objects::SetStatus,
) -> Result<()> {
    if set.status() == status {
        return Ok(());
    }
    let current = Current::<K>::of(stored)?;
    match status::write::<K>(context, current.body, status).await {
        Ok(()) => Ok(()),
        Err(first) => {
            let live = status::read_live::<K>(context, set).await?;
            let Some(live) = live else {
                return Err(first.into());
            };
            Ok(status::write::<K>(context, live, status).await?)
        }
    }
}
