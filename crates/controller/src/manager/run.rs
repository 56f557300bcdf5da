//! Startup and shutdown of a manager.

use std::{future::Future, pin::pin, time::Duration};

use tokio::{sync::mpsc, task::JoinHandle, time::Instant};

use super::{
    Group, Manager, ManagerError,
    stop::{Stop, Stopper},
};
use crate::{leader_election::Outcome, source::is_unknown_kind};

/// The task that leads, or tries to. Dropping it ends it at once, and the Lease expires by itself.
struct Leading(JoinHandle<Outcome<()>>);

impl Manager {
    /// Runs until shutdown or the first error, and can be called once. Dropping the future ends everything at once, as
    /// in a crash.
    ///
    /// # Errors
    ///
    /// Returns the first error of a runnable, or one of startup or shutdown.
    pub async fn run(&self, shutdown: impl Future<Output = ()>) -> Result<(), ManagerError> {
        let errors = self.0.errors.lock().take();
        let mut errors = errors.ok_or(ManagerError::AlreadyStarted)?;
        let _ends = AbortAll(self);
        let stopper = Stopper::new();
        let mut leading: Option<Leading> = None;
        let cause = {
            let mut shutdown = pin!(shutdown);
            let mut start = pin!(self.start(stopper.signal(), &mut leading));
            let started = tokio::select! {
                biased;
                () = &mut shutdown => None,
                error = errors.recv() => Some(Err(error)),
                started = &mut start => Some(started.map_err(Some)),
            };
            match started {
                None => None,
                Some(Err(error)) => error,
                Some(Ok(mut lost)) => tokio::select! {
                    biased;
                    () = &mut shutdown => None,
                    error = errors.recv() => error,
                    error = &mut lost => error.ok(),
                },
            }
        };
        if let Some(error) = &cause {
            tracing::error!(%error, "manager ends");
        }
        self.end(&stopper, leading, cause, errors).await
    }

    /// Starts everything in order. The returned receiver resolves if the Lease is lost.
    async fn start(
        &self,
        stop: Stop,
        leading: &mut Option<Leading>,
    ) -> Result<tokio::sync::oneshot::Receiver<ManagerError>, ManagerError> {
        let shared = &self.0;
        shared.groups.start(Group::HttpServers);
        shared.groups.start(Group::Webhooks);
        shared.caches.factory().start();
        shared.groups.start(Group::Caches);
        self.wait_for_caches().await?;
        shared.groups.start(Group::Others);
        shared.groups.start(Group::WarmUp);
        shared.groups.finished(Group::WarmUp).await;
        let (tell_lost, lost) = tokio::sync::oneshot::channel();
        let elector = shared.elector.lock().take();
        let shared = shared.clone();
        *leading = Some(Leading(tokio::spawn(async move {
            let Some(elector) = elector else {
                shared.lead(None, &stop).await;
                // Kept until the end, since there is no Lease to lose.
                drop(tell_lost);
                return Outcome::Finished(());
            };
            let work = |token| {
                let (shared, stop) = (shared.clone(), stop.clone());
                async move { shared.lead(Some(&token), &stop).await }
            };
            let outcome = elector.run(stop.stopping(), work).await;
            if outcome == Outcome::Lost {
                let _ = tell_lost.send(ManagerError::LeaderElectionLost);
            }
            outcome
        })));
        Ok(lost)
    }

    /// Waits until the requested caches are filled. A kind that the server does not know is not waited for.
    async fn wait_for_caches(&self) -> Result<(), ManagerError> {
        let timeout = self.0.sync_timeout;
        let deadline = Instant::now() + timeout;
        let mut reasons = Vec::new();
        for informer in self.informers() {
            loop {
                let left = deadline.saturating_duration_since(Instant::now());
                let Ok(outcome) = tokio::time::timeout(left, informer.sync_or_error()).await else {
                    reasons.extend(informer.wait_for_sync(Duration::ZERO).await.err());
                    break;
                };
                let Err(reason) = outcome else {
                    break;
                };
                if reason
                    .reason
                    .as_ref()
                    .is_some_and(|error| is_unknown_kind(error))
                {
                    tracing::info!(%reason, "kind not served yet; waiting for it");
                    break;
                }
                if reason.stopped || left.is_zero() {
                    reasons.push(reason);
                    break;
                }
                // The error may be transient: wait until the deadline.
                tokio::time::sleep(PAUSE.min(left)).await;
            }
        }
        if reasons.is_empty() {
            return Ok(());
        }
        Err(ManagerError::NotSynced { reasons, timeout })
    }

    async fn end(
        &self,
        stopper: &Stopper,
        leading: Option<Leading>,
        cause: Option<ManagerError>,
        mut errors: mpsc::UnboundedReceiver<ManagerError>,
    ) -> Result<(), ManagerError> {
        let shared = &self.0;
        // Work must not continue without the Lease.
        let timeout = match &cause {
            Some(ManagerError::LeaderElectionLost) => Some(Duration::ZERO),
            _ => shared.shutdown_timeout,
        };
        let abort_leading = leading.as_ref().map(|leading| leading.0.abort_handle());
        let stop = async {
            let groups = &shared.groups;
            groups.signal(Group::WarmUp);
            groups.stop(Group::Others).await;
            // No process becomes leader any more; the leader ends its work and releases the Lease.
            stopper.stop();
            if let Some(mut leading) = leading {
                let _ = (&mut leading.0).await;
            }
            groups.stop(Group::LeaderElection).await;
            groups.stop(Group::WarmUp).await;
            groups.stop(Group::Caches).await;
            shared.caches.factory().shutdown().await;
            groups.stop(Group::Webhooks).await;
            groups.stop(Group::HttpServers).await;
        };
        let grace = async {
            match timeout {
                Some(timeout) => tokio::time::sleep(timeout).await,
                None => std::future::pending().await,
            }
        };
        let mut stop = pin!(stop);
        let late = tokio::select! {
            biased;
            () = &mut stop => None,
            () = grace => {
                if let Some(leading) = abort_leading {
                    leading.abort();
                }
                timeout.map(|timeout| (timeout, shared.groups.running()))
            }
        };
        errors.close();
        while let Ok(error) = errors.try_recv() {
            tracing::warn!(%error, "error during shutdown");
        }
        match (late, cause) {
            (None, None) => Ok(()),
            (None, Some(cause)) | (Some(_), Some(cause @ ManagerError::LeaderElectionLost)) => {
                Err(cause)
            }
            (Some((timeout, running)), cause) => Err(ManagerError::ShutdownTimeout {
                timeout,
                running,
                cause: cause.map(Box::new),
            }),
        }
    }
}

impl Drop for Leading {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The interval at which a failing list is checked.
const PAUSE: Duration = Duration::from_millis(100);

/// Aborts the remaining tasks when the manager ends, for any reason.
struct AbortAll<'a>(&'a Manager);

impl Drop for AbortAll<'_> {
    fn drop(&mut self) {
        self.0.0.groups.abort();
        self.0.0.ended.send_replace(true);
    }
}
