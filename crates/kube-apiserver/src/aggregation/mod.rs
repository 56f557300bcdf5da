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
mod headers;
mod index;
mod monitor;
mod probe;
mod proxy;
mod register;

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use kubewright_apiserver::{
    ApiServer, FieldManager,
    aggregation::{Aggregator, Backend},
    random_uid,
    registry::{Generic, Resource, ResourceSpec, Shape},
};
use kubewright_catalog::generated::apiregistration_v1::API_SERVICE;
use kubewright_machinery::{Status, gvk::GroupVersionKind};
use kubewright_store::Store;
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
    /// Marks requests that this server has forwarded, so that one that comes back is noticed.
    mark: String,
}

/// The aggregation as a server holds it. Its task ends with the server.
pub(crate) struct Front {
    aggregation: Arc<Aggregation>,
    task: OnceLock<AbortHandle>,
}

impl Drop for Front {
    fn drop(&mut self) {
        if let Some(task) = self.task.get() {
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
        })
    }

    /// Returns the aggregator of a server.
    pub(crate) fn front(self: &Arc<Self>) -> Arc<Front> {
        Arc::new(Front {
            aggregation: self.clone(),
            task: OnceLock::new(),
        })
    }

    /// Registers the group versions of custom resources, and removes those that are no longer served.
    pub(crate) async fn register_custom(&self, resources: &[Arc<Resource>]) -> Result<(), Status> {
        register::custom(self, resources).await
    }
}

impl Front {
    /// Registers the group versions of the server, and keeps the conditions of the others.
    pub(crate) async fn start(&self, server: &ApiServer) -> Result<(), Status> {
        let registry = server.registry();
        let versions = registry.groups().iter().flat_map(|group| &group.versions);
        let resources = versions.flat_map(|(_, resources)| resources);
        let built_in = resources.filter(|resource| resource.custom().is_none());
        let built_in: Vec<Arc<Resource>> = built_in.cloned().collect();
        register::built_in(&self.aggregation, &built_in).await?;
        let task = monitor::run(self.aggregation.clone(), server.downgrade());
        let task = tokio::spawn(task).abort_handle();
        // It is started once.
        let _ = self.task.set(task);
        Ok(())
    }
}

#[async_trait]
impl Aggregator for Front {
    async fn backend(&self, group: &str, version: &str) -> Option<Arc<dyn Backend>> {
        let aggregation = &self.aggregation;
        let services = match aggregation.environment.api_services.index().await {
            Ok(services) => services,
            Err(error) => {
                tracing::error!(%error, "the APIServices cannot be read");
                return None;
            }
        };
        let service = services.get(group, version)?;
        let endpoint = service.endpoint.clone()?;
        Some(Arc::new(Remote {
            outgoing: aggregation.outgoing.clone(),
            endpoint,
            available: service.available,
            mark: aggregation.mark.clone(),
        }))
    }
}
