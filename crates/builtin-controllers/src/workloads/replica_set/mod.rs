//! `replicaset-controller` and `replicationcontroller-controller`: keep the desired number of pods.
//!
//! Both kinds have one loop; they differ in the form of their selectors, and in the count of terminating pods.
//!
//! | module | contents |
//! |---|---|
//! | `sync` | one pass: claims pods, creates or deletes some, writes the status |
//! | `surplus` | which pods go when there are too many |
//! | `status` | the status |

mod status;
mod surplus;
mod sync;

use std::sync::Arc;

use kubewright_controller::{
    Context, Controller, Manager, ManagerError, Object, Request, Watch, events::Recorder,
};
use kubewright_machinery::labels::LabelSelector;
use serde_json::json;

use crate::{
    names::Name,
    set::FIELD_MANAGER,
    workloads::{
        WORKERS,
        objects::{Pod, ReplicaSet, ReplicationController, SetSpec, SetStatus},
        pace::Pace,
        pods,
    },
};

/// A kind with a number of pods.
pub(crate) trait Replicated: Object {
    /// The name of the controller.
    const NAME: Name;
    /// The source of its events.
    const SOURCE: &'static str;
    /// Whether the status counts terminating pods.
    const COUNTS_TERMINATING: bool;

    fn spec(&self) -> &SetSpec;

    fn status(&self) -> &SetStatus;

    /// Returns the selector of pods; `None` if it is invalid.
    fn selector(&self) -> Option<LabelSelector>;
}

impl Replicated for ReplicaSet {
    const NAME: Name = Name::ReplicaSet;
    const SOURCE: &'static str = "replicaset-controller";
    const COUNTS_TERMINATING: bool = true;

    fn spec(&self) -> &SetSpec {
        &self.spec
    }

    fn status(&self) -> &SetStatus {
        &self.status
    }

    fn selector(&self) -> Option<LabelSelector> {
        LabelSelector::from_label_selector(&self.spec.selector).ok()
    }
}

impl Replicated for ReplicationController {
    const NAME: Name = Name::ReplicationController;
    const SOURCE: &'static str = "replication-controller";
    const COUNTS_TERMINATING: bool = false;

    fn spec(&self) -> &SetSpec {
        &self.spec
    }

    fn status(&self) -> &SetStatus {
        &self.status
    }

    fn selector(&self) -> Option<LabelSelector> {
        let labels = json!({"matchLabels": self.spec.selector});
        LabelSelector::from_label_selector(&labels).ok()
    }
}

pub(crate) fn add_to<K: Replicated>(manager: &Manager) -> Result<(), ManagerError> {
    pods::add_index::<Pod>(manager);
    pods::add_index::<ReplicaSet>(manager);
    let recorder = manager.recorder(K::SOURCE);
    let pace = Arc::new(Pace::default());
    let children = pods::events_of_children::<K>(manager, K::selector);
    Controller::builder()
        .named(K::NAME.as_str())
        .field_manager(FIELD_MANAGER)
        .max_concurrent_reconciles(WORKERS)
        .watch(Watch::of::<K>(pods::events_of_objects()))
        .watch(Watch::of::<Pod>(children))
        .state(recorder)
        .build(
            manager,
            move |context: Context<(), Recorder>, request: Request| {
                let pace = pace.clone();
                async move { sync::sync::<K>(&context, &request, &pace).await }
            },
        )?;
    Ok(())
}
