//! Aggregation: group versions that APIServices lead to other servers.
//!
//! A request for such a group version passes authentication, impersonation, flow control, audit and authorization here, and is
//! then forwarded with the name of its user. Every group version of this server has an APIService too, which gives it its place
//! in discovery.
//!
//! | module | contents |
//! |---|---|
//! | `index` | the APIServices, as new as the store |
//! | `proxy`, `headers` | requests on their way to another server |
//! | `register` | the APIServices of built-in kinds and custom resources |
//! | `monitor` | the task that keeps the condition `Available`, and discovery |
//! | `probe` | the checks behind the condition |
//! | `discovery` | the discovery documents of other servers |

mod discovery;
pub(crate) mod headers;
mod index;
mod monitor;
mod probe;
mod proxy;
mod register;

use std::{future::Future, sync::Arc};

use kubewright_apiserver::{
    ApiServer, FieldManager,
    aggregation::{Aggregator, Backend},
    boxed_async, random_uid,
    registry::{Generic, Registry, Resource, ResourceSpec, Shape},
};
use kubewright_catalog::generated::apiregistration_v1::API_SERVICE;
use kubewright_machinery::{Status, gvk::GroupVersionKind};
use kubewright_store::Store;
use parking_lot::Mutex;
use tokio::task::AbortHandle;

use crate::{follow::Noted, kinds::Environment, outgoing::Outgoing};
pub(crate) use index::ApiServices;
use proxy::Remote;

pub(crate) const GROUP: &str = "apiregistration.k8s.io";
const PLURAL: &str = "apiservices";
/// The field manager that writes APIServices and their status.
const MANAGER: &str = "kube-apiserver";

/// The APIServices of a server.
pub(crate) struct Aggregation {
    environment: Environment,
    outgoing: Outgoing,
    /// The registry of APIServices, without the rules for clients.
    stored: Generic,
    status_manager: FieldManager,
    /// Marks requests that this server has forwarded, to detect loops.
    mark: String,
    /// The turn to register custom resources.
    registering: tokio::sync::Mutex<()>,
}

/// The aggregation as a server holds it. Its tasks end with the server.
pub(crate) struct Front {
    aggregation: Arc<Aggregation>,
    tasks: Mutex<Vec<AbortHandle>>,
}

impl Drop for Front {
    fn drop(&mut self) {
        for task in self.tasks.lock().drain(..) {
            task.abort();
        }
    }
}

impl Aggregation {
    pub(crate) fn new(environment: &Environment) -> Arc<Self> {
        let kind = GroupVersionKind::new(GROUP, "v1", "APIService");
        let shape = Shape::Typed(&API_SERVICE);
        let spec = ResourceSpec {
            shape,
            ..ResourceSpec::new(kind.clone(), PLURAL)
        };
        let store = Noted::new(environment.store.clone(), environment.api_services.clone());
        let store: Arc<dyn Store> = Arc::new(store);
        Arc::new(Self {
            stored: Generic::new(spec, store).with_clock(environment.clock.clone()),
            status_manager: FieldManager::new(&kind, shape, "status", &["spec", "metadata"]),
            environment: environment.clone(),
            outgoing: environment.outgoing.clone(),
            mark: format!("kube-apiserver-{}", random_uid()),
            registering: tokio::sync::Mutex::default(),
        })
    }

    /// Returns the aggregator of a server.
    pub(crate) fn front(self: &Arc<Self>) -> Arc<Front> {
        Arc::new(Front {
            aggregation: self.clone(),
            tasks: Mutex::default(),
        })
    }

    /// Registers the group versions of custom resources, and removes those that are no longer served. The server must serve the
    /// resources already.
    pub(crate) async fn register_custom(&self, resources: &[Arc<Resource>]) -> Result<(), Status> {
        let _turn = self.registering.lock().await;
        register::custom(self, resources).await
    }

    /// Restores the APIServices of the custom resources that a server serves.
    async fn restore_custom(&self, server: &ApiServer) -> Result<(), Status> {
        // What is served is read when it is our turn: whatever is no longer served after that is removed after us.
        let _turn = self.registering.lock().await;
        let registry = server.registry();
        let custom = resources(&registry).filter(|resource| resource.custom().is_some());
        let custom: Vec<Arc<Resource>> = custom.cloned().collect();
        register::restore(self, &custom).await
    }
}

impl Front {
    /// Registers the group versions of the server, and keeps the conditions of the others.
    pub(crate) async fn start(&self, server: &ApiServer) -> Result<(), Status> {
        let registry = server.registry();
        let built_in = resources(&registry).filter(|resource| resource.custom().is_none());
        let built_in: Vec<Arc<Resource>> = built_in.cloned().collect();
        register::built_in(&self.aggregation, &built_in).await?;
        self.spawn(monitor::run(self.aggregation.clone(), server.downgrade()));
        Ok(())
    }

    /// Runs a task until the server is gone.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.lock().push(tokio::spawn(task).abort_handle());
    }
}

/// Returns the resources of a registry.
fn resources(registry: &Registry) -> impl Iterator<Item = &Arc<Resource>> {
    let versions = registry.groups().iter().flat_map(|group| &group.versions);
    versions.flat_map(|(_, resources)| resources)
}

#[boxed_async]
impl Aggregator for Front {
    async fn backend(&self, group: &str, version: &str) -> Option<Arc<dyn Backend>> {
        let mut remote = self.aggregation.remote(group, version).await?;
        if !remote.available {
            // A client that watches APIServices may know of a change before it is noted.
            self.aggregation.environment.api_services.note();
            remote = self.aggregation.remote(group, version).await?;
        }
        Some(Arc::new(remote))
    }
}

impl Aggregation {
    /// Returns the server of a group version, if its APIService names one.
    async fn remote(&self, group: &str, version: &str) -> Option<Remote> {
        let services = match self.environment.api_services.index().await {
            Ok(services) => services,
            Err(error) => {
                tracing::error!(%error, "the APIServices cannot be read");
                return None;
            }
        };
        let service = services.get(group, version)?;
        Some(Remote {
            outgoing: self.outgoing.clone(),
            endpoint: service.endpoint.clone()?,
            available: service.available,
            mark: self.mark.clone(),
        })
    }
}
