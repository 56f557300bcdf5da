//! The condition `Progressing`, its deadline, and the condition `ReplicaFailure`.

use std::time::Duration;

use jiff::SignedDuration;
use kube::ResourceExt;
use kubewright_controller::{Action, Result};

use super::rollout::Rollout;
use crate::workloads::objects::{Condition, DeploymentStatus};

/// The condition for progress.
pub(super) const PROGRESSING: &str = "Progressing";

const REPLICA_FAILURE: &str = "ReplicaFailure";
const AVAILABLE: &str = "NewReplicaSetAvailable";
const TIMED_OUT: &str = "ProgressDeadlineExceeded";
const PAUSED: &str = "DeploymentPaused";

impl Rollout<'_> {
    /// Sets the condition in the status of the Deployment.
    pub(super) fn set_progressing(&mut self, status: &str, reason: &str, message: String) {
        let condition = self.condition(PROGRESSING, status, reason, message);
        Condition::set(&mut self.deployment.status.conditions, condition);
    }

    /// Notes that a Deployment was paused or resumed, so that it does not time out meanwhile.
    pub(super) async fn check_paused(&mut self) -> Result<()> {
        let condition = Condition::find(&self.deployment.status.conditions, PROGRESSING);
        let reason = condition.map(|condition| condition.reason.as_str());
        if self.deployment.progress_deadline().is_none() || reason == Some(TIMED_OUT) {
            return Ok(());
        }
        match (self.deployment.spec.paused, reason == Some(PAUSED)) {
            (true, false) => self.set_progressing("Unknown", PAUSED, "Deployment is paused".into()),
            (false, true) => {
                let message = "Deployment is resumed".into();
                self.set_progressing("Unknown", "DeploymentResumed", message);
            }
            _ => return Ok(()),
        }
        self.write_status().await
    }

    /// Writes the status of a rollout if it differs. If not, the next pass is when the deadline has passed.
    pub(super) async fn sync_rollout_status(&mut self) -> Result<Action> {
        let mut status = self.status();
        if self.deployment.progress_deadline().is_none() {
            Condition::remove(&mut status.conditions, PROGRESSING);
        } else {
            self.evaluate(&mut status);
        }
        match self.failure() {
            Some(failure) => Condition::set(&mut status.conditions, failure),
            None => Condition::remove(&mut status.conditions, REPLICA_FAILURE),
        }
        if self.deployment.status == status {
            return Ok(self.next_check(&status));
        }
        self.deployment.status = status;
        self.write_status().await?;
        Ok(Action::done())
    }

    /// Sets the condition of a rollout that is complete, progresses or has timed out.
    fn evaluate(&self, status: &mut DeploymentStatus) {
        let current = Condition::find(&self.deployment.status.conditions, PROGRESSING);
        let was_complete = current.is_some_and(|current| current.reason == AVAILABLE);
        if was_complete && status.replicas == status.updated_replicas {
            return;
        }
        let subject = match &self.new {
            Some(set) => format!("ReplicaSet {:?}", set.object.name_any()),
            None => format!("Deployment {:?}", self.deployment.name_any()),
        };
        if self.is_complete(status) {
            let message = format!("{subject} has successfully progressed.");
            let condition = self.condition(PROGRESSING, "True", AVAILABLE, message);
            Condition::set(&mut status.conditions, condition);
        } else if self.progressed(status) {
            let message = format!("{subject} is progressing.");
            let mut condition = self.condition(PROGRESSING, "True", "ReplicaSetUpdated", message);
            if let Some(current) = current.filter(|current| current.is_true()) {
                condition.last_transition_time = current.last_transition_time.clone();
            }
            // It is replaced even if the reason stays, so that the time of the last update moves.
            Condition::remove(&mut status.conditions, PROGRESSING);
            status.conditions.push(condition);
        } else if self.timed_out(status) {
            let message = format!("{subject} has timed out progressing.");
            let condition = self.condition(PROGRESSING, "False", TIMED_OUT, message);
            Condition::set(&mut status.conditions, condition);
        }
    }

    /// Reports whether there are more new, ready or available pods, or fewer old ones.
    fn progressed(&self, new: &DeploymentStatus) -> bool {
        let old = &self.deployment.status;
        let outdated = |status: &DeploymentStatus| status.replicas - status.updated_replicas;
        new.updated_replicas > old.updated_replicas
            || outdated(new) < outdated(old)
            || new.ready_replicas > old.ready_replicas
            || new.available_replicas > old.available_replicas
    }

    fn timed_out(&self, status: &DeploymentStatus) -> bool {
        let Some(condition) = Condition::find(&status.conditions, PROGRESSING) else {
            return false;
        };
        match condition.reason.as_str() {
            AVAILABLE => false,
            TIMED_OUT => true,
            _ => self.left(condition).is_some_and(|left| left.is_negative()),
        }
    }

    /// Returns the time until the deadline.
    fn left(&self, condition: &Condition) -> Option<SignedDuration> {
        let deadline = i64::from(self.deployment.progress_deadline()?);
        let since = condition.last_update_time.as_ref()?.0;
        let deadline = since
            .checked_add(SignedDuration::from_secs(deadline))
            .ok()?;
        Some(deadline.duration_since(self.context.now()))
    }

    /// Returns the failure of the new ReplicaSet, or of any other.
    fn failure(&self) -> Option<Condition> {
        let sets = self.new.iter().chain(&self.old);
        let mut found =
            sets.filter_map(|set| Condition::find(&set.object.status.conditions, REPLICA_FAILURE));
        let failure = found.next()?;
        Some(Condition {
            last_update_time: failure.last_transition_time.clone(),
            ..failure.clone()
        })
    }

    /// Returns when to check the deadline.
    fn next_check(&self, status: &DeploymentStatus) -> Action {
        let condition = Condition::find(&self.deployment.status.conditions, PROGRESSING);
        // A rollout that was complete once never times out.
        let is_open =
            |condition: &&Condition| ![TIMED_OUT, AVAILABLE].contains(&&*condition.reason);
        let Some(condition) = condition.filter(is_open) else {
            return Action::done();
        };
        let Some(left) = self.left(condition).filter(|_| !self.is_complete(status)) else {
            return Action::done();
        };
        let left = Duration::try_from(left).unwrap_or_default();
        Action::requeue_after(left + Duration::from_secs(1))
    }
}
