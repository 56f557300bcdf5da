//! `simulated-volume-provisioner`: makes, grows and deletes volumes that hold nothing, as a CSI driver with its sidecars does.
//!
//! kube-controller-manager has no such controller. In a cluster with simulated nodes there is a storage class `standard`,
//! whose provisioner is this one. The scheduler selects the node of a claim's first pod.
//!
//! | module | contents |
//! |---|---|
//! | `claim` | claims to provision or to grow |
//! | `volume` | volumes to delete |
//! | `class` | the storage class of clusters with simulated nodes |

mod claim;
mod class;
mod volume;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kubewright_controller::{
    AnyEvent, Context, Controller, Handler, Manager, ManagerError, Request, Watch, events::Recorder,
};
use kubewright_informer::Event;

use crate::{
    names::Name,
    set::FIELD_MANAGER,
    workloads::{objects::Node, pods::events_of_objects},
};

/// The name of the provisioner.
const PROVISIONER: &str = "kubewright.dev/simulated";

/// The request to create the storage class. No volume has such a name.
const CLASS: &str = "+class";

pub(crate) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    Controller::builder()
        .named(Name::VolumeProvisioner.as_str())
        .field_manager(FIELD_MANAGER)
        .watch(Watch::of::<PersistentVolumeClaim>(events_of_objects()))
        .watch(Watch::of::<PersistentVolume>(events_of_objects()))
        .watch(Watch::of::<Node>(Handler::events(events_of_nodes)))
        .state(manager.recorder(PROVISIONER))
        .build(
            manager,
            |context: Context<(), Recorder>, request: Request| async move {
                match (request.namespace(), request.name()) {
                    (Some(_), _) => claim::sync(&context, &request).await,
                    (None, CLASS) => class::create(&context).await,
                    (None, _) => volume::sync(&context, &request).await,
                }
            },
        )?;
    Ok(())
}

/// Requests the storage class when there is a simulated node.
fn events_of_nodes(event: &AnyEvent) -> Vec<Request> {
    let node = event.object().clone().cast::<Node>().get();
    let is_new = matches!(event, Event::Added { .. });
    match is_new && node.is_ok_and(|node| node.is_simulated()) {
        true => vec![Request::cluster_scoped(CLASS)],
        false => Vec::new(),
    }
}
