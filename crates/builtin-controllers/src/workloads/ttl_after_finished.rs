//! `ttl-after-finished-controller`: deletes finished Jobs after their time to live.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kube::{
    ResourceExt,
    api::{DeleteParams, Preconditions},
};
use kubewright_client::ErrorExt;
use kubewright_controller::{
    Action, Context, Controller, Manager, ManagerError, Request, Result, Watch,
};

use crate::{
    names::Name,
    set::FIELD_MANAGER,
    workloads::{WORKERS, objects::Job, pods},
};

pub(crate) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    Controller::builder()
        .named(Name::TtlAfterFinished.as_str())
        .field_manager(FIELD_MANAGER)
        .max_concurrent_reconciles(WORKERS)
        .watch(Watch::of::<Job>(pods::events_of_objects()))
        .build(manager, sync)?;
    Ok(())
}

async fn sync(context: Context, request: Request) -> Result<Action> {
    let Some(job) = context.get::<Job>(&request).await? else {
        return Ok(Action::done());
    };
    let wait = |left: SignedDuration| {
        Action::requeue_after(Duration::try_from(left).unwrap_or(Duration::ZERO))
    };
    match left(&job, context.now()) {
        None => return Ok(Action::done()),
        Some(left) if left.is_positive() => return Ok(wait(left)),
        Some(_) => {}
    }
    // The cache may be old, and the time to live longer now.
    let live: Option<Job> = context.client().get_live(request.key()).await?;
    let Some(live) = live else {
        return Ok(Action::done());
    };
    match left(&live, context.now()) {
        None => Ok(Action::done()),
        Some(left) if left.is_positive() => Ok(wait(left)),
        Some(_) => delete(&context, &live).await,
    }
}

/// Returns the time until a finished Job will be deleted; `None` if it has no time to live.
fn left(job: &Job, now: Timestamp) -> Option<SignedDuration> {
    let (_, end) = job.finished()?;
    if job.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let seconds = job.spec.ttl_seconds_after_finished?;
    let end = end.last_transition_time.as_ref()?.0;
    let time_to_live = SignedDuration::from_secs(i64::from(seconds));
    Some(time_to_live.saturating_sub(now.duration_since(end)))
}

async fn delete(context: &Context, job: &Job) -> Result<Action> {
    let params = DeleteParams {
        preconditions: Some(Preconditions {
            uid: job.uid(),
            resource_version: None,
        }),
        ..DeleteParams::foreground()
    };
    let jobs = context
        .client()
        .api::<Job>(&job.namespace().unwrap_or_default());
    match jobs.delete(&job.name_any(), &params).await {
        Err(error) if !error.is_not_found() => Err(error.into()),
        _ => Ok(Action::done()),
    }
}
