//! `node-lifecycle-controller`: notices nodes that fall silent, and taints nodes as their conditions say.
//!
//! | module | contents |
//! |---|---|
//! | `sync` | one pass over a node |
//! | `health` | the last sign of life of a node |
//! | `zones` | how many nodes of a zone may be tainted for eviction, and how fast |
//! | `taints` | the taints that follow from conditions |
//! | `pods` | pods of silent nodes, which are not ready |
//!
//! kube-controller-manager checks all nodes every five seconds. Here a node is checked when it or its lease changes,
//! and when its grace period is over, so that an idle cluster has nothing to do and time that is frozen stays so.

mod health;
mod pods;
mod sync;
mod taints;
mod zones;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::SignedDuration;
use kube::core::ApiResource;
use kubewright_controller::{
    AnyEvent, Context, Controller, Handler, Manager, ManagerError, Request, RequestSender, Source,
    Watch, events::Recorder,
};
use kubewright_informer::{Event, SharedInformer};
use parking_lot::Mutex;

use self::{health::Health, zones::Zones};
use crate::{
    names::Name,
    set::FIELD_MANAGER,
    workloads::{
        objects::{Lease, Node, Pod},
        pods::add_node_index,
    },
};

/// The source of events.
const SOURCE: &str = "node-controller";

/// The namespace of the leases of nodes.
const LEASES: &str = "kube-node-lease";

/// The settings for nodes that fall silent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeMonitor {
    /// The time for which a node may be silent.
    pub(crate) grace: Duration,
    /// The time between two nodes of a zone whose pods are evicted.
    pub(crate) eviction_interval: Duration,
}

/// The state of the controller.
struct Lifecycle {
    recorder: Recorder,
    /// Checks other nodes.
    wake: RequestSender,
    /// The time for which a node may be silent.
    grace: SignedDuration,
    memory: Mutex<Memory>,
}

/// The memory of the controller.
struct Memory {
    nodes: BTreeMap<String, Known>,
    zones: Zones,
}

/// A node that was seen.
struct Known {
    uid: String,
    health: Health,
    /// The whole cluster was found dead: evictions from the node end.
    is_pardoned: bool,
}

pub(crate) fn add_to(manager: &Manager, monitor: NodeMonitor) -> Result<(), ManagerError> {
    add_node_index(manager);
    let (wake, woken) = Source::channel("zones");
    Controller::builder()
        .named(Name::NodeLifecycle.as_str())
        .field_manager(FIELD_MANAGER)
        .watch(Watch::of::<Node>(Handler::for_object()))
        .watch(Watch::of::<Lease>(Handler::events(events_of_leases)))
        .watch(Watch::of::<Pod>(events_of_pods(manager)))
        .source(woken)
        .state(Lifecycle {
            recorder: manager.recorder(SOURCE),
            wake,
            grace: signed(monitor.grace),
            memory: Mutex::new(Memory {
                nodes: BTreeMap::new(),
                zones: Zones::new(signed(monitor.eviction_interval)),
            }),
        })
        .build(
            manager,
            |context: Context<(), Lifecycle>, request: Request| async move {
                match request.namespace() {
                    Some(_) => pods::sync(&context, &request).await,
                    None => sync::sync(&context, &request).await,
                }
            },
        )?;
    Ok(())
}

fn signed(time: Duration) -> SignedDuration {
    SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX)
}

fn events_of_leases(event: &AnyEvent) -> Vec<Request> {
    let lease = event.object();
    match lease.namespace() == Some(LEASES) && !matches!(event, Event::Deleted { .. }) {
        true => vec![Request::cluster_scoped(lease.name())],
        false => Vec::new(),
    }
}

/// Returns a handler that requests pods which appear on a node that is not ready.
fn events_of_pods(manager: &Manager) -> Handler {
    let caches = manager.caches();
    let nodes: SharedInformer<Node> = caches.informer(&ApiResource::erase::<Node>(&())).cast();
    let decode = |object: &kubewright_informer::Cached<()>| object.clone().cast::<Pod>().get();
    Handler::events(move |event: &AnyEvent| {
        let object = event.object();
        let was_bound = |pod: &Arc<Pod>| match event {
            Event::Updated { old, .. } => {
                decode(old).is_ok_and(|old| old.spec.node_name == pod.spec.node_name)
            }
            _ => false,
        };
        let Ok(pod) = decode(object) else {
            return Vec::new();
        };
        let is_bound = !pod.spec.node_name.is_empty();
        if matches!(event, Event::Deleted { .. }) || !is_bound || was_bound(&pod) {
            return Vec::new();
        }
        let node = nodes.lister().get(&pod.spec.node_name);
        match node.is_ok_and(|node| node.is_some_and(|node| !node.is_ready())) {
            true => vec![Request::from(&**object)],
            false => Vec::new(),
        }
    })
}
