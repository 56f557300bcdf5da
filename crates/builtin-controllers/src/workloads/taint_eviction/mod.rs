//! `taint-eviction-controller`: deletes pods that do not tolerate a `NoExecute` taint of their node, or no longer.
//!
//! | module | contents |
//! |---|---|
//! | `sync` | one pass over a pod |
//! | `tolerance` | the time for which a pod tolerates taints |

mod sync;
mod tolerance;

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;
use kube::core::ApiResource;
use kubewright_controller::{
    AnyEvent, Context, Controller, Handler, Manager, ManagerError, Request, Watch, events::Recorder,
};
use kubewright_informer::{Cached, Event, Key};
use parking_lot::Mutex;

use crate::{
    names::Name,
    set::FIELD_MANAGER,
    workloads::{
        WORKERS,
        objects::{Node, Pod, Taint},
        pods,
    },
};

/// The source of events.
const SOURCE: &str = "taint-eviction-controller";

/// The effect of taints that evict pods.
const NO_EXECUTE: &str = "NoExecute";

/// The state of the controller.
struct Evictions {
    recorder: Recorder,
    scheduled: Mutex<HashMap<Key, Eviction>>,
}

/// The eviction of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Eviction {
    /// It will be deleted at that time.
    At(Timestamp),
    /// It has been deleted.
    Done,
}

pub(crate) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    pods::add_node_index(manager);
    Controller::builder()
        .named(Name::TaintEviction.as_str())
        .field_manager(FIELD_MANAGER)
        .max_concurrent_reconciles(WORKERS)
        .watch(Watch::of::<Pod>(events_of_pods(manager)))
        .watch(Watch::of::<Node>(events_of_nodes(manager)))
        .state(Evictions {
            recorder: manager.recorder(SOURCE),
            scheduled: Mutex::default(),
        })
        .build(
            manager,
            |context: Context<(), Evictions>, request: Request| async move {
                sync::sync(&context, &request).await
            },
        )?;
    Ok(())
}

/// Returns a handler of pods: those on tainted nodes are checked when they appear, move or tolerate other taints.
fn events_of_pods(manager: &Manager) -> Handler {
    let nodes = manager
        .caches()
        .informer(&ApiResource::erase::<Node>(&()))
        .cast::<Node>();
    Handler::events(move |event: &AnyEvent| {
        let object = event.object();
        let request = || vec![Request::from(&**object)];
        if matches!(event, Event::Deleted { .. }) {
            return request();
        }
        let Ok(pod) = object.clone().cast::<Pod>().get() else {
            return Vec::new();
        };
        if let Event::Updated { old, .. } = event
            && let Ok(old) = old.clone().cast::<Pod>().get()
            && old.spec.tolerations == pod.spec.tolerations
            && old.spec.node_name == pod.spec.node_name
        {
            return Vec::new();
        }
        let node = nodes.lister().get(&pod.spec.node_name);
        let is_tainted = |node: Arc<Node>| !taints_of(&node).is_empty();
        match node.is_ok_and(|node| node.is_some_and(is_tainted)) {
            true => request(),
            false => Vec::new(),
        }
    })
}

/// Returns a handler of nodes: their pods are checked when taints that evict them appear or disappear.
fn events_of_nodes(manager: &Manager) -> Handler {
    let pods = manager.caches().informer(&ApiResource::erase::<Pod>(&()));
    let taints = |node: &Cached<()>| match node.clone().cast::<Node>().get() {
        Ok(node) => taints_of(&node),
        Err(_) => Vec::new(),
    };
    Handler::events(move |event: &AnyEvent| {
        let before = match event {
            Event::Deleted { .. } => return Vec::new(),
            Event::Updated { old, .. } => taints(old),
            _ => Vec::new(),
        };
        let node = event.object();
        if taints(node) == before {
            return Vec::new();
        }
        let pods = pods::cached_on_node(&pods, node.name());
        pods.iter().map(|pod| Request::from(&**pod)).collect()
    })
}

/// Returns the taints of a node that evict pods.
fn taints_of(node: &Node) -> Vec<Taint> {
    let taints = node.spec.taints.iter();
    taints
        .filter(|taint| taint.effect == NO_EXECUTE)
        .cloned()
        .collect()
}
