//! `endpointslice-mirroring-controller`: keeps EndpointSlices for Endpoints that others write for Services without a selector.
//!
//! | module | contents |
//! |---|---|
//! | `sync` | one pass over Endpoints |
//! | `desired` | the slices that they should have |

mod desired;
mod sync;

use k8s_openapi::api::{core::v1::Endpoints, discovery::v1::EndpointSlice};
use kubewright_controller::{
    Context, Controller, Manager, ManagerError, Request, Watch, events::Recorder,
};
use kubewright_informer::IndexFn;

use crate::{
    names::Name,
    set::FIELD_MANAGER,
    workloads::{
        WORKERS,
        endpoint_slice::{BY_SERVICE, SERVICE_NAME, events_of_slices, limiter},
        objects::Service,
        pods,
    },
};

/// The manager of the slices, in their labels.
const MANAGER: &str = "endpointslicemirroring-controller.k8s.io";

/// The source of events.
const SOURCE: &str = "endpoint-slice-mirroring-controller";

pub(crate) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    // The controller of slices may have added the same index.
    drop(
        manager
            .client()
            .index::<EndpointSlice>(BY_SERVICE, IndexFn::label(SERVICE_NAME)),
    );
    Controller::builder()
        .named(Name::EndpointSliceMirroring.as_str())
        .field_manager(FIELD_MANAGER)
        .max_concurrent_reconciles(WORKERS)
        .watch(Watch::of::<Endpoints>(pods::events_of_objects()))
        .watch(Watch::of::<Service>(pods::events_of_objects()))
        .watch(Watch::of::<EndpointSlice>(events_of_slices(MANAGER)))
        .rate_limiter(limiter())
        .state(manager.recorder(SOURCE))
        .build(
            manager,
            |context: Context<(), Recorder>, request: Request| async move {
                sync::sync(&context, &request).await
            },
        )?;
    Ok(())
}
