//! The work of a worker: takes a request, runs the reconciler, and schedules the next run.

use std::{borrow::Cow, panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;
use kubewright_client::ErrorExt;
use kubewright_workqueue::AddOptions;
use tokio::{sync::watch, time::Instant};
use tracing::Instrument;

use super::{Inner, Parts};
use crate::{
    context::{Context, Run},
    manager::Stop,
    metrics::{ControllerMetrics, ReconcileResult},
    reconcile::{Action, Error, ErrorKind, Next, ReconcileId, Request},
    run::Outcome,
    status::{Pending, TriggerCause},
};

/// Counts a worker as active.
struct Active<'a>(&'a ControllerMetrics);

impl Inner {
    /// Works until it is asked to stop. Fails with a panic that is not recovered.
    pub(super) async fn work(self: Arc<Self>, stop: Stop) -> Result<(), String> {
        let queue = self.parts.queue.clone();
        let mut stopping = std::pin::pin!(stop.stopping());
        let mut paused = self.paused.subscribe();
        loop {
            tokio::select! {
                biased;
                () = &mut stopping => return Ok(()),
                () = becomes(&mut paused, false) => {}
            }
            let item = tokio::select! {
                biased;
                () = &mut stopping => return Ok(()),
                () = becomes(&mut paused, true) => continue,
                item = queue.get() => item,
            };
            let Some(item) = item else {
                return Ok(());
            };
            self.reconcile(item.key(), item.priority(), &stop).await?;
            drop(item);
            self.parts.pulse.notify_waiters();
        }
    }

    async fn reconcile(&self, request: &Request, priority: i32, stop: &Stop) -> Result<(), String> {
        let parts = &self.parts;
        let _active = Active::new(&parts.metrics);
        let pending = self.journal.begin(request);
        let trigger = pending.as_ref().map(|pending| pending.trigger.clone());
        let queued_for = pending.as_ref().map(Pending::waited).unwrap_or_default();
        let record = parts.finished.begin(&parts.name);
        let start = parts.finished.now();
        let run = Run {
            request: request.clone(),
            id: ReconcileId::random(),
            attempt: parts.queue.num_requeues(request),
            trigger: trigger.clone(),
            stop: stop.clone(),
        };
        let span = tracing::info_span!(
            "reconcile",
            controller = %parts.name,
            controllerGroup = parts.main.as_ref().map(|main| main.group.as_str()),
            controllerKind = parts.main.as_ref().map(|main| main.kind.as_str()),
            namespace = request.namespace(),
            name = request.name(),
            reconcileID = %run.id,
            run = record.number,
            trigger = trigger.as_ref().map(|trigger| tracing::field::display(trigger.words())),
            attempt = run.attempt,
            result = tracing::field::Empty,
            otel.status_code = tracing::field::Empty,
        );
        if let Some(pending) = &pending {
            parts.finished.link(&span, pending);
        }
        let began = Instant::now();
        let (id, attempt) = (run.id, run.attempt);
        let attempted = self.attempt(Context::new(parts.context.clone(), run), request);
        let outcome = record
            .clone()
            .within(attempted.instrument(span.clone()))
            .await;
        let took = began.elapsed();
        if let Err(error) = &outcome
            && error.kind() == ErrorKind::Panicked
            && !parts.recover_panic
        {
            return Err(format!("{request}: {error}"));
        }
        parts.metrics.time.observe_duration(took);
        if outcome.is_err() {
            span.record("otel.status_code", "ERROR");
        }
        let failed = outcome.is_err();
        let result = span.in_scope(|| self.conclude(request, priority, outcome));
        span.record("result", &*result);
        parts.finished.end(
            &record,
            Outcome {
                controller: &parts.name,
                main: parts.main.as_ref(),
                request,
                id,
                attempt,
                pending,
                start,
                queued_for,
                took,
                result: &result,
                failed,
                metrics: &parts.metrics,
            },
        );
        self.journal.end(request, trigger, result, failed, took);
        Ok(())
    }

    /// Runs the reconciler. Panics and timeouts become errors.
    async fn attempt(&self, context: Context, request: &Request) -> Result<Action, Error> {
        let parts = &self.parts;
        let run = async { parts.reconciler.run(context, request.clone()).await };
        let run = AssertUnwindSafe(run).catch_unwind();
        let outcome = match parts.timeout {
            Some(most) => match tokio::time::timeout(most, run).await {
                Ok(outcome) => outcome,
                Err(_) => {
                    parts.metrics.timeouts.inc();
                    let what = format!("the reconcile took longer than {most:?}");
                    return Err(Error::new(ErrorKind::TimedOut, what));
                }
            },
            None => run.await,
        };
        match outcome {
            Ok(Ok(action)) => Ok(action),
            Ok(Err(error)) => match Error::from(error) {
                error if error.kind() == ErrorKind::Finalized => Ok(Action::done()),
                error => Err(error),
            },
            Err(panic) => {
                parts.metrics.panics.inc();
                let what = format!("panic: {}", panic_message(&*panic));
                Err(Error::new(ErrorKind::Panicked, what))
            }
        }
    }

    /// Updates the metrics and schedules the next run. Returns a summary of the result.
    fn conclude(&self, request: &Request, priority: i32, outcome: Result<Action, Error>) -> String {
        let Parts { metrics, queue, .. } = &self.parts;
        let again = |cause, options: AddOptions| {
            self.enqueue("controller".into())
                .put(request.clone(), cause, options);
        };
        let action = match outcome {
            Ok(action) => action,
            Err(error) => {
                metrics.errors.inc();
                metrics.results(ReconcileResult::Error).inc();
                if error.kind() == ErrorKind::Terminal {
                    metrics.terminal_errors.inc();
                    queue.forget(request);
                    tracing::error!(%error, "reconcile failed terminally");
                    return format!("terminal error: {error}");
                }
                if error.is_conflict() {
                    tracing::debug!(%error, "reconcile failed with a conflict");
                } else {
                    tracing::error!(%error, attempt = queue.num_requeues(request), "reconcile failed");
                }
                let options = AddOptions::new().priority(priority).rate_limited();
                again(TriggerCause::Backoff, options);
                return format!("error: {error}");
            }
        };
        let options = AddOptions::new().priority(action.priority.unwrap_or(priority));
        let (result, said): (_, Cow<'static, str>) = match action.next {
            Next::Done => {
                queue.forget(request);
                (ReconcileResult::Success, "done".into())
            }
            Next::Requeue => {
                again(TriggerCause::Requeue, options.rate_limited());
                (ReconcileResult::Requeue, "requeue".into())
            }
            Next::After(after) => {
                queue.forget(request);
                again(TriggerCause::Requeue, options.after(after));
                (
                    ReconcileResult::RequeueAfter,
                    format!("requeue after {after:?}").into(),
                )
            }
        };
        metrics.results(result).inc();
        said.into_owned()
    }
}

/// Waits until a flag has a value.
async fn becomes(flag: &mut watch::Receiver<bool>, value: bool) {
    // The sender lives as long as the controller.
    let _ = flag.wait_for(|it| *it == value).await;
}

impl<'a> Active<'a> {
    fn new(metrics: &'a ControllerMetrics) -> Self {
        metrics.active_workers.inc();
        Self(metrics)
    }
}

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.0.active_workers.dec();
    }
}

pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}
