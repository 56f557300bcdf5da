//! One pass over a Job.

use std::{sync::Arc, time::Duration};

use jiff::SignedDuration;
use kube::Resource;
use kubewright_controller::{Action, Context, Request, Result, events::EventType};
use kubewright_informer::StoredObject;
use kubewright_machinery::labels::LabelSelector;

use super::{
    FINALIZER, Jobs,
    manage::{Managed, delete_active, manage},
    pass::Pass,
    track::{StatusWriter, track},
};
use crate::workloads::{
    objects::{Condition, Current, Job, Pod},
    pods::{Claims, PodControl, owned_and_orphans},
};

pub(super) async fn sync(context: &Context<(), Jobs>, request: &Request) -> Result<Action> {
    let (client, jobs) = (context.client(), context.state());
    if context.get::<Job>(request).await?.is_none() {
        jobs.forget(request);
        return Ok(Action::done());
    }
    let cache = client.informer::<Job>();
    let Some(stored) = cache.indexer().get(request.key().as_str()) else {
        return Ok(Action::done());
    };
    let Current { object: job, body } = Current::<Job>::of(&stored)?;
    if job.is_managed_elsewhere() {
        return Ok(Action::done());
    }
    if job.finished().is_some() {
        jobs.forget(request);
        return Ok(Action::done());
    }
    let pods = pods_of(context, &job).await?;
    let now = context.now();
    let mut pass = Pass::new(&job, pods, jobs.backoff(request), now);
    pass.decide();
    let control = PodControl {
        client,
        recorder: &jobs.recorder,
        owner: job.object_ref(&()),
    };
    let (managed, is_suspension_new) = match pass.end {
        Some(_) => (end(&control, &mut pass).await, false),
        None => go_on(&control, &mut pass).await,
    };
    let is_changed = is_suspension_new
        || pass.active_count != job.status.active
        || job.status.ready != Some(pass.ready)
        || job.status.terminating != Some(pass.terminating);
    pass.status.active = pass.active_count;
    pass.status.ready = Some(pass.ready);
    pass.status.terminating = Some(pass.terminating);
    let next = next_check(&pass, &managed);
    let mut writer = StatusWriter::new(client, job.metadata.clone(), body);
    let tracked = track(&mut writer, &mut pass, is_changed).await?;
    if tracked.is_flushed {
        jobs.set_backoff(request, pass.backoff);
    }
    if let Some(end) = tracked.ended {
        tell_of_end(jobs, &pass, &end);
        return Ok(Action::done());
    }
    match managed.failure {
        Some(error) => Err(error.into()),
        None => Ok(next.map_or_else(Action::done, Action::requeue_after)),
    }
}

/// Claims the pods of a Job.
async fn pods_of(context: &Context<(), Jobs>, job: &Job) -> Result<Vec<Arc<Pod>>> {
    let selector = LabelSelector::from_label_selector(&job.spec.selector);
    let selector = selector.map_err(|error| {
        kubewright_controller::Error::message(format!("couldn't convert Job selector: {error}"))
    })?;
    let client = context.client();
    let stored = owned_and_orphans::<Job, Pod>(client, job).await?;
    let pods: std::result::Result<Vec<Arc<Pod>>, _> =
        stored.iter().map(StoredObject::decode).collect();
    let claimed = Claims::new(client, job)
        .with_finalizers(&[FINALIZER])
        .claim(pods?, |pod: &Pod| selector.matches(|name| pod.label(name)))
        .await?;
    // What has just been adopted has the finalizer too.
    let with_finalizer = |pod: Arc<Pod>| match pod.metadata.owner_references {
        Some(ref owners)
            if owners
                .iter()
                .any(|owner| Some(&owner.uid) == job.metadata.uid.as_ref()) =>
        {
            pod
        }
        _ if pod.has_finalizer(FINALIZER) => pod,
        _ => {
            let mut pod = Arc::unwrap_or_clone(pod);
            let finalizers = pod.metadata.finalizers.get_or_insert_default();
            finalizers.push(FINALIZER.to_owned());
            Arc::new(pod)
        }
    };
    Ok(claimed.into_iter().map(with_finalizer).collect())
}

/// Deletes the pods of a Job that is to end. While a deletion fails, the end is not announced.
async fn end(control: &PodControl<'_>, pass: &mut Pass<'_>) -> Managed {
    let (are_deleted, failure) = delete_active(control, pass).await;
    if !are_deleted {
        pass.end = None;
    }
    Managed {
        wait: None,
        failure,
    }
}

/// Creates and deletes pods of a Job that continues. Returns whether it was suspended or resumed.
async fn go_on(control: &PodControl<'_>, pass: &mut Pass<'_>) -> (Managed, bool) {
    let is_deleted = pass.job.metadata.deletion_timestamp.is_some();
    let managed = match is_deleted {
        true => Managed::default(),
        false => manage(control, pass).await,
    };
    pass.decide_by_completions();
    if pass.end.is_some() || is_deleted {
        return (managed, false);
    }
    let is_new = pass.note_suspension();
    if is_new {
        let (reason, message) = match pass.job.spec.suspend {
            true => ("Suspended", "Job suspended"),
            false => ("Resumed", "Job resumed"),
        };
        let job = control.owner.clone();
        control
            .recorder
            .event_about(job, EventType::Normal, reason, message);
    }
    (managed, is_new)
}

/// Returns the time until the next pass that no event causes.
fn next_check(pass: &Pass<'_>, managed: &Managed) -> Option<Duration> {
    let deadline = pass.deadline().filter(SignedDuration::is_positive);
    let deadline = deadline.and_then(|left| Duration::try_from(left).ok());
    let times = [managed.wait, deadline.filter(|_| pass.end.is_none())];
    times.into_iter().flatten().min()
}

fn tell_of_end(jobs: &Jobs, pass: &Pass<'_>, end: &Condition) {
    let tell = |type_, reason: &str, message: &str| {
        jobs.recorder.event(pass.job, type_, reason, message);
    };
    if end.r#type == "Failed" {
        return tell(EventType::Warning, &end.reason, &end.message);
    }
    let completions = pass.job.spec.completions;
    if completions.is_some_and(|completions| pass.status.succeeded > completions) {
        let message = "Too many succeeded pods running after completion count reached";
        tell(EventType::Warning, "TooManySucceededPods", message);
    }
    tell(EventType::Normal, "Completed", "Job completed");
}
