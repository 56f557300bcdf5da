//! `statefulset-controller`: keeps pods with fixed names and claims, one after the other.
//!
//! | module | contents |
//! |---|---|
//! | `sync` | one pass: claims pods, updates them, writes the status |
//! | `identity` | names, ordinals and labels of pods |
//! | `replica` | a pod that exists or will be created |
//! | `update` | creation, deletion and replacement of pods, in order |
//! | `control` | writes of pods and claims, with events |
//! | `retention` | owners of claims, so that they are deleted with the pod or the set |
//! | `revisions` | the current and the new revision of the template |

mod control;
mod identity;
mod replica;
mod retention;
mod revisions;
mod sync;
mod update;

use kubewright_controller::{
    Context, Controller, Manager, ManagerError, Request, Watch, events::Recorder,
};
use kubewright_machinery::labels::LabelSelector;

use crate::{
    names::Name,
    set::FIELD_MANAGER,
    workloads::{
        WORKERS,
        objects::{ControllerRevision, PersistentVolumeClaim, Pod, StatefulSet},
        pods,
    },
};

pub(crate) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    pods::add_index::<Pod>(manager);
    pods::add_index::<ControllerRevision>(manager);
    let recorder = manager.recorder(Name::StatefulSet.as_str());
    let children = || {
        pods::events_of_children::<StatefulSet>(manager, |set| {
            LabelSelector::from_label_selector(&set.spec.selector).ok()
        })
    };
    Controller::builder()
        .named(Name::StatefulSet.as_str())
        .field_manager(FIELD_MANAGER)
        .max_concurrent_reconciles(WORKERS)
        .watch(Watch::of::<StatefulSet>(pods::events_of_objects()))
        .watch(Watch::of::<Pod>(children()))
        // Their changes need no pass, but their caches must be filled.
        .watch(Watch::of::<ControllerRevision>(pods::no_events()))
        .watch(Watch::of::<PersistentVolumeClaim>(pods::no_events()))
        .state(recorder)
        .build(
            manager,
            |context: Context<(), Recorder>, request: Request| async move {
                sync::sync(&context, &request).await
            },
        )?;
    Ok(())
}
