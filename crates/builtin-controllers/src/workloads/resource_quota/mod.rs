//! `resourcequota-controller`: keeps the usage in the status of ResourceQuotas, which admission enforces.
//!
//! Admission raises the usage with every object that it admits. This controller counts again when objects are deleted or use
//! less, when limits change, and every five minutes.
//!
//! | module | contents |
//! |---|---|
//! | `sync` | one pass over a quota |
//! | `usage` | the objects of a namespace, counted |
//! | `counted` | the resources that a quota counts |
//! | `monitors` | watches of resources whose objects are counted |

mod counted;
mod monitors;
mod sync;
mod usage;

use std::sync::Arc;

use kubewright_controller::{
    AnyEvent, Context, Controller, Handler, Manager, ManagerError, Request, Watch,
};
use kubewright_informer::Event;

use self::{
    counted::Counted,
    monitors::{Monitors, Quotas},
};
use crate::{
    names::Name,
    set::FIELD_MANAGER,
    workloads::{
        WORKERS,
        objects::{PersistentVolumeClaim, Pod, ResourceQuota, Service},
    },
};

pub(crate) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    let quotas = Quotas::of(manager);
    let users = |plural: &str| quotas.users_of(Counted::core(plural), manager.clock());
    let monitors = Arc::new(Monitors::new(quotas.clone()));
    let controller = Controller::builder()
        .named(Name::ResourceQuota.as_str())
        .field_manager(FIELD_MANAGER)
        .max_concurrent_reconciles(WORKERS)
        .watch(Watch::of::<ResourceQuota>(Handler::events(
            events_of_quotas,
        )))
        .watch(Watch::of::<Pod>(users("pods")))
        .watch(Watch::of::<Service>(users("services")))
        .watch(Watch::of::<PersistentVolumeClaim>(users(
            "persistentvolumeclaims",
        )))
        .state(monitors.clone())
        .build(
            manager,
            |context: Context<(), Monitors>, request: Request| async move {
                sync::sync(&context, &request).await
            },
        )?;
    monitors.attach(controller);
    Ok(())
}

/// Requests quotas that are new, or whose limits or scopes change. Usage that admission adds does not cause a count.
fn events_of_quotas(event: &AnyEvent) -> Vec<Request> {
    let quota = event.object();
    let spec = |quota: &kubewright_informer::Cached<()>| {
        let quota = quota.clone().cast::<ResourceQuota>().get();
        quota.map(|quota| quota.spec.clone()).ok()
    };
    match event {
        Event::Updated { old, .. } if spec(old) == spec(quota) => Vec::new(),
        _ => vec![Request::from(&**quota)],
    }
}
