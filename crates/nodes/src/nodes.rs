//! [`Nodes`]: the simulated nodes of a cluster.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    net::Ipv4Addr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::core::ApiResource;
use kubewright_controller::{
    Clock, Context, Controller, Handler, Manager, ManagerError, Request, RequestSender, Source,
    Watch,
    events::{EventApi, Recorder},
};
use kubewright_informer::{Event, Key, SharedInformer};
use kubewright_scheduler::NodeAdmission;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::{
    image::Images,
    inside::Lasting,
    kubelet::{self, Kubelet},
    network::{Call, Network, PodRange, node_ip},
    pod::{PodState, plan::Plan},
    registration,
    shape::NodeShape,
};

/// The field manager of kubelets.
pub(crate) const FIELD_MANAGER: &str = "kubelet";

/// The name under which kubelets report events.
const COMPONENT: &str = "kubelet";

/// The number of pods that are reconciled concurrently.
const WORKERS: usize = 8;

/// The time between heartbeats.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(10);

/// The renewal of node leases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Heartbeats {
    /// A lease counts as renewed until its node falls silent, so that an idle cluster does no work.
    #[default]
    Elided,
    /// Leases are renewed every ten seconds, for tests of programs that watch them.
    Real,
}

/// The simulated nodes of a cluster. Clones share them.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// use k8s_openapi::api::core::v1::Node;
/// use kube::Api;
/// use kubewright_controller::Manager;
/// use kubewright_nodes::{NodeShape, Nodes};
/// use kubewright_testing::TestCluster;
///
/// let cluster = TestCluster::start().await;
/// let manager = Manager::new(cluster.client());
/// let nodes = Nodes::new(2);
/// nodes.add_to(&manager).unwrap();
/// let _running = cluster.run(&manager);
/// nodes.ready().await;
/// // Nodes can be added at any time.
/// nodes.add(NodeShape::new("big").capacity("cpu", "64"));
/// nodes.ready().await;
/// let listed = Api::<Node>::all(cluster.client()).list(&Default::default()).await.unwrap();
/// assert_eq!(listed.items.len(), 3);
/// # });
/// ```
#[derive(Clone)]
pub struct Nodes(pub(crate) Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) images: Images,
    pub(crate) nodes: Mutex<BTreeMap<String, NodeState>>,
    pub(crate) pods: Mutex<HashMap<Key, Known, foldhash::fast::RandomState>>,
    pub(crate) heartbeats: Heartbeats,
    /// Triggers the controllers of pods and nodes.
    pub(crate) wake: RequestSender,
    pub(crate) wake_node: RequestSender,
    /// The number of nodes that have been added, which determines addresses.
    added: AtomicU32,
    sources: Mutex<Option<(Source, Source)>>,
    /// Notified when a node becomes ready, or a pod has been reconciled.
    pub(crate) changed: Notify,
    pub(crate) network: Network,
    /// The volumes of nodes and claims.
    pub(crate) lasting: Lasting,
    pub(crate) run: OnceLock<Run>,
}

/// The parts that exist only while the nodes run.
pub(crate) struct Run {
    pub(crate) cache: SharedInformer<()>,
    pub(crate) clock: Clock,
}

/// A pod that a node knows.
#[derive(Clone)]
pub(crate) struct Known {
    pub(crate) uid: Arc<str>,
    pub(crate) state: Arc<Mutex<PodState>>,
}

/// A simulated node.
pub(crate) struct NodeState {
    pub(crate) shape: NodeShape,
    pub(crate) name: Arc<str>,
    pub(crate) ip: Ipv4Addr,
    pub(crate) range: PodRange,
    /// The images that are present, with their sizes.
    pub(crate) images: BTreeMap<String, u64>,
    /// The number of images that the Node object shows.
    pub(crate) shown_images: usize,
    /// The time at which other images are shown.
    pub(crate) images_due: Option<Timestamp>,
    /// The time of the last heartbeat in the status.
    pub(crate) heartbeat: Option<Timestamp>,
    pub(crate) is_alive: bool,
    pub(crate) is_registered: bool,
    /// Whether its lease counts as renewed without heartbeats.
    pub(crate) has_lease: bool,
    /// The resources that are under pressure.
    pub(crate) pressure: BTreeSet<crate::control::Pressure>,
    /// The time at which it crashed.
    pub(crate) crashed: Option<Timestamp>,
    pub(crate) recorder: Option<Recorder>,
    /// The pods that it has room for.
    pub(crate) admission: NodeAdmission,
    /// The pods whose resizes wait for room.
    pub(crate) deferred: BTreeSet<Key>,
}

impl Nodes {
    /// Creates `count` nodes: `node-1`, `node-2`, and so on.
    pub fn new(count: usize) -> Self {
        Self::with(
            Heartbeats::Elided,
            (1..=count).map(|i| NodeShape::new(format!("node-{i}"))),
        )
    }

    /// Creates nodes from shapes.
    pub fn with(heartbeats: Heartbeats, shapes: impl IntoIterator<Item = NodeShape>) -> Self {
        let (wake, pods) = Source::channel("containers");
        let (wake_node, nodes) = Source::channel("nodes");
        let all = Self(Arc::new_cyclic(|shared| Shared {
            images: Images::default(),
            nodes: Mutex::default(),
            pods: Mutex::default(),
            heartbeats,
            wake,
            wake_node,
            added: AtomicU32::new(0),
            sources: Mutex::new(Some((pods, nodes))),
            changed: Notify::new(),
            network: Network::new(shared.clone()),
            lasting: Lasting::default(),
            run: OnceLock::new(),
        }));
        for shape in shapes {
            all.add(shape);
        }
        all
    }

    /// Returns the images, to register behaviors of containers.
    pub fn images(&self) -> &Images {
        &self.0.images
    }

    /// Adds a node. Does nothing if a node with that name exists.
    pub fn add(&self, shape: NodeShape) {
        let mut nodes = self.0.nodes.lock();
        let number = self.0.added.load(Relaxed);
        let name = shape.name().to_owned();
        let request = Request::cluster_scoped(&name);
        nodes.entry(name).or_insert_with(|| {
            self.0.added.fetch_add(1, Relaxed);
            NodeState {
                name: shape.name().into(),
                ip: node_ip(number),
                range: PodRange::of(number),
                images: shape.preloaded(),
                shown_images: shape.preloaded().len(),
                images_due: None,
                heartbeat: None,
                is_alive: true,
                is_registered: false,
                has_lease: false,
                pressure: BTreeSet::new(),
                crashed: None,
                recorder: None,
                admission: NodeAdmission::default(),
                deferred: BTreeSet::new(),
                shape,
            }
        });
        drop(nodes);
        // Before the start, the channel may be full; the start finds all nodes.
        self.0.wake_node.try_send(request);
    }

    /// Returns the names of the nodes.
    pub fn names(&self) -> Vec<String> {
        self.0.nodes.lock().keys().cloned().collect()
    }

    /// Waits until every node that is alive has registered and is ready.
    pub async fn ready(&self) {
        let is_ready = || {
            let nodes = self.0.nodes.lock();
            nodes
                .values()
                .all(|node| node.is_registered || !node.is_alive)
        };
        self.0.until(is_ready).await;
    }

    /// Adds the nodes to a manager.
    ///
    /// # Errors
    ///
    /// Fails if they have already been added to a manager, or if the manager has stopped.
    pub fn add_to(&self, manager: &Manager) -> Result<(), ManagerError> {
        let Some((pods, nodes)) = self.0.sources.lock().take() else {
            return Err(ManagerError::AlreadyStarted);
        };
        let recorder = manager.recorder_of(EventApi::Core, COMPONENT);
        let cache = manager.caches().reading(&ApiResource::erase::<Pod>(&()));
        let objects = manager.caches().reading(&ApiResource::erase::<Node>(&()));
        let clock: Clock = manager.clock();
        self.0.network.set_client(manager.client().clone());
        // The sources were taken above, so this is the first call.
        let _ = self.0.run.set(Run {
            cache: cache.clone(),
            clock: clock.clone(),
        });
        let shared = self.0.clone();
        let names = Source::raw("registration", move |enqueue| async move {
            let names: Vec<String> = shared.nodes.lock().keys().cloned().collect();
            for name in names {
                enqueue.add(Request::cluster_scoped(&name));
            }
        });
        let registering = (self.0.clone(), recorder.clone());
        Controller::builder()
            .named("kubelet-nodes")
            .field_manager(FIELD_MANAGER)
            .max_concurrent_reconciles(4)
            .source(names)
            .source(nodes)
            .watch(Watch::of::<Node>(Handler::for_object()))
            .build(manager, move |context: Context, request: Request| {
                let (nodes, recorder) = registering.clone();
                registration::sync(context, request, nodes, recorder)
            })?;
        let kubelet = Arc::new(Kubelet {
            nodes: self.0.clone(),
            cache,
            objects,
            recorder: recorder.clone(),
            clock,
        });
        let filter = self.0.clone();
        Controller::builder()
            .named("kubelet")
            .field_manager(FIELD_MANAGER)
            .max_concurrent_reconciles(WORKERS)
            .source(pods)
            .watch(Watch::of::<Pod>(Handler::events(
                move |event| match filter.concerns(event) {
                    true => vec![Request::from(&**event.object())],
                    false => Vec::new(),
                },
            )))
            .build(manager, move |context: Context, request: Request| {
                kubelet::sync(kubelet.clone(), context, request)
            })?;
        if self.0.heartbeats == Heartbeats::Real {
            let shared = self.0.clone();
            let all = Request::cluster_scoped("all");
            Controller::builder()
                .named("kubelet-leases")
                .field_manager(FIELD_MANAGER)
                .source(Source::timer("heartbeats", HEARTBEAT, all))
                .build(manager, move |context: Context, _: Request| {
                    registration::renew(context, shared.clone())
                })?;
        }
        Ok(())
    }
}

impl Shared {
    /// Waits until a condition holds.
    pub(crate) async fn until(&self, is_true: impl Fn() -> bool) {
        loop {
            let changed = self.changed.notified();
            let mut changed = std::pin::pin!(changed);
            // No notification is missed from here on.
            changed.as_mut().enable();
            if is_true() {
                return;
            }
            changed.await;
        }
    }

    /// Returns a client for the server.
    pub(crate) fn client(&self) -> Result<kube::Client, kube::Error> {
        let client = self.network.client();
        let absent = || kube::Error::Service("the nodes have not been added to a manager".into());
        Ok(client.ok_or_else(absent)?.live())
    }

    /// Returns the clock of the cluster.
    pub(crate) fn clock(&self) -> Clock {
        match self.run.get() {
            Some(run) => run.clock.clone(),
            None => Arc::new(Timestamp::now),
        }
    }

    /// Returns the plan of a pod.
    pub(crate) fn plan(&self, key: &Key) -> Option<Plan> {
        let object = self.run.get()?.cache.indexer().get(key.as_str())?;
        Plan::read(&object).ok()
    }

    /// Returns the address of a node.
    pub(crate) fn address_of(&self, node: &str) -> Option<Ipv4Addr> {
        self.nodes.lock().get(node).map(|node| node.ip)
    }

    /// Returns the pod whose host port a call to an address of a node reaches, and its own port.
    pub(crate) fn behind_host_port(
        &self,
        (node, host): (Ipv4Addr, Ipv4Addr),
        call: &Call,
    ) -> Option<(Ipv4Addr, u16)> {
        let name = {
            let nodes = self.nodes.lock();
            nodes.values().find(|known| known.ip == node)?.name.clone()
        };
        let pods: Vec<(Key, Known)> = {
            let pods = self.pods.lock();
            pods.iter()
                .map(|(key, known)| (key.clone(), known.clone()))
                .collect()
        };
        pods.into_iter().find_map(|(key, known)| {
            let (at, ip) = {
                let state = known.state.lock();
                (state.node.clone(), state.ip)
            };
            let plan = (at == name).then(|| self.plan(&key))??;
            let mut ports = plan
                .containers
                .iter()
                .flat_map(|container| &container.raw.ports);
            let port = ports.find(|port| port.is_at(host, call))?;
            Some((ip?, port.container_port))
        })
    }

    /// Returns the resources that a node has for pods.
    pub(crate) fn allocatable(&self, node: &str) -> BTreeMap<String, String> {
        let nodes = self.nodes.lock();
        let node = nodes.get(node);
        node.map(|node| node.shape.allocatable().clone())
            .unwrap_or_default()
    }

    /// Reports whether a node has an address.
    pub(crate) fn has_address(&self, address: Ipv4Addr) -> bool {
        self.node_at(address).is_some()
    }

    /// Returns the name of the node with an address.
    pub(crate) fn node_at(&self, address: Ipv4Addr) -> Option<Arc<str>> {
        let nodes = self.nodes.lock();
        let node = nodes.values().find(|node| node.ip == address);
        node.map(|node| node.name.clone())
    }

    pub(crate) async fn wake_node(&self, name: &str) {
        self.wake_node.send(Request::cluster_scoped(name)).await;
    }

    /// Reports whether a change of a pod matters to its node. The node's own writes do not.
    fn concerns(&self, event: &Event<()>) -> bool {
        let object = event.object();
        if let Event::Updated { .. } | Event::Added { .. } = event {
            let pods = self.pods.lock();
            if let Some(known) = pods.get(object.key())
                && *known.uid == *object.uid()
                && let Some(state) = known.state.try_lock()
            {
                return state.is_awaited || state.version != object.resource_version();
            }
        }
        true
    }
}

/// Creates the given number of nodes. See [`Nodes::new`].
impl From<usize> for Nodes {
    fn from(count: usize) -> Self {
        Self::new(count)
    }
}

impl fmt::Debug for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nodes")
            .field("names", &self.names())
            .finish_non_exhaustive()
    }
}
