//! The task that keeps the conditions of APIServices, and their part of discovery.
//!
//! It looks at an APIService when it, its Service or its endpoints change, every 30 seconds, and sooner again after a failure.
//! As long as no APIService names another server, it only waits for one that does.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::{StreamExt, stream};
use kubewright_apiserver::{
    ApiServer, WeakApiServer,
    aggregation::{GroupVersionInfo, RemoteResources},
    registry::DryRun,
    rfc3339,
};
use kubewright_machinery::{Status, json::Read, status};
use kubewright_store::{Key, Store, Watch};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until};

use super::{
    Aggregation, GROUP, MANAGER, PLURAL, discovery,
    index::ApiService,
    probe::{self, Condition},
};
use crate::{
    admission::stored::Stored,
    kinds::collection,
    outgoing::{Endpoint, SERVICE_NAME},
};

/// The interval of checks that succeed.
const INTERVAL: Duration = Duration::from_secs(30);
/// The delay after the first failure; each further one doubles it, up to the interval.
const FIRST_RETRY: Duration = Duration::from_millis(200);
/// The number of servers that are checked at once.
const PARALLEL: usize = 8;
/// The pause after a failure of the store.
const PAUSE: Duration = Duration::from_secs(1);

const SERVICES: &str = "services";
const SLICES: &str = "discovery.k8s.io/endpointslices";

/// The result of the last check of an APIService.
struct Checked {
    /// The spec, the Service and the endpoints that were checked.
    inputs: String,
    next: Instant,
    failures: u32,
    remote: RemoteResources,
}

/// Keeps the conditions until the server is gone.
pub(super) async fn run(aggregation: Arc<Aggregation>, server: WeakApiServer) {
    let mut monitor = Monitor {
        checked: BTreeMap::new(),
        changes: Changes::new(aggregation.environment.store.clone()),
        aggregation,
    };
    loop {
        let passed = match server.upgrade() {
            Some(server) => monitor.pass(&server).await,
            None => return,
        };
        let waited = match passed {
            Ok(next) => monitor.changes.wait(next).await,
            Err(error) => Err(error),
        };
        if let Err(error) = waited {
            tracing::warn!(error = %error.message, "the APIServices cannot be checked");
            sleep(PAUSE).await;
        }
    }
}

struct Monitor {
    aggregation: Arc<Aggregation>,
    checked: BTreeMap<String, Checked>,
    changes: Changes,
}

impl Monitor {
    /// Checks what is due, and shows the result in discovery. Returns the time of the next check, if there is one.
    async fn pass(&mut self, server: &ApiServer) -> Result<Option<Instant>, Status> {
        self.changes.start().await?;
        let services: Vec<Arc<ApiService>> = {
            let index = self.aggregation.environment.api_services.index().await;
            let index = index.map_err(status::internal)?;
            index.all().cloned().collect()
        };
        let names: Vec<&String> = services.iter().map(|service| &service.name).collect();
        self.checked.retain(|name, _| names.contains(&name));
        let mut due = Vec::new();
        for service in &services {
            let Some(endpoint) = &service.endpoint else {
                // Now local, whatever it was before.
                self.checked.remove(&service.name);
                continue;
            };
            let inputs = inputs(&self.aggregation, service, endpoint).await?;
            let known = self.checked.get(&service.name);
            let is_due = |known: &Checked| known.inputs != inputs || known.next <= Instant::now();
            if known.is_none_or(is_due) {
                due.push((service.clone(), endpoint.clone(), inputs));
            }
        }
        // Show the new places at once; checks may take seconds.
        self.publish(server, &services);
        let aggregation = &self.aggregation;
        let checks = stream::iter(due).map(|(service, endpoint, inputs)| async move {
            let condition = probe::check(aggregation, &service, &endpoint).await;
            let fetched = match condition.is_true() {
                true => discovery::fetch(aggregation, &service, &endpoint).await,
                false => Err(condition.message.clone()),
            };
            (service, inputs, condition, fetched)
        });
        let results: Vec<_> = checks.buffer_unordered(PARALLEL).collect().await;
        for (service, inputs, condition, fetched) in results {
            write(&self.aggregation, &service, &condition).await?;
            self.note(&service, inputs, &condition, fetched);
        }
        self.publish(server, &services);
        Ok(self.checked.values().map(|checked| checked.next).min())
    }

    fn note(
        &mut self,
        service: &ApiService,
        inputs: String,
        condition: &Condition,
        fetched: Result<RemoteResources, String>,
    ) {
        let before = self.checked.remove(&service.name);
        let failed = !condition.is_true() || fetched.is_err();
        let failures = match &before {
            _ if !failed => 0,
            Some(before) => before.failures.saturating_add(1),
            None => 1,
        };
        let delay = match failures {
            0 => INTERVAL,
            n => FIRST_RETRY
                .saturating_mul(1 << (n - 1).min(16))
                .min(INTERVAL),
        };
        let remote = match fetched {
            Ok(remote) => remote,
            Err(error) => {
                tracing::debug!(name = %service.name, %error, "an aggregated server has no discovery");
                RemoteResources {
                    stale: true,
                    ..before.map(|before| before.remote).unwrap_or_default()
                }
            }
        };
        let checked = Checked {
            inputs,
            next: Instant::now() + delay,
            failures,
            remote,
        };
        self.checked.insert(service.name.clone(), checked);
    }

    /// Shows the APIServices in discovery.
    fn publish(&self, server: &ApiServer, services: &[Arc<ApiService>]) {
        let infos = services.iter().map(|service| GroupVersionInfo {
            group: service.group.clone(),
            version: service.version.clone(),
            group_priority: service.group_priority,
            version_priority: service.version_priority,
            remote: service.endpoint.as_ref().map(|_| {
                let known = self.checked.get(&service.name);
                let unknown = || RemoteResources {
                    stale: true,
                    ..RemoteResources::default()
                };
                known.map_or_else(unknown, |checked| checked.remote.clone())
            }),
        });
        server.set_group_versions(infos.collect());
    }
}

/// Returns everything that the condition depends on, except for the answer of the server.
async fn inputs(
    aggregation: &Aggregation,
    service: &ApiService,
    endpoint: &Endpoint,
) -> Result<String, Status> {
    let mut inputs = format!("{} {endpoint:?}", service.uid);
    let Some(port) = endpoint.service() else {
        return Ok(inputs);
    };
    inputs.push_str(&format!(" {}", aggregation.outgoing.knows(port)));
    let store = &aggregation.environment.store;
    let key = Key::new(SERVICES, format!("{}/{}", port.namespace, port.name));
    if let Some(entry) = store.get(&key).await.map_err(status::internal)? {
        inputs.push_str(&format!(" {}", entry.revision.0));
    }
    let stored = Stored(store.clone());
    let slices = stored.entries(SLICES, format!("{}/", port.namespace));
    for entry in slices.await? {
        let slice: Value = serde_json::from_slice(&entry.bytes).map_err(status::internal)?;
        if slice["metadata"]["labels"][SERVICE_NAME] == port.name.as_str() {
            inputs.push_str(&format!(" {}", entry.revision.0));
        }
    }
    Ok(inputs)
}

/// Writes a condition, if it changes. Its transition time changes only with its status.
async fn write(
    aggregation: &Aggregation,
    service: &ApiService,
    condition: &Condition,
) -> Result<(), Status> {
    let now = aggregation.environment.clock.now();
    let change = |object: &mut Value| {
        let before = object.clone();
        // The APIService may have been deleted and created again.
        if object["metadata"]["uid"].text() != service.uid {
            return Ok(());
        }
        let conditions = object["status"]["conditions"].items();
        let old = conditions.iter().find(|c| c["type"].text() == "Available");
        let same = |old: &Value| {
            old["status"].text() == condition.status
                && old["reason"].text() == condition.reason
                && old["message"].text() == condition.message
        };
        if old.is_some_and(same) {
            return Ok(());
        }
        let time = match old.filter(|old| old["status"].text() == condition.status) {
            Some(old) => old["lastTransitionTime"].clone(),
            None => rfc3339(now).into(),
        };
        object["status"]["conditions"] = json!([{
            "type": "Available",
            "status": condition.status,
            "lastTransitionTime": time,
            "reason": condition.reason,
            "message": condition.message,
        }]);
        let second = now.as_second();
        aggregation
            .status_manager
            .update(&before, object, MANAGER, second);
        Ok(())
    };
    let written = aggregation
        .stored
        .rewrite_in("", &service.name, DryRun::No, &change);
    match written.await {
        Err(e) if e.code != 404 => Err(e),
        _ => Ok(()),
    }
}

/// Waits for changes of APIServices, and of Services and endpoints if there are other servers.
struct Changes {
    store: Arc<dyn Store>,
    api_services: Option<Box<dyn Watch>>,
    others: Option<[Box<dyn Watch>; 2]>,
}

impl Changes {
    fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            api_services: None,
            others: None,
        }
    }

    /// Begins to watch, before anything is read.
    async fn start(&mut self) -> Result<(), Status> {
        if self.api_services.is_none() {
            self.api_services = Some(watch(&self.store, &collection(GROUP, PLURAL)).await?);
        }
        if self.others.is_none() {
            let services = watch(&self.store, SERVICES).await?;
            self.others = Some([services, watch(&self.store, SLICES).await?]);
        }
        Ok(())
    }

    /// Waits for a change, or until the time of the next check.
    async fn wait(&mut self, next: Option<Instant>) -> Result<(), Status> {
        let Some(api_services) = &mut self.api_services else {
            return Ok(());
        };
        let ended = match (next, &mut self.others) {
            (Some(next), Some([services, slices])) => tokio::select! {
                changed = api_services.next() => changed.is_err(),
                changed = services.next() => changed.is_err(),
                changed = slices.next() => changed.is_err(),
                () = sleep_until(next) => false,
            },
            _ => {
                // Without other servers, Services do not matter; they are watched anew when they do.
                self.others = None;
                api_services.next().await.is_err()
            }
        };
        if ended {
            // It fell behind, or the store is closing. Everything is read anew.
            (self.api_services, self.others) = (None, None);
            sleep(PAUSE).await;
        }
        Ok(())
    }
}

async fn watch(store: &Arc<dyn Store>, collection: &str) -> Result<Box<dyn Watch>, Status> {
    let current = store.current().await.map_err(status::internal)?;
    let watch = store.watch(collection, "", current).await;
    watch.map_err(status::internal)
}
