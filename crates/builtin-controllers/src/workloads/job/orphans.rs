//! Finalizers of pods that no Job counts any more: those of deleted and finished Jobs.

use std::sync::Arc;

use kube::{Resource, core::ApiResource};
use kubewright_controller::{
    Action, AnyEvent, Context, Controller, Handler, Manager, ManagerError, Request, Result, Watch,
    owner::controller_of,
};
use kubewright_informer::{Event, SharedInformer, StoredObject};

use super::{FINALIZER, manage::remove_finalizer};
use crate::{
    set::FIELD_MANAGER,
    workloads::{
        WORKERS,
        objects::{Job, Pod},
        pods,
    },
};

/// The name of the queue.
const NAME: &str = "job_orphan_pod";

pub(super) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    let jobs = manager.caches().informer(&ApiResource::erase::<Job>(&()));
    let jobs: SharedInformer<Job> = jobs.cast();
    let pods = manager.caches().informer(&ApiResource::erase::<Pod>(&()));
    let of_pod = move |event: &AnyEvent| {
        let pod = event.object();
        let is_gone = matches!(event, Event::Deleted { .. });
        match !is_gone && is_orphan(pod, &jobs) {
            true => vec![Request::from(&**pod)],
            false => Vec::new(),
        }
    };
    let of_job = move |event: &AnyEvent| {
        let job = event.object();
        let is_over = match event {
            Event::Deleted { .. } => true,
            _ => {
                let job = job.clone().cast::<Job>().get();
                job.is_ok_and(|job| job.finished().is_some())
            }
        };
        if !is_over {
            return Vec::new();
        }
        let snapshot = pods.indexer().snapshot();
        let owned = pods::cached_children(&snapshot, &Job::kind(&()), job.uid());
        let owned = owned.iter().filter(|pod| has_finalizer(pod));
        owned.map(|pod| Request::from(&**pod)).collect()
    };
    Controller::builder()
        .named(NAME)
        .field_manager(FIELD_MANAGER)
        .max_concurrent_reconciles(WORKERS)
        .watch(Watch::of::<Pod>(Handler::events(of_pod)))
        .watch(Watch::of::<Job>(Handler::events(of_job)))
        .rate_limiter(super::limiter())
        .build(manager, release)?;
    Ok(())
}

fn has_finalizer(pod: &StoredObject) -> bool {
    pod.finalizers().iter().any(|other| other == FINALIZER)
}

/// Reports whether a pod is tracked, and by no Job that still runs.
fn is_orphan(pod: &StoredObject, jobs: &SharedInformer<Job>) -> bool {
    if !has_finalizer(pod) {
        return false;
    }
    let Some(owner) = pod.controller() else {
        return true;
    };
    if owner.kind != "Job" || owner.api_version != "batch/v1" {
        return false;
    }
    let key = format!("{}/{}", pod.namespace().unwrap_or_default(), owner.name);
    let job = jobs.indexer().get(&key);
    let job: Option<Arc<Job>> = job.and_then(|job| job.decode().ok());
    job.is_none_or(|job| {
        let is_other = job.metadata.uid.as_deref() != Some(&*owner.uid);
        is_other || job.finished().is_some() && !job.is_managed_elsewhere()
    })
}

async fn release(context: Context, request: Request) -> Result<Action> {
    let client = context.client();
    let Some(pod) = context.get::<Pod>(&request).await? else {
        return Ok(Action::done());
    };
    if let Some(owner) = controller_of(&*pod) {
        if owner.kind != "Job" || owner.api_version != "batch/v1" {
            return Ok(Action::done());
        }
        let namespace = request.namespace().unwrap_or_default();
        let job: Option<Arc<Job>> = client.get(namespace, &owner.name).await?;
        let job = job.filter(|job| job.metadata.uid.as_deref() == Some(owner.uid.as_str()));
        if job.is_some_and(|job| job.is_managed_elsewhere() || job.finished().is_none()) {
            return Ok(Action::done());
        }
    }
    remove_finalizer(client, &pod).await?;
    Ok(Action::done())
}
