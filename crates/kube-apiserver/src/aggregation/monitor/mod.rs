//! The task that keeps the conditions of APIServices, and their part of discovery.
//!
//! It checks an APIService when it, its Service or its endpoints change, every 30 seconds, and earlier after a failure. Each
//! check is a task of its own, so that a server that does not answer delays no other. As long as no APIService names another
//! server, the task only waits for one that does.
//!
//! It also restores the APIServices of custom resources, and the conditions of those that have become local.

mod changes;
mod condition;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use kubewright_apiserver::{
    ApiServer, WeakApiServer,
    aggregation::{GroupVersionInfo, RemoteResources},
};
use kubewright_machinery::{Status, status};
use kubewright_store::Key;
use serde_json::Value;
use tokio::{
    task::{AbortHandle, JoinSet},
    time::{Instant, sleep},
};

use super::{
    Aggregation,
    discovery::{self, Documents},
    index::ApiService,
    probe::{self, Condition},
};
use crate::{
    admission::stored::Stored,
    outgoing::{Endpoint, SERVICE_NAME},
};
use changes::{Changes, Others};

/// The interval of checks that succeed.
const INTERVAL: Duration = Duration::from_secs(30);
/// The delay after the first failure; each further one doubles it, up to the interval.
const FIRST_RETRY: Duration = Duration::from_millis(200);
/// The number of servers that are checked at once. Each may send a few documents of some megabytes.
const PARALLEL: usize = 64;
/// The pause after a failure of the store.
const PAUSE: Duration = Duration::from_secs(1);

const SERVICES: &str = "services";
const SLICES: &str = "discovery.k8s.io/endpointslices";

/// The result of the last check of an APIService.
struct Checked {
    /// The spec, the Service and the endpoints that were checked.
    inputs: String,
    endpoint: Endpoint,
    next: Instant,
    failures: u32,
    documents: Documents,
}

/// A check that is running.
struct Running {
    inputs: String,
    task: AbortHandle,
}

/// A check that is complete.
struct Finished {
    service: Arc<ApiService>,
    endpoint: Endpoint,
    inputs: String,
    condition: Condition,
    fetched: Result<Documents, String>,
    written: Result<(), Status>,
}

/// Keeps the conditions until the server is gone.
pub(super) async fn run(aggregation: Arc<Aggregation>, server: WeakApiServer) {
    let mut monitor = Monitor {
        checked: BTreeMap::new(),
        running: HashMap::new(),
        tasks: JoinSet::new(),
        services: Vec::new(),
        changes: Changes::new(aggregation.environment.store.clone()),
        aggregation,
    };
    loop {
        let passed = match server.upgrade() {
            Some(server) => monitor.pass(&server).await,
            None => return,
        };
        match passed {
            Ok(next) => monitor.wait(&server, next).await,
            Err(error) => {
                tracing::warn!(error = %error.message, "the APIServices cannot be checked");
                sleep(PAUSE).await;
            }
        }
    }
}

struct Monitor {
    aggregation: Arc<Aggregation>,
    /// The APIServices, as of the last pass.
    services: Vec<Arc<ApiService>>,
    checked: BTreeMap<String, Checked>,
    /// The checks that are running, by the name of the APIService.
    running: HashMap<String, Running>,
    tasks: JoinSet<Finished>,
    changes: Changes,
}

/// The time of the next pass, unless something changes.
#[derive(Clone, Copy)]
struct Next {
    others: Others,
    at: Option<Instant>,
    /// Whether checks wait until others are complete.
    postponed: bool,
}

impl Monitor {
    /// Starts the checks that are due, and updates discovery.
    async fn pass(&mut self, server: &ApiServer) -> Result<Next, Status> {
        self.changes.start().await?;
        self.aggregation.restore_custom(server).await?;
        self.services = {
            let following = &self.aggregation.environment.api_services;
            // The change that this is about may not be noted yet: watchers are woken one after the other.
            following.note();
            let index = following.index().await;
            let index = index.map_err(status::internal)?;
            index.all().cloned().collect()
        };
        let services = self.services.clone();
        let remote: HashMap<&str, &Endpoint> = services
            .iter()
            .filter_map(|service| Some((service.name.as_str(), service.endpoint.as_ref()?)))
            .collect();
        self.checked.retain(|name, _| remote.contains_key(&**name));
        self.running.retain(|name, running| {
            let kept = remote.contains_key(&**name);
            if !kept {
                running.task.abort();
            }
            kept
        });
        let mut postponed = false;
        for service in &services {
            match &service.endpoint {
                Some(endpoint) => {
                    let inputs = inputs(&self.aggregation, service, endpoint).await?;
                    postponed |= !self.start(service, endpoint, inputs);
                }
                None if service.is_local => {}
                None => condition::write(&self.aggregation, service, &Condition::local()).await?,
            }
        }
        // Show the new places at once; checks may take seconds.
        self.publish(server);
        Ok(Next {
            others: match remote.is_empty() {
                true => Others::None,
                false => Others::Exist,
            },
            at: self.next(),
            postponed,
        })
    }

    /// Returns the time of the next check, if none is running for its APIService.
    fn next(&self) -> Option<Instant> {
        let waiting = self.checked.iter();
        let waiting = waiting.filter(|(name, _)| !self.running.contains_key(*name));
        waiting.map(|(_, checked)| checked.next).min()
    }

    /// Starts the check of an APIService if it is due. Returns false if too many others are running.
    fn start(&mut self, service: &Arc<ApiService>, endpoint: &Endpoint, inputs: String) -> bool {
        if let Some(running) = self.running.get(&service.name) {
            if running.inputs == inputs {
                return true;
            }
            // It asks a server that is no longer the one.
            running.task.abort();
            self.running.remove(&service.name);
        }
        let known = self.checked.get(&service.name);
        let is_due = |known: &Checked| known.inputs != inputs || known.next <= Instant::now();
        if !known.is_none_or(is_due) {
            return true;
        }
        if self.running.len() >= PARALLEL {
            return false;
        }
        let known = known.filter(|known| known.endpoint == *endpoint);
        let known = known.map(|known| known.documents.clone());
        let check = check(
            self.aggregation.clone(),
            service.clone(),
            endpoint.clone(),
            inputs.clone(),
            known.unwrap_or_default(),
        );
        let task = self.tasks.spawn(check);
        self.running
            .insert(service.name.clone(), Running { inputs, task });
        true
    }

    /// Waits until something has changed or a check is due. Meanwhile, notes the checks that complete.
    async fn wait(&mut self, server: &WeakApiServer, mut next: Next) {
        loop {
            tokio::select! {
                () = self.changes.wait(next.others, next.at) => return,
                Some(ended) = self.tasks.join_next_with_id() => {
                    match ended {
                        Ok((_, finished)) => self.note(finished),
                        Err(error) => {
                            // It was aborted, or panicked; in that case the next pass starts it again.
                            let id = error.id();
                            self.running.retain(|_, running| running.task.id() != id);
                        }
                    }
                    let Some(server) = server.upgrade() else {
                        return;
                    };
                    self.publish(&server);
                    if next.postponed {
                        return;
                    }
                    next.at = self.next();
                }
            }
        }
    }

    fn note(&mut self, finished: Finished) {
        let Finished {
            service,
            endpoint,
            inputs,
            condition,
            fetched,
            written,
        } = finished;
        let name = &service.name;
        let current = |running: &&Running| running.inputs == inputs;
        if self.running.get(name).filter(current).is_none() {
            // It was aborted too late.
            return;
        }
        self.running.remove(name);
        let before = self.checked.remove(name);
        let failed = !condition.is_true() || fetched.is_err() || written.is_err();
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
        if let Err(error) = written {
            tracing::warn!(%name, error = %error.message, "cannot write the condition of an APIService");
        }
        let documents = match fetched {
            Ok(documents) => documents,
            Err(error) => {
                tracing::debug!(%name, %error, "an aggregated server has no discovery");
                let last = before.map(|before| before.documents);
                last.unwrap_or_default().into_stale()
            }
        };
        let checked = Checked {
            inputs,
            endpoint,
            next: Instant::now() + delay,
            failures,
            documents,
        };
        self.checked.insert(name.clone(), checked);
    }

    /// Shows the APIServices in discovery.
    fn publish(&self, server: &ApiServer) {
        let infos = self.services.iter().map(|service| GroupVersionInfo {
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
                known.map_or_else(unknown, |checked| checked.documents.remote.clone())
            }),
        });
        server.set_group_versions(infos.collect());
    }
}

/// Checks the server of an APIService, fetches its documents and writes the condition.
async fn check(
    aggregation: Arc<Aggregation>,
    service: Arc<ApiService>,
    endpoint: Endpoint,
    inputs: String,
    known: Documents,
) -> Finished {
    let condition = probe::check(&aggregation, &service, &endpoint).await;
    let fetched = match condition.is_true() {
        true => discovery::fetch(&aggregation, &service, &endpoint, &known).await,
        false => Err(condition.message.clone()),
    };
    let written = condition::write(&aggregation, &service, &condition).await;
    Finished {
        service,
        endpoint,
        inputs,
        condition,
        fetched,
        written,
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
