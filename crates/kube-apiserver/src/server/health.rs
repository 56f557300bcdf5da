//! The health checks of the server.

use std::sync::Arc;

use kubewright_apiserver::{HealthChecks, Probe};
use kubewright_store::Store;

/// Returns the checks of `/livez`, `/readyz` and `/healthz`, with the names of kube-apiserver. Initialization completes before the
/// server responds, so that the checks of post-start hooks never fail.
pub(super) fn health_checks(store: &Arc<dyn Store>) -> HealthChecks {
    const STARTED: [&str; 6] = [
        "poststarthook/start-apiextensions-controllers",
        "poststarthook/crd-informer-synced",
        "poststarthook/start-system-namespaces-controller",
        "poststarthook/scheduling/bootstrap-system-priority-classes",
        "poststarthook/bootstrap-controller",
        "poststarthook/start-kubernetes-service-cidr-controller",
    ];
    let reads = |store: &Arc<dyn Store>| {
        let store = store.clone();
        move || {
            let store = store.clone();
            async move { store.current().await.map(drop).map_err(|e| e.to_string()) }
        }
    };
    let writes = {
        let store = store.clone();
        move || {
            let store = store.clone();
            async move {
                let ready = store.ready().await;
                ready
                    .map(|()| store.limitation())
                    .map_err(|e| e.to_string())
            }
        }
    };
    let checks = HealthChecks::new()
        .check("ping", || Ok(()))
        .check("log", || Ok(()))
        .check_async(&Probe::ALL, "etcd", reads(store))
        .check_noted(&[Probe::Readyz], "etcd-readiness", writes)
        .check_for(&[Probe::Readyz], "informer-sync", || Ok(()));
    STARTED
        .into_iter()
        .fold(checks, |checks, name| checks.check(name, || Ok(())))
}
