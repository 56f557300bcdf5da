//! One pass over a CronJob.

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{Resource, ResourceExt, api::DeleteParams};
use kubewright_client::ErrorExt;
use kubewright_controller::{
    Action, Context, Error, Request, Result,
    events::{EventType, Recorder},
};
use kubewright_informer::{Key, StoredObject};
use kubewright_machinery::go;
use serde_json::json;

use super::{
    CronJobs,
    start::{name_of, start},
    timetable::{Missed, Timetable, zone_of},
};
use crate::workloads::{
    objects::{CronJob, Current, Draft, Job, JobEnd},
    pods::owned_by,
};

/// The time after the scheduled one at which a pass comes, so that it is not early.
const DELTA: SignedDuration = SignedDuration::from_millis(100);

pub(super) async fn sync(context: &Context<(), CronJobs>, request: &Request) -> Result<Action> {
    let client = context.client();
    if context.get::<CronJob>(request).await?.is_none() {
        context.state().changed.lock().remove(request);
        return Ok(Action::done());
    }
    let cache = client.informer::<CronJob>();
    let Some(stored) = cache.indexer().get(request.key().as_str()) else {
        return Ok(Action::done());
    };
    let Current { object, mut body } = Current::<CronJob>::of(&stored)?;
    let before = object.status.clone();
    let uid = object.metadata.uid.clone().unwrap_or_default();
    let jobs = owned_by::<Job>(client, &CronJob::kind(&()), &uid).await?;
    let jobs: std::result::Result<Vec<Arc<Job>>, _> =
        jobs.iter().map(StoredObject::decode).collect();
    let metadata = object.metadata.clone();
    let mut pass = Pass {
        context,
        recorder: &context.state().recorder,
        job: object,
        jobs: jobs?,
        now: context.now(),
    };
    pass.delete_old().await;
    let outcome = pass.run(request).await;
    if pass.job.status != before {
        body["status"] = json!(pass.job.status);
        let draft = Draft::<CronJob>::new(metadata, body);
        client.update_status(&draft).await?;
    }
    let next = outcome?;
    let wait = |next: Timestamp| {
        let left = next.duration_since(context.now()).saturating_add(DELTA);
        Action::requeue_after(Duration::try_from(left).unwrap_or(Duration::ZERO))
    };
    Ok(next.map_or_else(Action::done, wait))
}

/// A CronJob during one pass.
struct Pass<'a> {
    context: &'a Context<(), CronJobs>,
    recorder: &'a Recorder,
    /// The CronJob, with the status to be.
    job: CronJob,
    jobs: Vec<Arc<Job>>,
    now: Timestamp,
}

impl Pass<'_> {
    /// Deletes finished Jobs beyond the limits of the history, the first that started first.
    async fn delete_old(&mut self) {
        let limits = [
            (
                JobEnd::Complete,
                self.job.spec.successful_jobs_history_limit,
            ),
            (JobEnd::Failed, self.job.spec.failed_jobs_history_limit),
        ];
        for (wanted, limit) in limits {
            let Some(limit) = limit.and_then(|limit| usize::try_from(limit).ok()) else {
                continue;
            };
            let ended = |job: &&Arc<Job>| job.finished().is_some_and(|(end, _)| end == wanted);
            let mut ended: Vec<Arc<Job>> = self.jobs.iter().filter(ended).cloned().collect();
            ended.sort_by_key(|job| {
                let start = job.status.start_time.as_ref().map(|start| start.0);
                (start.is_none(), start, job.name_any())
            });
            let surplus = ended.len().saturating_sub(limit);
            for job in ended.into_iter().take(surplus) {
                self.delete(&job.name_any(), job.metadata.uid.as_deref())
                    .await;
            }
        }
    }

    /// Deletes a Job, and records an event. Returns whether that succeeded.
    async fn delete(&mut self, name: &str, uid: Option<&str>) -> bool {
        let namespace = self.job.namespace().unwrap_or_default();
        let jobs = self.context.client().api::<Job>(&namespace);
        match jobs.delete(name, &DeleteParams::background()).await {
            Ok(_) => {
                self.job.status.remove_active(uid);
                self.tell(
                    EventType::Normal,
                    "SuccessfulDelete",
                    format!("Deleted job {name}"),
                );
                true
            }
            Err(error) => {
                let status = error.api_status().map(|status| status.message.clone());
                let text = status.unwrap_or_else(|| error.to_string());
                self.tell(
                    EventType::Warning,
                    "FailedDelete",
                    format!("Deleted job: {text}"),
                );
                false
            }
        }
    }

    fn tell(&self, type_: EventType, reason: &str, message: impl Into<String>) {
        self.recorder.event(&self.job, type_, reason, message);
    }

    /// Notes what became of Jobs, and starts the one that is due. Returns the time of the next one.
    async fn run(&mut self, request: &Request) -> Result<Option<Timestamp>> {
        self.note_finished();
        self.note_missing().await?;
        if self.job.metadata.deletion_timestamp.is_some() {
            return Ok(None);
        }
        if let Some(zone) = &self.job.spec.time_zone
            && let Err(error) = zone_of(zone)
        {
            let message = format!("invalid timeZone: {}: {error}", go::quote(zone));
            self.tell(EventType::Warning, "UnknownTimeZone", message);
            return Ok(None);
        }
        if self.job.spec.suspend {
            return Ok(None);
        }
        let schedule = &self.job.spec.schedule;
        if schedule.contains("TZ") {
            let message = format!(
                "CRON_TZ or TZ used in schedule {} is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details",
                go::quote(schedule)
            );
            self.tell(EventType::Warning, "UnsupportedSchedule", message);
        }
        let table = match Timetable::of(&self.job) {
            Ok(table) => table,
            Err(error) => {
                let message = format!("unparseable schedule: {} : {error}", go::quote(schedule));
                self.tell(EventType::Warning, "UnparseableSchedule", message);
                return Ok(None);
            }
        };
        if self.context.state().changed.lock().remove(request) {
            return Ok(table.upcoming(&self.job, self.now));
        }
        self.start_due(&table).await
    }

    /// Removes finished Jobs from the active ones, and notes the last success.
    fn note_finished(&mut self) {
        for job in self.jobs.clone() {
            let uid = job.metadata.uid.as_deref();
            let is_active = self.job.status.has_active(uid);
            let Some((end, _)) = job.finished() else {
                if !is_active {
                    let message = format!(
                        "Saw a job that the controller did not create or forgot: {}",
                        job.name_any()
                    );
                    self.tell(EventType::Warning, "UnexpectedJob", message);
                }
                continue;
            };
            if is_active {
                self.job.status.remove_active(uid);
                let message = format!(
                    "Saw completed job: {}, condition: {}",
                    job.name_any(),
                    end.as_str()
                );
                self.tell(EventType::Normal, "SawCompletedJob", message);
            }
            let last = &mut self.job.status.last_successful_time;
            let done = job.status.completion_time.as_ref();
            let is_later = |done: &&Time| last.as_ref().is_none_or(|last| done.0 > last.0);
            if let Some(done) = done.filter(is_later).filter(|_| end == JobEnd::Complete) {
                *last = Some(done.clone());
            }
        }
    }

    /// Removes Jobs that are gone from the active ones.
    async fn note_missing(&mut self) -> Result<()> {
        for active in self.job.status.active.clone() {
            let uid = active.uid.as_deref();
            if self
                .jobs
                .iter()
                .any(|job| job.metadata.uid.as_deref() == uid)
            {
                continue;
            }
            let name = active.name.unwrap_or_default();
            let key = Key::new(active.namespace.as_deref(), &name);
            let live: Option<Job> = self.context.client().get_live(&key).await?;
            if live.is_none() {
                let message = format!("Active job went missing: {name}");
                self.tell(EventType::Normal, "MissingJob", message);
                self.job.status.remove_active(uid);
            }
        }
        Ok(())
    }

    async fn start_due(&mut self, table: &Timetable) -> Result<Option<Timestamp>> {
        let now = self.now;
        let deadline = self.job.spec.starting_deadline_seconds;
        let recent = match table.recent(&self.job, now, deadline) {
            Ok(recent) => recent,
            Err(error) => {
                let message = format!("invalid schedule: {} : {error}", self.job.spec.schedule);
                self.tell(EventType::Warning, "InvalidSchedule", message);
                return Ok(None);
            }
        };
        let Some(due) = recent.last else {
            return Ok(table.upcoming(&self.job, now));
        };
        if recent.missed == Missed::Many {
            let message = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew";
            self.tell(EventType::Warning, "TooManyMissedTimes", message);
        }
        let late = now.duration_since(due);
        if deadline.is_some_and(|seconds| late > SignedDuration::from_secs(seconds)) {
            let due = due.strftime("%a, %d %b %Y %H:%M:%S +0000");
            let message = format!("Missed scheduled time to start a job: {due}");
            self.tell(EventType::Warning, "MissSchedule", message);
            return Ok(table.upcoming(&self.job, now));
        }
        let name = name_of(&self.job, due);
        let status = &self.job.status;
        let is_active = |name: &str| {
            status
                .active
                .iter()
                .any(|a| a.name.as_deref() == Some(name))
        };
        let is_last = status
            .last_schedule_time
            .as_ref()
            .is_some_and(|last| last.0 == due);
        if is_active(&name) || is_last {
            return Ok(table.upcoming(&self.job, now));
        }
        match self.job.spec.concurrency_policy.as_str() {
            "Forbid" if !status.active.is_empty() => {
                let message = "Not starting job because prior execution is running and concurrency policy is Forbid";
                self.tell(EventType::Normal, "JobAlreadyActive", message);
                return Ok(table.upcoming(&self.job, now));
            }
            "Replace" => self.replace_active().await?,
            _ => {}
        }
        if let Some(reference) = start(self.context, &self.job, due).await? {
            self.job.status.active.push(reference);
            self.job.status.last_schedule_time = Some(Time(due));
        } else {
            return Ok(None);
        }
        Ok(table.upcoming(&self.job, now))
    }

    async fn replace_active(&mut self) -> Result<()> {
        for active in self.job.status.active.clone() {
            let name = active.name.unwrap_or_default();
            if !self.delete(&name, active.uid.as_deref()).await {
                let namespace = active.namespace.unwrap_or_default();
                let message = format!("could not replace job {namespace}/{name}");
                return Err(Error::message(message).into());
            }
        }
        Ok(())
    }
}
