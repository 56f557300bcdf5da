//! `endpoints-controller`: keeps the Endpoints of Services.
//!
//! | module | contents |
//! |---|---|
//! | `sync` | one pass: the addresses of all pods; the write |
//! | `subsets` | subsets in their canonical form |

mod subsets;
mod sync;

use k8s_openapi::api::core::v1::Endpoints;
use kubewright_controller::{
    Context, Controller, Manager, ManagerError, Request, Watch, events::Recorder,
};

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

/// The source of events.
const SOURCE: &str = "endpoint-controller";

/// The memory of the controller.
struct State {
    recorder: Recorder,
    triggers: Triggers,
}

pub(crate) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    let state = State {
        recorder: manager.recorder(SOURCE),
        triggers: Triggers::default(),
    };
    Controller::builder()
        .named(Name::Endpoints.as_str())
        .field_manager(FIELD_MANAGER)
        .max_concurrent_reconciles(WORKERS)
        .watch(Watch::of::<Service>(pods::events_of_objects()))
        .watch(Watch::of::<Pod>(events_of_pods(manager)))
        .watch(Watch::of::<Endpoints>(sync::events_of_endpoints()))
        .state(state)
        .build(
            manager,
            |context: Context<(), State>, request: Request| async move {
                sync::sync(&context, &request).await
            },
        )?;
    Ok(())
}
