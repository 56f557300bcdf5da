//! Health, metrics and `/debug/controllers` of a manager.

use std::{sync::Weak, time::Duration};

use kubewright_informer::SharedInformer;
use kubewright_metrics::{MetricType, TextWriter};
use kubewright_serve::Tls;
use kubewright_workqueue::{Depth, write_metrics};
use serde_json::{Value, json};
use tokio::{net::TcpListener, time::Instant};

use super::{Group, Manager, ManagerError, Shared};
use crate::{
    process,
    serve::{Routes, serve, serve_tls},
    source::is_unknown_kind,
};

/// The time that a queue may stand without a finished reconcile before the program is unhealthy.
const STUCK_AFTER: Duration = Duration::from_secs(600);

impl Manager {
    /// Adds the checks and metrics of every manager. They do not keep it alive.
    pub(super) fn add_checks(&self) {
        let weak = std::sync::Arc::downgrade(&self.0);
        let manager = weak.clone();
        self.0
            .readyz
            .add("caches", move || match upgrade(&manager) {
                Some(manager) => manager.caches_synced().map_err(Into::into),
                None => Ok(()),
            });
        let manager = weak.clone();
        self.0
            .healthz
            .add("reconcile", move || match upgrade(&manager) {
                Some(manager) => manager.reconciles().map_err(Into::into),
                None => Ok(()),
            });
        self.0.registry.register(process::collect);
        self.0.registry.register(move |out: &mut TextWriter| {
            if let Some(manager) = upgrade(&weak) {
                manager.write_queues(out);
                let informers: Vec<_> = manager.informers().iter().map(|i| i.metrics()).collect();
                kubewright_informer::write_metrics(&informers, out);
            }
        });
    }

    /// Returns the contents of `/debug/controllers`: for each controller its sources, its queue, and for each key the
    /// last trigger, the last result, its duration, and when it is due.
    pub fn debug_controllers(&self) -> Value {
        let controllers: Vec<_> = self.controllers().iter().map(|c| c.status()).collect();
        json!({
            "leading": *self.0.elected.borrow(),
            "caches": self.debug_caches(),
            "controllers": controllers,
        })
    }

    /// Returns the caches in [`debug_controllers`](Self::debug_controllers).
    pub(crate) fn debug_caches(&self) -> Vec<Value> {
        let status = |cache: &SharedInformer<()>| {
            json!({
                "resource": crate::client::caches::name(cache.resource()),
                "synced": cache.has_synced(),
                "objects": cache.indexer().len(),
                "resourceVersion": cache.resource_version(),
                "error": cache.error().map(|error| error.to_string()),
            })
        };
        self.informers().iter().map(status).collect()
    }

    /// Returns the routes `/healthz` and `/readyz`, for probes.
    pub fn health_routes(&self) -> Routes {
        Routes::new().health(self.healthz().clone(), self.readyz().clone())
    }

    /// Returns the routes `/healthz`, `/readyz`, `/metrics` and `/debug/controllers`. Anyone who can reach them learns the
    /// names of objects and the errors of reconciles.
    pub fn routes(&self) -> Routes {
        let manager = std::sync::Arc::downgrade(&self.0);
        let reporting = manager.clone();
        Routes::new()
            .health(self.healthz().clone(), self.readyz().clone())
            .metrics(self.registry().clone())
            .debug("/debug/controllers", move || {
                upgrade(&manager).map_or(Value::Null, |manager| manager.debug_controllers())
            })
            .debug_query("/debug/kubewright/v1/runs", move |query| {
                let Some(manager) = upgrade(&reporting) else {
                    return Value::Null;
                };
                let after = query
                    .split('&')
                    .find_map(|pair| pair.strip_prefix("after="));
                let after = after
                    .and_then(|after| after.parse().ok())
                    .unwrap_or_default();
                json!(manager.ledger_report(after))
            })
    }

    /// Serves routes on a listener while the manager runs.
    ///
    /// # Errors
    ///
    /// Fails if the manager has stopped.
    pub fn serve(&self, listener: TcpListener, routes: Routes) -> Result<(), ManagerError> {
        self.add(Group::HttpServers, "http", move |stop| async move {
            serve(listener, routes, stop.stopping()).await;
            Ok(())
        })
    }

    /// Serves routes like [`serve`](Self::serve), over TLS.
    ///
    /// # Errors
    ///
    /// Fails if the manager has stopped.
    pub fn serve_tls(
        &self,
        listener: TcpListener,
        tls: Tls,
        routes: Routes,
    ) -> Result<(), ManagerError> {
        self.add(Group::HttpServers, "https", move |stop| async move {
            serve_tls(listener, tls, routes, stop.stopping()).await;
            Ok(())
        })
    }

    /// Checks whether all caches are filled. A kind that the server does not know yet is not a failure.
    fn caches_synced(&self) -> Result<(), String> {
        for cache in self.informers().iter().filter(|cache| !cache.has_synced()) {
            let error = cache.error();
            if error.as_ref().is_some_and(|error| is_unknown_kind(error)) {
                continue;
            }
            let resource = crate::client::caches::name(cache.resource());
            let reason = error.map_or_else(|| "no answer yet".to_owned(), |e| e.to_string());
            return Err(format!("{resource} not synced: {reason}"));
        }
        Ok(())
    }

    /// Checks whether waiting requests are being processed.
    fn reconciles(&self) -> Result<(), String> {
        for controller in self.controllers() {
            let journal = controller.journal();
            let Some((request, since)) = journal.longest_running() else {
                continue;
            };
            let last = journal.last_end().map_or(since, |end| end.max(since));
            let stands = Instant::now().saturating_duration_since(last);
            if stands > STUCK_AFTER && controller.queue().status().queued > 0 {
                let name = controller.name();
                return Err(format!(
                    "{name}: nothing ended for {stands:?}, {request} runs"
                ));
            }
        }
        Ok(())
    }

    fn write_queues(&self, out: &mut TextWriter) {
        let queues: Vec<_> = self
            .controllers()
            .iter()
            .filter_map(|controller| {
                let mut queue = controller.queue().snapshot()?;
                queue
                    .labels
                    .push(("controller".to_owned(), controller.name().to_owned()));
                Some(queue)
            })
            .collect();
        write_metrics(&queues, Depth::ByPriority, out);
        out.heading(
            "kubewright_keys",
            "Keys per controller and state",
            MetricType::Gauge,
        );
        for controller in self.controllers() {
            let queue = controller.queue().status();
            let states = [
                ("delayed", queue.delayed),
                ("failing", controller.journal().failing()),
                ("queued", queue.queued),
                ("running", queue.processing),
            ];
            for (state, count) in states {
                let labels = [("controller", controller.name()), ("state", state)];
                out.sample("kubewright_keys", labels, count as f64);
            }
        }
    }
}

fn upgrade(manager: &Weak<Shared>) -> Option<Manager> {
    manager.upgrade().map(Manager)
}
