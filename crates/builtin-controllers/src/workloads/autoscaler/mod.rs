//! `horizontal-pod-autoscaler-controller`: scales targets so that the metrics of their pods come close to their targets.
//!
//! | module | contents |
//! |---|---|
//! | `sync` | one pass over an autoscaler |
//! | `proposal` | the number of replicas that the metrics ask for |
//! | `metrics` | values from the APIs of metrics |
//! | `replicas` | the number of replicas that follows from values |
//! | `pods` | the pods that count, and their requests |
//! | `limits` | the speed and the range of changes |
//! | `rules` | the policies of a behavior |
//! | `target`, `selection` | the scale and the pods of a target |
//! | `status` | conditions |

mod limits;
mod metrics;
mod pods;
mod proposal;
mod replicas;
mod rules;
mod selection;
mod status;
mod sync;
mod target;

use std::{collections::HashMap, sync::Arc, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use kubewright_client::{
    Discovery, DiscoveryClient, DiscoveryRestMapper, MemoryCache, ScaleClient,
};
use kubewright_controller::{
    Context, Controller, Handler, Manager, ManagerError, Request, Watch, events::Recorder,
};
use kubewright_informer::{Event, Key};
use parking_lot::Mutex;

use self::limits::History;
use crate::{
    names::Name,
    set::FIELD_MANAGER,
    workloads::{WORKERS, objects::Pod, pods as all_pods},
};

/// The source of events.
const SOURCE: &str = "horizontal-pod-autoscaler";

/// The time between two passes over an autoscaler.
const PERIOD: Duration = Duration::from_secs(15);

/// The state of the controller.
struct Autoscaler {
    recorder: Recorder,
    mapper: DiscoveryRestMapper,
    scales: ScaleClient,
    known: Mutex<HashMap<Key, Known>>,
}

/// The memory of an autoscaler.
#[derive(Default)]
struct Known {
    /// The time of the next pass. Changes do not bring it forward.
    next: Option<Timestamp>,
    history: History,
    /// The selector of the target's pods.
    selector: String,
}

pub(crate) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    all_pods::add_namespace_index::<Pod>(manager);
    let client = manager.client().live();
    let discovery: Arc<dyn Discovery> =
        Arc::new(MemoryCache::new(DiscoveryClient::new(client.clone())));
    let mapper = DiscoveryRestMapper::new(discovery.clone());
    let appears = |event: &kubewright_controller::AnyEvent| match event {
        Event::Updated { .. } => Vec::new(),
        event => vec![Request::from(&**event.object())],
    };
    Controller::builder()
        .named(Name::HorizontalPodAutoscaler.as_str())
        .field_manager(FIELD_MANAGER)
        .max_concurrent_reconciles(WORKERS)
        .watch(Watch::of::<HorizontalPodAutoscaler>(Handler::events(
            appears,
        )))
        .watch(Watch::of::<Pod>(all_pods::no_events()))
        .state(Autoscaler {
            recorder: manager.recorder(SOURCE),
            scales: ScaleClient::with_mapper(client, mapper.clone(), discovery),
            mapper,
            known: Mutex::default(),
        })
        .build(
            manager,
            |context: Context<(), Autoscaler>, request: Request| async move {
                sync::sync(&context, &request).await
            },
        )?;
    Ok(())
}
