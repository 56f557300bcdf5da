//! The delay of replacements: 10 s after a failure, twice that after the next, up to ten minutes.

use jiff::{SignedDuration, Timestamp};

use crate::workloads::objects::{Condition, ContainerStatus, Pod};

/// The delay after the first failure.
const FIRST: SignedDuration = SignedDuration::from_secs(10);

/// The longest delay.
const LONGEST: SignedDuration = SignedDuration::from_mins(10);

/// The failures of a Job since its last success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Backoff {
    failures: u32,
    last: Option<Timestamp>,
}

impl Backoff {
    /// Returns the record after more pods have ended.
    pub(super) fn after(self, succeeded: &[&Pod], failed: &[&Pod]) -> Self {
        let success = succeeded.iter().map(|pod| finished_at(pod)).max();
        let failures = failed.iter().map(|pod| finished_at(pod));
        let new: Vec<Timestamp> = failures
            .filter(|at| success.is_none_or(|success| *at > success))
            .collect();
        let before = match success {
            Some(_) => Self::default(),
            None => self,
        };
        let count = u32::try_from(new.len()).unwrap_or(u32::MAX);
        Self {
            failures: before.failures.saturating_add(count),
            last: new.into_iter().max().or(before.last),
        }
    }

    /// Returns the time that is left until a pod may be created; `None` if that is now.
    pub(super) fn left(self, now: Timestamp) -> Option<SignedDuration> {
        left(self.failures, self.last?, now)
    }
}

/// Returns the time that is left after a number of failures; `None` if there is none.
pub(super) fn left(failures: u32, last: Timestamp, now: Timestamp) -> Option<SignedDuration> {
    if failures == 0 {
        return None;
    }
    let factor = 2_i32.saturating_pow(failures - 1);
    let delay = FIRST
        .checked_mul(factor)
        .map_or(LONGEST, |d| d.min(LONGEST));
    let left = delay - now.duration_since(last);
    left.is_positive().then_some(left)
}

/// Returns the time at which a pod ended: when its last container did; else when it ceased to be ready, was deleted, or was
/// created.
pub(super) fn finished_at(pod: &Pod) -> Timestamp {
    let not_ready = || {
        let ready = Condition::find(&pod.status.conditions, "Ready")?;
        let at = ready.last_transition_time.as_ref()?;
        (ready.status == "False").then_some(at.0)
    };
    let deleted = || {
        let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or(0);
        let at = pod.metadata.deletion_timestamp.as_ref()?;
        at.0.checked_sub(SignedDuration::from_secs(grace)).ok()
    };
    let created = || Some(pod.metadata.creation_timestamp.as_ref()?.0);
    containers_finished_at(pod)
        .or_else(not_ready)
        .or_else(deleted)
        .or_else(created)
        .unwrap_or(Timestamp::UNIX_EPOCH)
}

fn containers_finished_at(pod: &Pod) -> Option<Timestamp> {
    let is_sidecar = |status: &&ContainerStatus| {
        pod.spec.init_containers.iter().any(|container| {
            container.name == status.name && container.restart_policy.as_deref() == Some("Always")
        })
    };
    let sidecars = pod.status.init_container_statuses.iter();
    let containers = pod.status.container_statuses.iter();
    let mut latest = None;
    for status in containers.chain(sidecars.filter(is_sidecar)) {
        let ended = status.state.terminated.as_ref()?;
        latest = latest.max(Some(ended.finished_at.as_ref()?.0));
    }
    latest
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn pod(second: i64) -> Pod {
        let status = json!({"containerStatuses": [
            {"name": "c", "state": {"terminated": {"exitCode": 1, "finishedAt": at(second).to_string()}}},
        ]});
        serde_json::from_value(json!({"status": status})).unwrap()
    }

    #[test]
    fn delays_double_up_to_ten_minutes() {
        let delay = |failures| left(failures, at(0), at(0)).map(|left| left.as_secs());
        assert_eq!(delay(0), None);
        assert_eq!(
            [1, 2, 3, 6, 7, 99].map(|n| delay(n).unwrap()),
            [10, 20, 40, 320, 600, 600]
        );
        assert_eq!(left(1, at(0), at(10)), None);
        assert_eq!(left(1, at(0), at(4)).unwrap().as_secs(), 6);
    }

    #[test]
    fn a_success_forgets_the_failures_before_it() {
        let (one, two, three) = (pod(1), pod(2), pod(3));
        let twice = Backoff::default().after(&[], &[&two, &one]);
        assert_eq!((twice.failures, twice.last), (2, Some(at(2))));
        let after = twice.after(&[&two], &[&one, &three]);
        assert_eq!((after.failures, after.last), (1, Some(at(3))));
        assert_eq!(twice.after(&[&three], &[]), Backoff::default());
        assert_eq!(twice.after(&[], &[]), twice);
    }

    #[test]
    fn a_pod_ended_with_its_last_container_or_when_it_ceased_to_be_ready_or_was_deleted() {
        let ended = |pod: Value| finished_at(&serde_json::from_value(pod).unwrap()).as_second();
        assert_eq!(finished_at(&pod(7)).as_second(), 7);
        let created = json!({"creationTimestamp": at(1).to_string()});
        assert_eq!(ended(json!({"metadata": created})), 1);
        let deleted =
            json!({"deletionTimestamp": at(40).to_string(), "deletionGracePeriodSeconds": 30});
        assert_eq!(ended(json!({"metadata": deleted})), 10);
        let ready =
            json!({"type": "Ready", "status": "False", "lastTransitionTime": at(9).to_string()});
        let running = json!([{"name": "c", "state": {"running": {}}}]);
        assert_eq!(
            ended(
                json!({"metadata": deleted, "status": {"conditions": [ready], "containerStatuses": running}})
            ),
            9
        );
    }
}
