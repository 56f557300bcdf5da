//! Flow control: which flow schema and which priority level a request belongs to.
//!
//! Requests are matched and answers say with what, as kube-apiserver's do, but nothing is queued: one process in a test has no load to
//! share out. The index is as new as the store ([`Following`]).

mod bootstrap;
mod ensure;
mod index;
mod rules;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use http::Method;
use kubewright_apiserver::{
    ApiServer, SharedClock, WeakApiServer,
    auth::Attributes,
    boxed_async,
    flow::{Flow, FlowControl},
    rfc3339,
};
use kubewright_machinery::Status;
use kubewright_store::Store;
use parking_lot::Mutex;
use serde_json::json;

use self::{ensure::Ensurer, index::Unsettled};
use crate::{bootstrap::send, follow::Following};

pub(crate) use self::index::Schemas;

/// The group of the objects.
pub(crate) const GROUP: &str = "flowcontrol.apiserver.k8s.io";

/// The manager of the conditions of flow schemas.
const CONSUMER: &str = "api-priority-and-fairness-config-consumer-v1";

/// The flow schemas and priority levels of a store.
pub(crate) type Flows = Following<Schemas>;

/// Whether requests belong to flows. The objects of flow control are served in either case.
///
/// ```
/// use kubewright_kube_apiserver::{KubeApiServer, PriorityAndFairness};
///
/// // As `kube-apiserver --enable-priority-and-fairness=false`.
/// let builder = KubeApiServer::builder().priority_and_fairness(PriorityAndFairness::Disabled);
/// # let _ = builder;
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PriorityAndFairness {
    /// Responses name the flow schema and the priority level of their request, and flow schemas have conditions.
    #[default]
    Enabled,
    /// Responses name no flow, and flow schemas have no conditions of their own.
    Disabled,
}

/// Matches requests with flow schemas, keeps the conditions of flow schemas true, and keeps the objects of a new cluster.
pub(crate) struct Matcher {
    flows: Arc<Flows>,
    clock: SharedClock,
    server: Mutex<Option<WeakApiServer>>,
    /// The generation of the index whose conditions were last set.
    settled: AtomicU64,
    ensurer: Ensurer,
    fairness: PriorityAndFairness,
}

impl Matcher {
    pub(crate) fn new(
        flows: Arc<Flows>,
        store: Arc<dyn Store>,
        clock: SharedClock,
        fairness: PriorityAndFairness,
    ) -> Self {
        Self {
            flows,
            ensurer: Ensurer::new(store, clock.clone(), fairness),
            clock,
            server: Mutex::new(None),
            settled: AtomicU64::new(0),
            fairness,
        }
    }

    /// Sets the server whose flow schemas get conditions.
    pub(crate) fn start(&self, server: &ApiServer) {
        *self.server.lock() = Some(server.downgrade());
    }

    /// Creates the objects of a new cluster, or restores them.
    pub(crate) async fn bootstrap(&self, server: &ApiServer) -> Result<(), Status> {
        self.ensurer.bootstrap(server).await
    }

    fn server(&self) -> Option<ApiServer> {
        self.server.lock().as_ref().and_then(WeakApiServer::upgrade)
    }

    /// Says in the conditions of flow schemas whether their priority levels exist. Others may be served meanwhile.
    async fn settle(&self, unsettled: Vec<Unsettled>) {
        let Some(server) = self.server() else { return };
        for schema in unsettled {
            let path = format!(
                "/apis/{GROUP}/v1/flowschemas/{}/status?fieldManager={CONSUMER}&force=true",
                schema.name
            );
            let condition = json!({
                "apiVersion": format!("{GROUP}/v1"), "kind": "FlowSchema", "metadata": {"name": &*schema.name},
                "status": {"conditions": [schema.condition(&rfc3339(self.clock.now()))]},
            });
            let media = "application/apply-patch+yaml";
            if let Err(error) = send(&server, Method::PATCH, &path, media, &condition).await {
                tracing::debug!(%error, "a flow schema has no condition");
            }
        }
    }
}

#[boxed_async]
impl FlowControl for Matcher {
    async fn flow(&self, request: &Attributes<'_>) -> Option<Flow> {
        let names = self.fairness == PriorityAndFairness::Enabled;
        let (flow, unsettled, is_due) = {
            let index = self.flows.index().await.ok()?;
            // Whoever comes first sets the conditions of a generation.
            let first = names
                && index.generation() != self.settled.load(Ordering::Relaxed)
                && self.settled.swap(index.generation(), Ordering::Relaxed) != index.generation();
            let is_due = self.ensurer.is_due(index.generation());
            (
                if names { index.flow(request) } else { None },
                first.then(|| index.unsettled()),
                is_due,
            )
        };
        if is_due && let Some(server) = self.server() {
            self.ensurer.restore(&server).await;
        }
        match unsettled {
            Some(unsettled) if !unsettled.is_empty() => self.settle(unsettled).await,
            _ => {}
        }
        flow
    }
}
