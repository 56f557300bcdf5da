//! `deployment-controller`: rolls out pod templates through ReplicaSets.
//!
//! | module | contents |
//! |---|---|
//! | `sync` | one pass: which of the others runs |
//! | `rollout` | the state of a pass: the Deployment and its ReplicaSets |
//! | `sets` | finding and creating the new ReplicaSet |
//! | `revisions` | revisions and annotations of ReplicaSets |
//! | `limits` | surge and unavailability |
//! | `scale` | sizes of ReplicaSets, in proportion when the Deployment is scaled |
//! | `rolling`, `recreate` | the strategies |
//! | `rollback` | the annotation of old clients that asks for a rollback |
//! | `history` | old ReplicaSets that are deleted |
//! | `status`, `progress` | the status and the condition `Progressing` |

mod history;
mod limits;
mod progress;
mod recreate;
mod revisions;
mod rollback;
mod rolling;
mod rollout;
mod scale;
mod sets;
mod status;
mod sync;

use std::sync::Arc;

use kube::core::ApiResource;
pub(crate) use limits::{Rounding, scaled};

use kubewright_controller::{
    Context, Controller, Handler, Manager, ManagerError, Request, Watch, events::Recorder,
};
use kubewright_informer::{Event, StoredObject};
use kubewright_machinery::labels::LabelSelector;

use crate::{
    names::Name,
    set::FIELD_MANAGER,
    workloads::{
        WORKERS,
        objects::{Deployment, Pod, ReplicaSet},
        pods,
    },
};

pub(crate) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    pods::add_index::<Pod>(manager);
    pods::add_index::<ReplicaSet>(manager);
    let recorder = manager.recorder(Name::Deployment.as_str());
    let sets = pods::events_of_children::<Deployment>(manager, |deployment| {
        LabelSelector::from_label_selector(&deployment.spec.selector).ok()
    });
    Controller::builder()
        .named(Name::Deployment.as_str())
        .field_manager(FIELD_MANAGER)
        .max_concurrent_reconciles(WORKERS)
        .watch(Watch::of::<Deployment>(pods::events_of_objects()))
        .watch(Watch::of::<ReplicaSet>(sets))
        .watch(Watch::of::<Pod>(deletions(manager)))
        .state(recorder)
        .build(
            manager,
            |context: Context<(), Recorder>, request: Request| async move {
                sync::sync(&context, &request).await
            },
        )?;
    Ok(())
}

/// Returns a handler of deleted pods: a Deployment that recreates its pods waits for the last of them to be gone.
fn deletions(manager: &Manager) -> Handler {
    let caches = manager.caches();
    let sets = caches.informer(&ApiResource::erase::<ReplicaSet>(&()));
    let deployments = caches.informer(&ApiResource::erase::<Deployment>(&()));
    let recreating = move |pod: &StoredObject| {
        let namespace = pod.namespace().unwrap_or_default();
        let controller = |object: &StoredObject, kind: &str| {
            let owner = object.controller().filter(|owner| owner.kind == kind)?;
            Some(format!("{namespace}/{}", owner.name))
        };
        let set = sets.indexer().get(&controller(pod, "ReplicaSet")?)?;
        let deployment = deployments
            .indexer()
            .get(&controller(&set, "Deployment")?)?;
        let decoded: Arc<Deployment> = deployment.decode().ok()?;
        (!decoded.is_rolling()).then(|| Request::from(&*deployment))
    };
    Handler::events(move |event| match event {
        Event::Deleted { .. } => recreating(event.object()).into_iter().collect(),
        _ => Vec::new(),
    })
}
