//! [`Nodes`]: the simulated nodes of a cluster.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    sync::Arc,
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
use kubewright_informer::{Event, Key};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::{
    image::Images,
    kubelet::{self, Kubelet},
    network::{PodRange, node_ip},
    pod::PodState,
    registration,
    shape::NodeShape,
};

/// The field manager of kubelets.
pub(crate) const FIELD_MANAGER: &str = "kubelet";

/// The name under which kubelets report events.
const COMPONENT: &str = "kubelet";

/// The number of pods that are looked at at a time.
const WORKERS: usize = 8;

/// The time between heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Whether nodes renew their leases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Heartbeats {
    /// Leases are written once: an idle cluster does nothing.
    #[default]
    Elided,
    /// Leases are renewed every ten seconds, for tests of other programs that watch them.
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
/// // More can be added while they run.
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
    heartbeats: Heartbeats,
    /// Wakes the controller of pods, and that of nodes.
    pub(crate) wake: RequestSender,
    wake_node: RequestSender,
    sources: Mutex<Option<(Source, Source)>>,
    /// Notified when a node is ready, or a pod has been looked at.
    pub(crate) changed: Notify,
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
    pub(crate) ip: String,
    pub(crate) range: PodRange,
    /// The images that it has.
    pub(crate) images: BTreeSet<String>,
    pub(crate) is_alive: bool,
    pub(crate) is_registered: bool,
    /// The resources that it lacks.
    pub(crate) pressure: BTreeSet<crate::control::Pressure>,
    /// The time at which it crashed.
    pub(crate) crashed: Option<Timestamp>,
    pub(crate) recorder: Option<Recorder>,
}

impl Nodes {
    /// Creates that many nodes: `node-1`, `node-2`, and so on.
    pub fn new(count: usize) -> Self {
        Self::with(
            Heartbeats::Elided,
            (1..=count).map(|i| NodeShape::new(format!("node-{i}"))),
        )
    }

    /// Creates nodes of these shapes.
    pub fn with(heartbeats: Heartbeats, shapes: impl IntoIterator<Item = NodeShape>) -> Self {
        let (wake, pods) = Source::channel("containers");
        let (wake_node, nodes) = Source::channel("nodes");
        let all = Self(Arc::new(Shared {
            images: Images::default(),
            nodes: Mutex::default(),
            pods: Mutex::default(),
            heartbeats,
            wake,
            wake_node,
            sources: Mutex::new(Some((pods, nodes))),
            changed: Notify::new(),
        }));
        for shape in shapes {
            all.add(shape);
        }
        all
    }

    /// Returns the images, to say what their containers do.
    pub fn images(&self) -> &Images {
        &self.0.images
    }

    /// Adds a node. One of that name that exists already stays as it is.
    pub fn add(&self, shape: NodeShape) {
        let mut nodes = self.0.nodes.lock();
        let number = nodes.len() as u32;
        let name = shape.name().to_owned();
        let request = Request::cluster_scoped(&name);
        nodes.entry(name).or_insert_with(|| NodeState {
            name: shape.name().into(),
            ip: node_ip(number).to_string(),
            range: PodRange::of(number),
            images: BTreeSet::new(),
            is_alive: true,
            is_registered: false,
            pressure: BTreeSet::new(),
            crashed: None,
            recorder: None,
            shape,
        });
        drop(nodes);
        // Before the start there may be more nodes than the channel has room for: those are found at the start.
        self.0.wake_node.try_send(request);
    }

    /// Returns the names of the nodes.
    pub fn names(&self) -> Vec<String> {
        self.0.nodes.lock().keys().cloned().collect()
    }

    /// Waits until all nodes that are alive have registered and are ready.
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
    /// Fails if they have been added to a manager already, or if the manager has stopped.
    pub fn add_to(&self, manager: &Manager) -> Result<(), ManagerError> {
        let Some((pods, nodes)) = self.0.sources.lock().take() else {
            return Err(ManagerError::AlreadyStarted);
        };
        let recorder = manager.recorder_of(EventApi::Core, COMPONENT);
        let cache = manager.caches().reading(&ApiResource::erase::<Pod>(&()));
        let clock: Clock = manager.clock();
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
    /// Waits until something is true.
    pub(crate) async fn until(&self, is_true: impl Fn() -> bool) {
        loop {
            let changed = self.changed.notified();
            let mut changed = std::pin::pin!(changed);
            // From here on no notification is missed.
            changed.as_mut().enable();
            if is_true() {
                return;
            }
            changed.await;
        }
    }

    pub(crate) async fn wake_node(&self, name: &str) {
        self.wake_node.send(Request::cluster_scoped(name)).await;
    }

    /// Reports whether a change of a pod matters to its node. Its own writes do not.
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

/// Creates that many nodes. See [`Nodes::new`].
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
