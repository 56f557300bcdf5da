//! [`TestCluster`]: a cluster in this process, and a client for it.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, OnceLock},
};

use kubewright_apiserver::{audit::Ring, auth::LocalUsers};
use kubewright_builtin_controllers::Controllers;
use kubewright_cluster::{Cluster, Endpoint, Error, ServiceHandler, Storage};
use kubewright_kube_apiserver::{
    AnonymousAccess, AuthorizationMode, Conversions, FIRST_REVISION, KubeApiServer,
    ServiceAccountKeys, Services,
};
use kubewright_nodes::Nodes;
use kubewright_store::{MemoryStore, Revision, Store};
use serde_json::Value;

use crate::{
    access::{Gate, Watched, admin},
    endless::Counters,
    faults::{Faults, FaultyServer, FaultyService},
    managers::{Attached, RunningManager},
    recording::Record,
    time::{TestClock, Time},
};

/// A cluster in this process. Any number may run at once; they share nothing. It ends when it is dropped.
///
/// It is open to everybody, unless it is [built](Self::builder) with RBAC.
///
/// As in every cluster, events expire after an hour, by tokio's clock, which a test may [pause](Time). Past states are
/// compacted by [`compact_now`](Self::compact_now) only, so that an idle cluster stays at its revision.
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
    pub(crate) managers: Attached,
    pub(crate) writes: Counters,
    /// The built-in controllers that run from the start.
    pub(crate) controllers: Controllers,
    _running: Option<RunningManager>,
    pub(crate) nodes: Option<(Nodes, RunningManager)>,
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
    controllers: Controllers,
    nodes: Option<Nodes>,
}

impl Default for TestClusterBuilder {
    fn default() -> Self {
        Self {
            rbac: false,
            controllers: Controllers::none(),
            nodes: None,
        }
    }
}

impl TestClusterBuilder {
    /// Allows users only what roles grant. The roles and bindings of a new cluster exist from the start. By default everybody
    /// is allowed everything, and there are no roles. Either way [`TestCluster::client`] acts as the administrator.
    pub fn rbac(mut self) -> Self {
        self.rbac = true;
        self
    }

    /// Runs built-in controllers, which [`settled`](TestCluster::settled) waits for. By default none run. Forks run the same.
    pub fn controllers(mut self, controllers: Controllers) -> Self {
        self.controllers = controllers;
        self
    }

    /// Runs all built-in controllers, those for workloads included: a Deployment gets its ReplicaSets and pods.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
    /// use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
    /// use kube::Api;
    /// use kubewright_testing::TestCluster;
    /// use serde_json::json;
    ///
    /// let cluster = TestCluster::builder().workloads().start().await;
    /// let web: Deployment = serde_json::from_value(json!({
    ///     "metadata": {"name": "web"},
    ///     "spec": {
    ///         "replicas": 3,
    ///         "selector": {"matchLabels": {"app": "web"}},
    ///         "template": {
    ///             "metadata": {"labels": {"app": "web"}},
    ///             "spec": {"containers": [{"name": "web", "image": "nginx"}]},
    ///         },
    ///     },
    /// }))
    /// .unwrap();
    /// let deployments: Api<Deployment> = Api::default_namespaced(cluster.client());
    /// deployments.create(&Default::default(), &web).await.unwrap();
    /// cluster.settled().await.unwrap();
    ///
    /// let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    /// assert_eq!(pods.list(&Default::default()).await.unwrap().items.len(), 3);
    /// # });
    /// ```
    pub fn workloads(self) -> Self {
        self.controllers(Controllers::all())
    }

    /// Adds simulated nodes and a scheduler: pods run and become ready, without a line of patching.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube::Api;
    /// use kubewright_testing::TestCluster;
    /// use serde_json::{from_value, json};
    ///
    /// let cluster = TestCluster::builder().nodes(2).start().await;
    /// let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    /// let pod = json!({"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}});
    /// pods.create(&Default::default(), &from_value(pod).unwrap()).await.unwrap();
    /// cluster.settled().await.unwrap();
    /// let status = pods.get("web").await.unwrap().status.unwrap();
    /// assert_eq!(status.phase.as_deref(), Some("Running"));
    /// # });
    /// ```
    pub fn nodes(mut self, nodes: impl Into<Nodes>) -> Self {
        self.nodes = Some(nodes.into());
        self
    }

    /// Starts the cluster.
    ///
    /// # Panics
    ///
    /// Panics outside a tokio runtime.
    pub async fn start(self) -> TestCluster {
        let new = Snapshot {
            store: MemoryStore::starting_at(FIRST_REVISION),
            conversions: Conversions::default(),
            services: Services::default(),
            keys: ServiceAccountKeys::generate(),
            rbac: false,
            records: Vec::new(),
            controllers: self.controllers,
        };
        let mut cluster = TestCluster::on(new, TestClock::default()).await;
        if self.rbac {
            cluster.enable_rbac().await;
        }
        if let Some(nodes) = self.nodes {
            cluster.add_nodes(nodes).await;
        }
        cluster
    }
}

/// Counts the changes of a cluster.
pub(crate) struct Changes(MemoryStore);

impl Changes {
    /// Returns the number of changes of the resources with that plural name, in all groups: a kind that is served in two
    /// groups is stored in one.
    pub(crate) fn of(&self, plural: &str) -> u64 {
        let counts = self.0.change_counts().into_iter();
        counts
            .filter(|(collection, _)| collection.rsplit('/').next() == Some(plural))
            .map(|(_, count)| count)
            .sum()
    }
}

/// The objects of a cluster at a moment, from which others can be started, in other runtimes too.
#[derive(Clone)]
pub(crate) struct Snapshot {
    store: MemoryStore,
    conversions: Conversions,
    services: Services,
    keys: ServiceAccountKeys,
    /// Whether users need permissions.
    rbac: bool,
    records: Vec<Record>,
    controllers: Controllers,
}

impl Snapshot {
    /// Starts a cluster with these objects. Its services are its own.
    pub(crate) async fn start(&self) -> TestCluster {
        let fork = Self {
            store: self.store.fork(),
            services: Services::default(),
            ..self.clone()
        };
        TestCluster::on(fork, TestClock::default()).await
    }
}

impl TestCluster {
    /// Starts a cluster with the objects that every new cluster has, such as the initial namespaces.
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

    async fn on(begin: Snapshot, clock: TestClock) -> Self {
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
        let cluster = Cluster::builder()
            .store(storage(store.clone()))
            .clock(Arc::new(clock.clone()))
            .service_account_keys(keys)
            .access_log(watched.log.clone())
            .api_server(|server| {
                server
                    .conversions(conversions.clone())
                    .services(services.clone())
                    .authenticator(Arc::new(LocalUsers))
                    .anonymous(AnonymousAccess::Enabled)
                    .authorization([authorizer])
            })
            .start()
            .await
            .expect("a cluster in memory starts");
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
            managers: Attached::default(),
            writes: Counters::default(),
            controllers: Controllers::none(),
            _running: None,
            nodes: None,
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
        FaultyServer::counted(server, self.faults.clone(), self.writes.clone())
    }

    /// Starts another cluster with the same objects, at the same revision, where tokens of service accounts stay valid. The cost
    /// does not depend on the number of objects.
    pub async fn fork(&self) -> Self {
        Self::on(self.snapshot(), self.clock.clone()).await
    }

    /// Returns a counter of changes.
    pub(crate) fn changes(&self) -> Changes {
        Changes(self.store.clone())
    }

    /// Returns the objects as they are now.
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

    /// Converts custom objects with a function, whatever conversion their CustomResourceDefinition asks for.
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

    /// Converts custom objects by a service, whatever conversion their CustomResourceDefinition asks for. Conversion reviews are
    /// sent to the path `/convert`, to the handler of [`serve_webhooks`](Self::serve_webhooks) if there is one.
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

    /// Returns the services that webhooks of the cluster are called at without a network: code of the test, or addresses of this
    /// machine. Forks share them.
    pub fn services(&self) -> &Services {
        &self.services
    }

    /// Lets code in this process answer the calls of the cluster to webhooks at a service, in place of a connection. The
    /// [faults](crate::Faults::inject_webhook) of webhooks hit it.
    pub fn serve_webhooks(
        &self,
        namespace: &str,
        service: &str,
        port: u16,
        handler: Arc<dyn ServiceHandler>,
    ) {
        let faults = self.faults.clone();
        let handler = Arc::new(FaultyService { handler, faults });
        self.services.set_handler(namespace, service, port, handler);
    }

    /// Compacts the history: watches and lists from earlier revisions fail with 410 from now on.
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
    /// Fails if no port can be listened on.
    pub async fn listen(&self) -> Result<Endpoint, Error> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        self.cluster.listen_with(address, self.service()).await
    }
}

/// Expires objects, but does not compact periodically: that writes a revision each time, so virtual time would change the
/// cluster while nothing happens in it.
fn storage(store: MemoryStore) -> Storage {
    let maintained = store.clone();
    Storage::new(Arc::new(store)).maintenance(async move { maintained.run_maintenance().await })
}
