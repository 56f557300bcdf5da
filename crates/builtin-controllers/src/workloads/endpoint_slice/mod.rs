//! `endpointslice-controller`: keeps the EndpointSlices of Services.
//!
//! | module | contents |
//! |---|---|
//! | `sync` | one pass: the endpoints of all pods, by ports; the writes |
//! | `endpoint` | the endpoint of a pod |
//! | `slices` | new slices and their labels |
//! | `packing` | the distribution of endpoints over slices, with few changes |

mod endpoint;
mod packing;
mod slices;
mod sync;

use std::{collections::HashMap, time::Duration};

use k8s_openapi::api::{core::v1::Node, discovery::v1::EndpointSlice};
use kube::core::ApiResource;
use kubewright_controller::{
    AnyEvent, Context, Controller, Handler, Manager, ManagerError, Request, Watch, events::Recorder,
};
use kubewright_informer::{Event, IndexFn, SharedInformer, StoredObject};
use kubewright_workqueue::ItemExponentialFailureRateLimiter;
use parking_lot::Mutex;

use crate::{
    names::Name,
    set::FIELD_MANAGER,
    workloads::{
        WORKERS,
        objects::{Pod, Service},
        pods,
        services::{Triggers, events_of_pods},
    },
};

pub(super) use packing::port_key;
pub(super) use slices::{MANAGED_BY, SERVICE_NAME, Writes, write};

/// The manager of the slices, in their labels.
const MANAGER: &str = "endpointslice-controller.k8s.io";

/// The source of events.
const SOURCE: &str = "endpoint-slice-controller";

/// The index of slices by the names of their Services.
pub(super) const BY_SERVICE: &str = "service";

/// The memory of the controller.
struct Slices {
    recorder: Recorder,
    triggers: Triggers,
    /// The nodes, of which only the metadata matters.
    nodes: SharedInformer<()>,
    /// The number of passes in a row in which pods were left out.
    skipped: Mutex<HashMap<Request, u32>>,
}

pub(crate) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    // The mirroring controller may have added the same index.
    drop(
        manager
            .client()
            .index::<EndpointSlice>(BY_SERVICE, IndexFn::label(SERVICE_NAME)),
    );
    let slices = Slices {
        recorder: manager.recorder(SOURCE),
        triggers: Triggers::default(),
        nodes: manager.caches().metadata(&ApiResource::erase::<Node>(&())),
        skipped: Mutex::default(),
    };
    Controller::builder()
        .named(Name::EndpointSlice.as_str())
        .field_manager(FIELD_MANAGER)
        .max_concurrent_reconciles(WORKERS)
        .watch(Watch::of::<Service>(pods::events_of_objects()))
        .watch(Watch::of::<Pod>(events_of_pods(manager)))
        .watch(Watch::of::<EndpointSlice>(events_of_slices(MANAGER)))
        .watch(Watch::of::<Node>(pods::no_events()).metadata_only())
        .rate_limiter(limiter())
        .state(slices)
        .build(
            manager,
            |context: Context<(), Slices>, request: Request| async move {
                sync::sync(&context, &request).await
            },
        )?;
    Ok(())
}

/// Returns the delays after failures.
pub(super) fn limiter() -> ItemExponentialFailureRateLimiter<Request> {
    ItemExponentialFailureRateLimiter::new(Duration::from_secs(1), Duration::from_secs(1000))
}

/// Returns a handler that requests the Services of slices with that manager.
pub(super) fn events_of_slices(manager: &'static str) -> Handler {
    Handler::events(move |event: &AnyEvent| {
        let old = match event {
            Event::Updated { old, object, .. } if old.is_same_version(object) => return Vec::new(),
            Event::Updated { old, .. } => service_of(old, manager),
            _ => None,
        };
        let new = service_of(event.object(), manager);
        old.into_iter().chain(new).collect()
    })
}

/// Returns the Service of a slice with that manager.
fn service_of(slice: &StoredObject, manager: &str) -> Option<Request> {
    let labels = slice.labels();
    let label = |name: &str| {
        let label = labels.iter().find(|(key, _)| *key == name);
        label.map(|(_, value)| &**value)
    };
    let service = label(SERVICE_NAME).filter(|_| label(MANAGED_BY) == Some(manager))?;
    Some(Request::new(slice.namespace().unwrap_or_default(), service))
}
