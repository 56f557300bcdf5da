//! `persistentvolume-expander-controller`: says that others grow volumes. It grew those of plugins that have left
//! Kubernetes.

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kubewright_controller::{
    Action, AnyEvent, Context, Controller, Handler, Manager, ManagerError, Request, Result, Watch,
    events::{EventType, Recorder},
};
use kubewright_informer::{Cached, Event, Key};
use kubewright_machinery::quantity::Quantity;

use crate::{names::Name, set::FIELD_MANAGER, workloads::pods::no_events};

/// The source of events.
const SOURCE: &str = "volume_expand";

pub(crate) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    Controller::builder()
        .named(Name::VolumeExpander.as_str())
        .field_manager(FIELD_MANAGER)
        .watch(Watch::of::<PersistentVolumeClaim>(Handler::events(events)))
        .watch(Watch::of::<PersistentVolume>(no_events()))
        .state(manager.recorder(SOURCE))
        .build(
            manager,
            |context: Context<(), Recorder>, request: Request| async move {
                sync(&context, &request).await
            },
        )?;
    Ok(())
}

/// Requests claims that ask for more than before.
fn events(event: &AnyEvent) -> Vec<Request> {
    let request = |object: &Cached<()>| {
        let claim = object.clone().cast::<PersistentVolumeClaim>().get();
        claim
            .map(|claim| sizes(&claim).0)
            .unwrap_or_else(|_| Quantity::zero())
    };
    match event {
        Event::Updated { old, object, .. } if request(object) > request(old) => {
            vec![Request::from(&**object)]
        }
        _ => Vec::new(),
    }
}

/// Returns the storage that a claim asks for, and that it has.
fn sizes(claim: &PersistentVolumeClaim) -> (Quantity, Quantity) {
    let resources = claim.spec.as_ref().and_then(|spec| spec.resources.as_ref());
    let wanted = resources.and_then(|resources| resources.requests.as_ref());
    let has = claim
        .status
        .as_ref()
        .and_then(|status| status.capacity.as_ref());
    let storage = |list: Option<&std::collections::BTreeMap<_, _>>| {
        let text: Option<&k8s_openapi::apimachinery::pkg::api::resource::Quantity> =
            list.and_then(|list| list.get("storage"));
        let parsed = text.and_then(|text| Quantity::parse(&text.0).ok());
        parsed.unwrap_or_else(Quantity::zero)
    };
    (storage(wanted), storage(has))
}

async fn sync(context: &Context<(), Recorder>, request: &Request) -> Result<Action> {
    let Some(claim) = context.get::<PersistentVolumeClaim>(request).await? else {
        return Ok(Action::done());
    };
    let (wanted, has) = sizes(&claim);
    let name = claim
        .spec
        .as_ref()
        .and_then(|spec| spec.volume_name.as_deref());
    let Some(name) = name.filter(|name| !name.is_empty() && wanted > has) else {
        return Ok(Action::done());
    };
    let volume = context
        .client()
        .get_key::<PersistentVolume>(&Key::new(None, name))
        .await?;
    let Some(spec) = volume.as_ref().and_then(|volume| volume.spec.as_ref()) else {
        return Ok(Action::done());
    };
    let is_bound = spec
        .claim_ref
        .as_ref()
        .is_some_and(|owner| owner.uid == claim.metadata.uid);
    if !is_bound {
        return Ok(Action::done());
    }
    let type_ = match spec.csi.is_some() || spec.flex_volume.is_some() {
        true => EventType::Normal,
        false => EventType::Warning,
    };
    let message = "waiting for an external controller to expand this PVC";
    context
        .state()
        .event(&*claim, type_, "ExternalExpanding", message);
    Ok(Action::done())
}
