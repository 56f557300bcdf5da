//! The scheduling loop: decides about one pod after the other, while the bindings of earlier ones are written.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt, stream::FuturesUnordered};
use kubewright_controller::{Action, Context, ErrorExt, Result};
use kubewright_informer::Key;
use parking_lot::Mutex;

use crate::{
    pod::PodInfo,
    preemption::Candidate,
    state::{Decision, State},
    volumes::VolumeChoice,
    writes::{self, Reporter},
};

/// The number of concurrent writes.
const CONCURRENCY: usize = 16;

/// Schedules all pods that are ready.
pub(crate) async fn run(
    context: Context,
    state: Arc<Mutex<State>>,
    reporter: Reporter,
) -> Result<Action> {
    state.lock().queue.recover();
    let cycle = Cycle {
        context,
        state,
        reporter,
    };
    let mut writes = FuturesUnordered::new();
    loop {
        while writes.len() < CONCURRENCY {
            let decision = {
                let now = cycle.context.now();
                cycle.state.lock().next(now)
            };
            match decision {
                Some(decision) => writes.push(cycle.carry_out(decision)),
                None => break,
            }
        }
        if writes.next().await.is_none() {
            break;
        }
    }
    let now = cycle.context.now();
    let due = {
        let mut state = cycle.state.lock();
        let late = state.waiting.due();
        state.queue.flush(now).into_iter().chain(late).min()
    };
    Ok(match due {
        Some(due) => {
            let wait = Duration::try_from(due.duration_since(now)).unwrap_or_default();
            Action::requeue_after(wait.max(Duration::from_millis(1)))
        }
        None => Action::done(),
    })
}

struct Cycle {
    context: Context,
    state: Arc<Mutex<State>>,
    reporter: Reporter,
}

impl Cycle {
    async fn carry_out(&self, decision: Decision) {
        match decision {
            Decision::Bind(pod, node) => self.bind(&pod, &node).await,
            Decision::BindVolumes(pod, choice) => self.bind_volumes(&pod, choice).await,
            Decision::Reject(pod, message) => self.reject(&pod, &message, None).await,
            Decision::Recheck(pod, message, claim) => self.recheck(&pod, &message, &claim).await,
            Decision::Fail(pod, message) => self.fail(&pod, &message).await,
            Decision::Preempt(pod, message, candidate) => {
                self.preempt(&pod, &candidate).await;
                self.reject(&pod, &message, Some(&candidate.node)).await;
            }
        }
    }

    async fn bind(&self, pod: &Arc<PodInfo>, node: &str) {
        match writes::bind(self.context.client(), pod, node).await {
            Ok(()) => self.reporter.scheduled(pod, node).await,
            // The pod was deleted, or bound by another scheduler. Its watch event updates the state.
            Err(error) if error.is_not_found() || error.is_conflict() => {
                tracing::debug!(pod = %pod.key, %error, "pod not bound");
                self.state.lock().unbound(pod, self.context.now());
            }
            Err(error) => {
                tracing::warn!(pod = %pod.key, node, %error, "cannot bind pod");
                self.state.lock().unbound(pod, self.context.now());
            }
        }
    }

    /// Writes the choice of volumes for a pod, which is bound to its node once its claims are bound.
    async fn bind_volumes(&self, pod: &Arc<PodInfo>, choice: VolumeChoice) {
        let written = writes::bind_volumes(self.context.client(), &choice).await;
        let now = self.context.now();
        let mut state = self.state.lock();
        match written {
            Ok(written) => state.wait_for_volumes(pod, choice, written, now),
            Err(error) => {
                tracing::debug!(pod = %pod.key, %error, "cannot bind the volumes of a pod");
                state.snapshot.volumes.forget(&choice);
                state.unbound(pod, now);
            }
        }
    }

    /// Rejects a pod whose claim does not exist. One that the cache does not have yet wakes the pod when it arrives.
    async fn recheck(&self, pod: &Arc<PodInfo>, message: &str, claim: &Key) {
        match writes::has_claim(self.context.client(), claim).await {
            Ok(true) => tracing::debug!(pod = %pod.key, %claim, "waiting for the cache"),
            _ => self.reject(pod, message, None).await,
        }
    }

    async fn reject(&self, pod: &Arc<PodInfo>, message: &str, nominated: Option<&str>) {
        self.report(pod, "Unschedulable", message, nominated).await;
    }

    async fn fail(&self, pod: &Arc<PodInfo>, message: &str) {
        self.report(pod, "SchedulerError", message, None).await;
    }

    async fn report(
        &self,
        pod: &Arc<PodInfo>,
        reason: &str,
        message: &str,
        nominated: Option<&str>,
    ) {
        self.reporter.failed(pod, message).await;
        let (client, now) = (self.context.client(), self.context.now());
        if let Err(error) = writes::reject(client, pod, (reason, message), nominated, now).await {
            tracing::warn!(pod = %pod.key, %error, "cannot write the status of an unschedulable pod");
        }
    }

    async fn preempt(&self, pod: &Arc<PodInfo>, candidate: &Candidate) {
        let (client, now) = (self.context.client(), self.context.now());
        for victim in &candidate.victims {
            match writes::evict(client, victim, &pod.template.scheduler, now).await {
                Ok(()) => self.reporter.preempted(victim, pod, &candidate.node).await,
                Err(error) => {
                    tracing::warn!(pod = %victim.key, %error, "cannot preempt pod");
                }
            }
        }
    }
}
