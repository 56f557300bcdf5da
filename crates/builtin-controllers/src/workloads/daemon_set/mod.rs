//! `daemonset-controller`: keeps a pod on every node that fits.
//!
//! | module | contents |
//! |---|---|
//! | `sync` | one pass: claims pods, creates and deletes some, updates others, writes the status |
//! | `placement` | the nodes that fit |
//! | `nodes` | the pods to create and delete on each node |
//! | `rolling` | the replacement of pods of older templates |
//! | `revisions` | the revision of the template |
//! | `backoff` | the delay before a failed pod is deleted |

mod backoff;
mod nodes;
mod placement;
mod revisions;
mod rolling;
mod sync;

use kube::core::ApiResource;
use kubewright_controller::{
    AnyEvent, Context, Controller, Handler, Manager, ManagerError, Request, Watch, events::Recorder,
};
use kubewright_informer::Event;
use kubewright_machinery::labels::LabelSelector;

use self::backoff::Backoffs;
use crate::{
    names::Name,
    set::FIELD_MANAGER,
    workloads::{
        objects::{ControllerRevision, DaemonSet, Node, Pod},
        pods,
    },
};

/// The number of DaemonSets that the controller works on at once.
const WORKERS: usize = 2;

/// The memory of the controller.
struct Daemons {
    recorder: Recorder,
    backoffs: Backoffs,
}

pub(crate) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    pods::add_index::<Pod>(manager);
    pods::add_index::<ControllerRevision>(manager);
    let children = pods::events_of_children::<DaemonSet>(manager, |set| {
        LabelSelector::from_label_selector(&set.spec.selector).ok()
    });
    let state = Daemons {
        recorder: manager.recorder(Name::DaemonSet.as_str()),
        backoffs: Backoffs::default(),
    };
    Controller::builder()
        .named(Name::DaemonSet.as_str())
        .field_manager(FIELD_MANAGER)
        .max_concurrent_reconciles(WORKERS)
        .watch(Watch::of::<DaemonSet>(pods::events_of_objects()))
        .watch(Watch::of::<Pod>(children))
        .watch(Watch::of::<ControllerRevision>(pods::no_events()))
        .watch(Watch::of::<Node>(events_of_nodes(manager)))
        .state(state)
        .build(
            manager,
            |context: Context<(), Daemons>, request: Request| async move {
                sync::sync(&context, &request).await
            },
        )?;
    Ok(())
}

/// Returns a handler of nodes: requests all DaemonSets when a node comes or goes, or its labels or taints change.
fn events_of_nodes(manager: &Manager) -> Handler {
    let sets = manager
        .caches()
        .informer(&ApiResource::erase::<DaemonSet>(&()));
    Handler::events(move |event: &AnyEvent| {
        if let Event::Updated { old, object, .. } = event {
            let (before, now) = (old.clone().cast::<Node>(), object.clone().cast::<Node>());
            let is_same = match (before.get(), now.get()) {
                (Ok(before), Ok(now)) => before.spec == now.spec,
                _ => false,
            };
            if is_same && old.labels() == object.labels() {
                return Vec::new();
            }
        }
        let sets = sets.indexer().snapshot();
        sets.iter().map(|set| Request::from(&**set)).collect()
    })
}
