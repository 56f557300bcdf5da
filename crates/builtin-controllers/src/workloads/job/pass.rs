//! [`Pass`]: the state of a Job during one pass.

use std::{collections::BTreeMap, sync::Arc};

use jiff::{SignedDuration, Timestamp};

use super::{
    FINALIZER,
    backoff::Backoff,
    indexed::{delayed, index_of, is_index_failed},
    indexes::Indexes,
    policy::{self, Verdict, is_failed, verdict},
};
use crate::workloads::objects::{Condition, Job, JobStatus, Pod, Uncounted, whole_seconds};

/// The condition of a Job that has failed, while its pods terminate.
pub(super) const FAILURE_TARGET: &str = "FailureTarget";

/// The condition of a Job that has succeeded, while its pods terminate.
pub(super) const SUCCESS_CRITERIA_MET: &str = "SuccessCriteriaMet";

/// The condition of a suspended Job.
const SUSPENDED: &str = "Suspended";

/// The state of a Job during one pass.
pub(super) struct Pass<'a> {
    pub(super) job: &'a Job,
    pub(super) now: Timestamp,
    /// The status to be.
    pub(super) status: JobStatus,
    /// The UIDs that were not counted when the pass began.
    pub(super) uncounted: Uncounted,
    /// The pods of the Job; of an indexed one by index.
    pub(super) pods: Vec<Arc<Pod>>,
    pub(super) active: Vec<Arc<Pod>>,
    /// The number of active pods after the pass.
    pub(super) active_count: i32,
    pub(super) ready: i32,
    pub(super) terminating: i32,
    pub(super) succeeded: i32,
    failed: i32,
    pub(super) succeeded_before: Indexes,
    pub(super) succeeded_indexes: Indexes,
    pub(super) failed_indexes: Option<Indexes>,
    /// The failed pods that stay until they are replaced, by index.
    pub(super) delayed: BTreeMap<usize, Arc<Pod>>,
    pub(super) backoff: Backoff,
    /// The condition with which the Job ends.
    pub(super) end: Option<Condition>,
}

impl<'a> Pass<'a> {
    pub(super) fn new(
        job: &'a Job,
        mut pods: Vec<Arc<Pod>>,
        known: Backoff,
        now: Timestamp,
    ) -> Self {
        if job.is_indexed() {
            pods.sort_by_key(|pod| index_of(pod));
        }
        let count = |matches: &dyn Fn(&Pod) -> bool| count(pods.iter().filter(|pod| matches(pod)));
        let active: Vec<Arc<Pod>> = pods.iter().filter(|pod| pod.is_active()).cloned().collect();
        let mut status = job.status.clone();
        let uncounted = status.uncounted_terminated_pods.get_or_insert_default();
        let mut pass = Self {
            job,
            now,
            uncounted: uncounted.clone(),
            active_count: self::count(&active),
            ready: count(&|pod| pod.is_active() && pod.ready().is_some()),
            terminating: count(&Pod::is_terminating),
            succeeded: 0,
            failed: 0,
            succeeded_before: Indexes::default(),
            succeeded_indexes: Indexes::default(),
            failed_indexes: None,
            delayed: BTreeMap::new(),
            backoff: known,
            end: None,
            status,
            pods,
            active,
        };
        pass.count_finished(known);
        if pass.status.start_time.is_none() && !job.spec.suspend {
            pass.status.start_time = Some(whole_seconds(now));
        }
        pass
    }

    /// Returns the pods that are to be counted: those that are tracked and, in an indexed Job, have an index.
    pub(super) fn countable(&self) -> impl Iterator<Item = &Arc<Pod>> {
        let (is_indexed, completions) = (self.job.is_indexed(), self.job.completions());
        let has_index = move |pod: &Pod| index_of(pod).is_some_and(|index| index < completions);
        let is_countable =
            move |pod: &&Arc<Pod>| pod.has_finalizer(FINALIZER) && (!is_indexed || has_index(pod));
        self.pods.iter().filter(is_countable)
    }

    fn count_finished(&mut self, known: Backoff) {
        let is_new =
            |pod: &&Pod, uncounted: &[String]| !uncounted.iter().any(|uid| uid == pod.uid());
        let pods = || self.countable().map(|pod| &**pod);
        let succeeded: Vec<&Pod> = pods()
            .filter(|pod| pod.status.phase == "Succeeded")
            .filter(|pod| is_new(pod, &self.uncounted.succeeded))
            .collect();
        let failed: Vec<&Pod> = pods()
            .filter(|pod| is_failed(self.job, pod))
            .filter(|pod| is_new(pod, &self.uncounted.failed))
            .collect();
        let counted = failed.iter().filter(|pod| verdict(self.job, pod).counts());
        let counts = (
            count(&succeeded) + count(&self.uncounted.succeeded),
            count(counted) + count(&self.uncounted.failed),
        );
        let backoff = known.after(&succeeded, &failed);
        self.backoff = backoff;
        self.succeeded = self.status.succeeded + counts.0;
        self.failed = self.status.failed + counts.1;
    }

    /// Decides whether the Job has ended, but for the number of its completions.
    pub(super) fn decide(&mut self) {
        let conditions = &self.status.conditions;
        let is_true = |type_: &str| Condition::find(conditions, type_).filter(|c| c.is_true());
        self.end = match (is_true(SUCCESS_CRITERIA_MET), is_true(FAILURE_TARGET)) {
            (Some(met), _) => Some(met.clone()),
            (None, Some(target)) => Some(self.condition("Failed", &target.reason, &target.message)),
            (None, None) => self.failure(),
        };
        if self.job.is_indexed() {
            self.decide_by_index();
        }
    }

    fn failure(&self) -> Option<Condition> {
        let failed = |reason: &str, message: &str| self.condition(FAILURE_TARGET, reason, message);
        let pods = self.pods.iter().filter(|pod| is_failed(self.job, pod));
        for pod in pods {
            if let Verdict::FailJob(message) = verdict(self.job, pod) {
                return Some(failed("PodFailurePolicy", &message));
            }
        }
        let limit = self.job.spec.backoff_limit.unwrap_or(6);
        if self.failed > limit || self.restarts_exceed(limit) {
            let message = "Job has reached the specified backoff limit";
            return Some(failed("BackoffLimitExceeded", message));
        }
        let is_over = self.deadline().is_some_and(|left| !left.is_positive());
        is_over.then(|| {
            failed(
                "DeadlineExceeded",
                "Job was active longer than specified deadline",
            )
        })
    }

    /// Returns the time that is left to the Job; `None` if there is no limit.
    pub(super) fn deadline(&self) -> Option<SignedDuration> {
        let limit = self.job.spec.active_deadline_seconds?;
        let start = self.status.start_time.as_ref()?.0;
        let limit = SignedDuration::from_secs(limit);
        (!self.job.spec.suspend).then(|| limit.saturating_sub(self.now.duration_since(start)))
    }

    /// Reports whether containers that are restarted in place have failed too often.
    fn restarts_exceed(&self, limit: i32) -> bool {
        if self.job.spec.template.0["spec"]["restartPolicy"] != "OnFailure" {
            return false;
        }
        let pods = self.pods.iter();
        let pods = pods.filter(|pod| matches!(pod.status.phase.as_str(), "Running" | "Pending"));
        let restarts: i32 = pods
            .flat_map(|pod| {
                let init = pod.status.init_container_statuses.iter();
                init.chain(&pod.status.container_statuses)
            })
            .fold(0, |sum, status| sum.saturating_add(status.restart_count));
        restarts >= limit.max(1)
    }

    fn decide_by_index(&mut self) {
        let completions = self.job.completions();
        self.succeeded_before = Indexes::parse(&self.status.completed_indexes, completions);
        let succeeded = self
            .countable()
            .filter(|pod| pod.status.phase == "Succeeded");
        let succeeded = self
            .succeeded_before
            .with(succeeded.filter_map(|pod| index_of(pod)));
        self.succeeded_indexes = succeeded;
        self.succeeded = i32::try_from(self.succeeded_indexes.len()).unwrap_or(i32::MAX);
        if self.job.spec.backoff_limit_per_index.is_some() {
            let known = self.status.failed_indexes.as_deref().unwrap_or_default();
            let known = Indexes::parse(known, completions);
            let new = self
                .countable()
                .filter(|pod| is_index_failed(self.job, pod));
            let failed = known.with(new.filter_map(|pod| index_of(pod)));
            self.end = self.end.take().or_else(|| self.failed_by_index(&failed));
            self.failed_indexes = Some(failed);
            self.delayed = delayed(self);
        }
        if self.end.is_none() {
            let policy = self.job.spec.success_policy.as_ref();
            let met = policy::success(policy, &self.succeeded_indexes, completions);
            self.end =
                met.map(|message| self.condition(SUCCESS_CRITERIA_MET, "SuccessPolicy", &message));
        }
    }

    fn failed_by_index(&self, failed: &Indexes) -> Option<Condition> {
        let most = self.job.spec.max_failed_indexes;
        let most = most.and_then(|most| usize::try_from(most).ok());
        let (reason, message) = if most.is_some_and(|most| failed.len() > most) {
            (
                "MaxFailedIndexesExceeded",
                "Job has exceeded the specified maximal number of failed indexes",
            )
        } else if !failed.is_empty()
            && failed.len() + self.succeeded_indexes.len() >= self.job.completions()
        {
            ("FailedIndexes", "Job has failed indexes")
        } else {
            return None;
        };
        Some(self.condition(FAILURE_TARGET, reason, message))
    }

    /// Decides whether enough pods have succeeded and none is left.
    pub(super) fn decide_by_completions(&mut self) {
        let is_enough = match self.job.spec.completions {
            None => self.succeeded > 0,
            Some(completions) => self.succeeded >= completions,
        };
        if is_enough && self.active_count == 0 {
            let message = "Reached expected number of succeeded pods";
            self.end = Some(self.condition(SUCCESS_CRITERIA_MET, "CompletionsReached", message));
        }
    }

    /// Notes that the Job is suspended or resumed. Returns whether that is new.
    pub(super) fn note_suspension(&mut self) -> bool {
        if self.job.spec.suspend {
            let is_new = self.set_condition(SUSPENDED, "True", "JobSuspended", "Job suspended");
            if is_new {
                self.status.start_time = None;
            }
            return is_new;
        }
        let is_new = self.set_condition(SUSPENDED, "False", "JobResumed", "Job resumed");
        if is_new {
            self.status.start_time = Some(whole_seconds(self.now));
        }
        is_new
    }

    /// Returns a condition that is true since now.
    pub(super) fn condition(&self, type_: &str, reason: &str, message: &str) -> Condition {
        let now = whole_seconds(self.now);
        let condition = Condition::new(type_, "True", reason, message, now.clone());
        Condition {
            last_probe_time: Some(now),
            ..condition
        }
    }

    /// Adds or replaces a condition where it stands. One that is false is not added. Returns whether anything changed.
    pub(super) fn set_condition(
        &mut self,
        type_: &str,
        status: &str,
        reason: &str,
        message: &str,
    ) -> bool {
        let new = Condition {
            status: status.to_owned(),
            ..self.condition(type_, reason, message)
        };
        let mut known = self.status.conditions.iter_mut();
        match known.find(|condition| condition.r#type == type_) {
            Some(known) => {
                let is_same =
                    known.status == status && known.reason == reason && known.message == message;
                if !is_same {
                    *known = new;
                }
                !is_same
            }
            None if status == "False" => false,
            None => {
                self.status.conditions.push(new);
                true
            }
        }
    }
}

fn count<T>(items: impl IntoIterator<Item = T>) -> i32 {
    i32::try_from(items.into_iter().count()).unwrap_or(i32::MAX)
}
