//! [`TestCluster`]: a cluster in this process, and a client for it.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, OnceLock},
};

use kubewright_apiserver::{audit::Ring, auth::LocalUsers};
use kubewright_builtin_controllers::Controllers;
use kubewright_cluster::{
    Cluster, Endpoint, Error, Faults, FaultyServer, FaultyService, ServiceHandler, Storage,
};
use kubewright_kube_apiserver::{
    AnonymousAccess, AuthorizationMode, Conversions, FIRST_REVISION, KubeApiServer,
    ServiceAccountKeys, Services,
};
use kubewright_ledger::Ledger;
use kubewright_store::{MemoryStore, Revision, Store};
use kubewright_streams::Kubelets;
use serde_json::Value;

use crate::{
    access::{Gate, Watched, admin},
    endless::Counters,
    ledger::Reporters,
    managers::{Attached, RunningManager},
    perturb::Calls,
    recording::Record,
    time::{TestClock, Time},
};

/// A cluster in this process, which ends when it is dropped. Clusters are independent of each other.
///
/// Every user may do everything, unless the cluster is [built](Self::builder) with RBAC.
///
/// As in every cluster, events expire after an hour, by tokio's clock, which a test can [pause](Time). History is compacted only
/// by [`compact_now`](Self::compact_now), so that an idle cluster stays at its revision.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// use k8s_openapi::api::core::v1::Namespace;
/// use kube::Api;
/// use kubewright_testing::TestCluster;
///
/// let cluster = TestCluster::start().await;
/// let namespaces: Api<Namespace> = Api::all(cluster.client());
/// assert!(namespaces.get("default").await.is_ok());
///
/// // A fork begins with the same objects at the same revision.
/// let fork = cluster.fork().await;
/// assert_eq!(fork.revision().await, cluster.revision().await);
/// # });
/// ```
pub struct TestCluster {
    pub(crate) cluster: Cluster,
    store: MemoryStore,
    faults: Faults,
    clock: TestClock,
    conversions: Conversions,
    services: Services,
    pub(crate) gate: Gate,
    pub(crate) watched: Watched,
    pub(crate) audit: OnceLock<Ring>,
    pub(crate) ledger: Ledger,
    pub(crate) reporters: Reporters,
    pub(crate) managers: Attached,
    pub(crate) writes: Counters,
    /// The webhook calls of a perturbed run.
    pub(crate) calls: Calls,
    /// The built-in controllers that run from the start.
    pub(crate) controllers: Controllers,
    _running: Option<RunningManager>,
    #[cfg(feature = "workloads")]
    pub(crate) simulation: Option<(Option<kubewright_nodes::Nodes>, RunningManager)>,
}

/// Builds a [`TestCluster`].
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// use k8s_openapi::api::rbac::v1::ClusterRole;
/// use kube::Api;
/// use kubewright_testing::TestCluster;
///
/// let cluster = TestCluster::builder().rbac().start().await;
/// let roles: Api<ClusterRole> = Api::all(cluster.client());
/// assert!(roles.get_opt("cluster-admin").await.unwrap().is_some());
/// # });
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing runs before `start`"]
pub struct TestClusterBuilder {
    rbac: bool,
    store: Option<MemoryStore>,
    controllers: Controllers,
    #[cfg(feature = "workloads")]
    pub(crate) nodes: Option<kubewright_nodes::Nodes>,
    /// The scheduler: that of clusters with nodes, none, or this one.
    #[cfg(feature = "workloads")]
    pub(crate) scheduler: Option<Option<kubewright_scheduler::Scheduler>>,
}

impl Default for TestClusterBuilder {
    fn default() -> Self {
        Self {
            rbac: false,
            store: None,
            controllers: Controllers::none(),
            #[cfg(feature = "workloads")]
            nodes: None,
            #[cfg(feature = "workloads")]
            scheduler: None,
        }
    }
}

impl TestClusterBuilder {
    /// Allows users only what roles grant. The roles and bindings of a new cluster exist from the start. By default, every
    /// user may do everything, and there are no roles. In both cases, [`TestCluster::client`] acts as the administrator.
    pub fn rbac(mut self) -> Self {
        self.rbac = true;
        self
    }

    /// Starts with the objects of a store, which is not changed.
    pub fn objects(mut self, store: &MemoryStore) -> Self {
        self.store = Some(store.fork());
        self
    }

    /// Runs built-in controllers (default: none), which [`settled`](TestCluster::settled) waits for. Forks run the same ones.
    pub fn controllers(mut self, controllers: Controllers) -> Self {
        self.controllers = controllers;
        self
    }

    /// Starts the cluster.
    ///
    /// # Panics
    ///
    /// Panics outside a tokio runtime.
    pub async fn start(self) -> TestCluster {
        let store = self.store.map(|store| store.fork());
        let new = Snapshot {
            store: store.unwrap_or_else(|| MemoryStore::starting_at(FIRST_REVISION)),
            conversions: Conversions::default(),
            services: Services::default(),
            keys: ServiceAccountKeys::generate(),
            rbac: false,
            records: Vec::new(),
            controllers: self.controllers,
        };
        #[cfg(feature = "workloads")]
        let kubelets = self.nodes.clone().map(|nodes| Arc::new(nodes) as _);
        #[cfg(not(feature = "workloads"))]
        let kubelets = None;
        let cluster = TestCluster::on(new, TestClock::default(), kubelets).await;
        if self.rbac {
            cluster.enable_rbac().await;
        }
        #[cfg(feature = "workloads")]
        let cluster = cluster.simulating(self.nodes, self.scheduler).await;
        cluster
    }
}

/// Counts the changes of a cluster.
pub(crate) struct Changes(MemoryStore);

impl Changes {
    /// Returns the number of changes of the resources with a plural name, in all groups: a kind that is served in two groups is
    /// stored in one.
    pub(crate) fn of(&self, plural: &str) -> u64 {
        let counts = self.0.change_counts().into_iter();
        counts
            .filter(|(collection, _)| collection.rsplit('/').next() == Some(plural))
            .map(|(_, count)| count)
            .sum()
    }
}

/// The objects of a cluster at some point, from which other clusters can be started, also in other runtimes.
#[derive(Clone)]
pub(crate) struct Snapshot {
    store: MemoryStore,
    conversions: Conversions,
    services: Services,
    keys: ServiceAccountKeys,
    /// Whether RBAC is enabled.
    rbac: bool,
    records: Vec<Record>,
    controllers: Controllers,
}

impl Snapshot {
    /// Starts a cluster with these objects. It has its own services.
    pub(crate) async fn start(&self) -> TestCluster {
        let fork = Self {
            store: self.store.fork(),
            services: Services::default(),
            ..self.clone()
        };
        TestCluster::on(fork, TestClock::default(), None).await
    }
}

impl TestCluster {
    /// Starts a cluster with the objects of every new cluster, such as the initial namespaces.
    ///
    /// # Panics
    ///
    /// Panics outside a tokio runtime.
    pub async fn start() -> Self {
        Self::builder().start().await
    }

    /// Returns a builder, for a cluster with RBAC or with controllers.
    pub fn builder() -> TestClusterBuilder {
        TestClusterBuilder::default()
    }

    async fn on(begin: Snapshot, clock: TestClock, kubelets: Option<Arc<dyn Kubelets>>) -> Self {
        let Snapshot {
            store,
            conversions,
            services,
            keys,
            rbac,
            records,
            controllers,
        } = begin;
        let (gate, watched) = (Gate::new(&store, rbac), Watched::default());
        watched.record(records);
        let authorizer = AuthorizationMode::Custom(Arc::new(gate.clone()));
        let ledger = Ledger::new();
        let starting = Cluster::builder()
            .ledger(ledger.clone())
            .store(storage(store.clone()))
            .clock(Arc::new(clock.clone()))
            .service_account_keys(keys)
            .access_log(watched.log.clone())
            .api_server(|server| {
                let server = match kubelets {
                    Some(kubelets) => server.kubelets(kubelets),
                    None => server,
                };
                server
                    .conversions(conversions.clone())
                    .services(services.clone())
                    .authenticator(Arc::new(LocalUsers))
                    .anonymous(AnonymousAccess::Enabled)
                    .authorization([authorizer])
            })
            .start();
        // Boxed, to save stack space in tests.
        let cluster = Box::pin(starting).await;
        let cluster = cluster.expect("a cluster in memory starts");
        let mut cluster = Self {
            cluster,
            store,
            faults: Faults::default(),
            clock,
            conversions,
            services,
            gate,
            watched,
            audit: OnceLock::new(),
            ledger,
            reporters: Reporters::default(),
            managers: Attached::default(),
            writes: Counters::default(),
            calls: Calls::default(),
            controllers: Controllers::none(),
            _running: None,
            #[cfg(feature = "workloads")]
            simulation: None,
        };
        if !controllers.is_empty() {
            cluster._running = Some(cluster.run_controllers(&controllers));
            cluster.controllers = controllers;
        }
        cluster
    }

    /// Returns a client that calls the server without a socket, as the administrator. Its default namespace is `default`.
    /// [`client_as`](Self::client_as) returns the client of another user.
    pub fn client(&self) -> kube::Client {
        self.client_of(admin(), "default")
    }

    /// Returns the server as a `tower::Service` that injects the [faults](Self::faults). Requests without credentials are
    /// anonymous.
    pub fn service(&self) -> FaultyServer {
        let server = self.api_server().server().clone();
        FaultyServer::new(server, self.faults.clone()).observer(Arc::new(self.writes.clone()))
    }

    /// Starts another cluster with the same objects, at the same revision, which accepts the same service-account tokens. The
    /// cost does not depend on the number of objects.
    pub async fn fork(&self) -> Self {
        let fork = Self::on(self.snapshot(), self.clock.clone(), None).await;
        #[cfg(feature = "workloads")]
        if self.nodes().is_some() {
            fork.serve_empty_metrics().await;
        }
        fork
    }

    /// Returns the store.
    pub(crate) fn store(&self) -> &MemoryStore {
        &self.store
    }

    /// Returns a counter of changes.
    pub(crate) fn changes(&self) -> Changes {
        Changes(self.store.clone())
    }

    /// Returns the current objects.
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot {
            store: self.store.fork(),
            conversions: self.conversions.clone(),
            services: self.services.clone(),
            keys: self.api_server().service_account_keys().clone(),
            rbac: self.gate.is_closed(),
            records: self.watched.records(),
            controllers: self.controllers.clone(),
        }
    }

    /// Converts custom objects with a function, instead of the conversion in their CustomResourceDefinition.
    ///
    /// `definition` is the name of the CustomResourceDefinition, such as `captains.crew.example.com`. The function is
    /// given an object and the desired `apiVersion`.
    pub fn convert(
        &self,
        definition: impl Into<String>,
        convert: impl Fn(&Value, &str) -> Result<Value, String> + Send + Sync + 'static,
    ) {
        self.conversions.set(definition, convert);
    }

    /// Converts custom objects with a service, instead of the conversion in their CustomResourceDefinition. Conversion reviews
    /// are sent to the path `/convert`, to the handler of [`serve_webhooks`](Self::serve_webhooks) if there is one.
    pub fn convert_at(
        &self,
        definition: impl Into<String>,
        namespace: &str,
        service: &str,
        port: u16,
    ) {
        let conversions = &self.conversions;
        conversions.set_service(definition, namespace, service, port);
    }

    /// Returns the services that webhooks of the cluster call without a network: code of the test, or addresses of this machine.
    /// Forks share them.
    pub fn services(&self) -> &Services {
        &self.services
    }

    /// Serves the webhook calls for a service with code in this process, instead of over a connection. They are subject to
    /// [webhook faults](Faults::inject_webhook).
    pub fn serve_webhooks(
        &self,
        namespace: &str,
        service: &str,
        port: u16,
        handler: Arc<dyn ServiceHandler>,
    ) {
        let faults = self.faults.clone();
        let handler = self.calls.wrap(handler);
        let handler = Arc::new(FaultyService::new(handler, faults));
        self.services.set_handler(namespace, service, port, handler);
    }

    /// Compacts the history: watches and lists from earlier revisions fail with 410.
    pub async fn compact_now(&self) {
        self.store.compact_now();
    }

    /// Returns the newest revision.
    pub async fn revision(&self) -> u64 {
        self.store.current().await.unwrap_or(Revision(0)).0
    }

    /// Returns the faults to inject.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Returns the cluster's clock.
    pub fn clock(&self) -> &TestClock {
        &self.clock
    }

    /// Returns the means to move time. See [`Time`].
    pub fn time(&self) -> Time<'_> {
        Time::new(self)
    }

    /// Returns the API server.
    pub fn api_server(&self) -> &KubeApiServer {
        self.cluster.api_server()
    }

    /// Serves the cluster over TLS on a free loopback port, for clients that need a socket.
    ///
    /// # Errors
    ///
    /// Fails if no port is available.
    pub async fn listen(&self) -> Result<Endpoint, Error> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        self.cluster.listen_with(address, self.service()).await
    }
}

/// Expires objects, but does not compact periodically: each compaction writes a revision, so that virtual time would change an
/// idle cluster.
fn storage(store: MemoryStore) -> Storage {
    let maintained = store.clone();
    Storage::new(Arc::new(store)).maintenance(async move { maintained.run_maintenance().await })
}
