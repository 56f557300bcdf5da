//! `pod-garbage-collector-controller`: deletes pods that no other controller deletes.
//!
//! | module | contents |
//! |---|---|
//! | `sync` | one pod: on a node that is gone or out of service, or deleted and never scheduled |
//! | `surplus` | pods that have ended, beyond a number |
//!
//! kube-controller-manager checks all pods every twenty seconds. Here a pod is checked when it or its node changes, so
//! that an idle cluster has nothing to do and time that is frozen stays so.

mod surplus;
mod sync;

use std::collections::HashMap;

use jiff::Timestamp;
use kube::core::ApiResource;
use kubewright_controller::{
    AnyEvent, Context, Controller, Handler, Manager, ManagerError, Request, Watch,
};
use kubewright_informer::{Event, SharedInformer};
use parking_lot::Mutex;

use crate::{
    names::Name,
    set::FIELD_MANAGER,
    workloads::{
        objects::{Node, Pod},
        pods,
    },
};

/// The number of pods that may have ended.
const MOST_TERMINATED: usize = 12_500;

/// The memory of the controller.
#[derive(Default)]
struct Gone(Mutex<HashMap<String, Timestamp>>);

pub(crate) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    pods::add_node_index(manager);
    Controller::builder()
        .named(Name::PodGarbageCollector.as_str())
        .field_manager(FIELD_MANAGER)
        .watch(Watch::of::<Pod>(events_of_pods(manager)))
        .watch(Watch::of::<Node>(events_of_nodes(manager)))
        .state(Gone::default())
        .build(
            manager,
            |context: Context<(), Gone>, request: Request| async move {
                match request == surplus::request() {
                    true => surplus::sync(&context, MOST_TERMINATED).await,
                    false => sync::sync(&context, &request).await,
                }
            },
        )?;
    Ok(())
}

fn events_of_pods(manager: &Manager) -> Handler {
    let caches = manager.caches();
    let nodes: SharedInformer<Node> = caches.informer(&ApiResource::erase::<Node>(&())).cast();
    let pods = caches.informer(&ApiResource::erase::<Pod>(&()));
    Handler::events(move |event: &AnyEvent| {
        let object = event.object();
        if matches!(event, Event::Deleted { .. }) {
            return Vec::new();
        }
        let Ok(pod) = object.clone().cast::<Pod>().get() else {
            return Vec::new();
        };
        let mut requests = Vec::new();
        let node = &pod.spec.node_name;
        let is_deleted = pod.metadata.deletion_timestamp.is_some();
        let is_lost = !node.is_empty() && nodes.indexer().get(node).is_none();
        if is_lost || is_deleted {
            requests.push(Request::from(&**object));
        }
        if pod.is_terminal() && pods.indexer().len() > MOST_TERMINATED {
            requests.push(surplus::request());
        }
        requests
    })
}

/// Returns a handler of nodes: their pods are checked when a node is deleted or out of service.
fn events_of_nodes(manager: &Manager) -> Handler {
    let pods = manager.caches().informer(&ApiResource::erase::<Pod>(&()));
    Handler::events(move |event: &AnyEvent| {
        let node = event.object();
        let is_out = || {
            let node = node.clone().cast::<Node>().get();
            node.is_ok_and(|node| sync::is_out_of_service(&node))
        };
        if !matches!(event, Event::Deleted { .. }) && !is_out() {
            return Vec::new();
        }
        let pods = pods::cached_on_node(&pods, node.name());
        pods.iter().map(|pod| Request::from(&**pod)).collect()
    })
}
