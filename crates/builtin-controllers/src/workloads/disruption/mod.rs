//! `disruption-controller`: keeps the status of PodDisruptionBudgets, by which evictions are allowed.
//!
//! | module | contents |
//! |---|---|
//! | `sync` | one pass over a budget |
//! | `scale` | the number of pods that there should be, from their controllers |
//! | `shared` | pods that several budgets select |
//! | `stale` | conditions of pods that were to be disrupted and were not |

mod scale;
mod shared;
mod stale;
mod sync;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use kubewright_client::{
    Discovery, DiscoveryClient, DiscoveryRestMapper, MemoryCache, ScaleClient,
};
use kubewright_controller::{
    Context, Controller, Manager, ManagerError, Request, Watch, events::Recorder,
};
use kubewright_informer::{IndexFn, Key};
use kubewright_machinery::labels::LabelSelector;
use parking_lot::Mutex;

use crate::{
    names::Name,
    set::FIELD_MANAGER,
    workloads::{
        objects::{
            Deployment, Pod, PodDisruptionBudget, ReplicaSet, ReplicationController, StatefulSet,
        },
        pods,
    },
};

/// The source of events.
const SOURCE: &str = "controllermanager";

/// The state of the controller.
struct Disruption {
    recorder: Recorder,
    discovery: Arc<dyn Discovery>,
    mapper: DiscoveryRestMapper,
    scales: ScaleClient,
    /// For each budget, the UIDs of the pods about which an event has said that other budgets select them as well.
    shared: Mutex<HashMap<Key, HashSet<String>>>,
}

/// The index of pods by namespace.
const NAMESPACE: &str = "namespace";

pub(crate) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    // Another controller may have added the same index.
    drop(
        manager
            .client()
            .index::<Pod>(NAMESPACE, IndexFn::namespace()),
    );
    let client = manager.client().live();
    let discovery: Arc<dyn Discovery> =
        Arc::new(MemoryCache::new(DiscoveryClient::new(client.clone())));
    let mapper = DiscoveryRestMapper::new(discovery.clone());
    let of_pods =
        pods::events_of_selected::<PodDisruptionBudget>(manager, selector_of, |_, _| true);
    Controller::builder()
        .named(Name::Disruption.as_str())
        .field_manager(FIELD_MANAGER)
        .watch(Watch::of::<PodDisruptionBudget>(pods::events_of_objects()))
        .watch(Watch::of::<Pod>(of_pods))
        .watch(Watch::of::<ReplicationController>(pods::no_events()))
        .watch(Watch::of::<ReplicaSet>(pods::no_events()))
        .watch(Watch::of::<Deployment>(pods::no_events()))
        .watch(Watch::of::<StatefulSet>(pods::no_events()))
        .state(Disruption {
            recorder: manager.recorder(SOURCE),
            scales: ScaleClient::with_mapper(client, mapper.clone(), discovery.clone()),
            discovery,
            mapper,
            shared: Mutex::default(),
        })
        .build(
            manager,
            |context: Context<(), Disruption>, request: Request| async move {
                sync::sync(&context, &request).await
            },
        )?;
    stale::add_to(manager)
}

/// Returns the selector of a budget. An empty one selects all pods, a missing one none.
fn selector_of(budget: &PodDisruptionBudget) -> Option<LabelSelector> {
    LabelSelector::from_label_selector(&budget.spec.selector).ok()
}
