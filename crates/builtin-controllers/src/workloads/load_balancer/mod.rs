//! `simulated-load-balancer`: gives services of the type `LoadBalancer` an address, as the controller of a cloud does.
//!
//! kube-controller-manager has no such controller, and so it runs only where it is asked for. Pods on simulated nodes reach
//! the addresses; other programs do not.
//!
//! | module | contents |
//! |---|---|
//! | `addresses` | the addresses of load balancers |

mod addresses;

use std::net::Ipv4Addr;

use k8s_openapi::api::core::v1::Service;
use kube::{
    ResourceExt,
    api::{Patch, PatchParams},
    core::ApiResource,
};
use kubewright_client::ErrorExt;
use kubewright_controller::{
    Action, Context, Controller, Manager, ManagerError, Request, Result, Watch,
    events::{EventType, Recorder},
};
use kubewright_informer::SharedInformer;
use parking_lot::Mutex;
use serde_json::{Value, json};

use self::addresses::Addresses;
use crate::{names::Name, set::FIELD_MANAGER, workloads::pods::events_of_objects};

/// The source of events.
const SOURCE: &str = "service-controller";

/// The finalizer of services that have a load balancer.
const FINALIZER: &str = "service.kubernetes.io/load-balancer-cleanup";

/// The state of the controller.
struct Balancers {
    recorder: Recorder,
    services: SharedInformer<Service>,
    /// The addresses, once those of existing services are known.
    addresses: Mutex<Option<Addresses>>,
}

pub(crate) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    let services = manager
        .caches()
        .informer(&ApiResource::erase::<Service>(&()));
    Controller::builder()
        .named(Name::LoadBalancer.as_str())
        .field_manager(FIELD_MANAGER)
        .watch(Watch::of::<Service>(events_of_objects()))
        .state(Balancers {
            recorder: manager.recorder(SOURCE),
            services: services.cast(),
            addresses: Mutex::default(),
        })
        .build(
            manager,
            |context: Context<(), Balancers>, request: Request| async move {
                sync(&context, &request).await
            },
        )?;
    Ok(())
}

async fn sync(context: &Context<(), Balancers>, request: &Request) -> Result<Action> {
    let state = context.state();
    let Some(service) = context.get::<Service>(request).await? else {
        state.release(request);
        return Ok(Action::done());
    };
    let spec = service.spec.as_ref();
    let is_wanted = service.metadata.deletion_timestamp.is_none()
        && spec.is_some_and(|spec| {
            spec.type_.as_deref() == Some("LoadBalancer") && spec.load_balancer_class.is_none()
        });
    let has_finalizer = service.finalizers().iter().any(|name| name == FINALIZER);
    match (is_wanted, has_finalizer) {
        (true, _) => ensure(context, request, &service, has_finalizer).await?,
        (false, true) => delete(context, request, &service).await?,
        (false, false) => {}
    }
    Ok(Action::done())
}

/// Gives a service its address.
async fn ensure(
    context: &Context<(), Balancers>,
    request: &Request,
    service: &Service,
    has_finalizer: bool,
) -> Result<()> {
    let state = context.state();
    let wanted = service.spec.as_ref();
    let wanted = wanted.and_then(|spec| spec.load_balancer_ip.as_deref()?.parse().ok());
    let shown = address_of(service);
    let address = state.allocate(request, wanted);
    if has_finalizer && address.is_some() && shown == address {
        return Ok(());
    }
    let tell = |type_, reason: &str, message: String| {
        state.recorder.event(service, type_, reason, message);
    };
    tell(
        EventType::Normal,
        "EnsuringLoadBalancer",
        "Ensuring load balancer".to_owned(),
    );
    let Some(address) = address else {
        let error = "failed to ensure load balancer: no addresses are left";
        let message = format!("Error syncing load balancer: {error}");
        tell(EventType::Warning, "SyncLoadBalancerFailed", message);
        return Err(error.into());
    };
    if !has_finalizer {
        let mut finalizers = service.finalizers().to_vec();
        finalizers.push(FINALIZER.to_owned());
        let finalizers = json!({"metadata": {
            "resourceVersion": service.resource_version(), "finalizers": finalizers,
        }});
        let finalizers = Patch::Merge(finalizers);
        context.client().patch(service, &finalizers).await?;
    }
    let ingress = json!([{"ip": address, "ipMode": "VIP"}]);
    write_status(context, service, &json!({"ingress": ingress})).await?;
    tell(
        EventType::Normal,
        "EnsuredLoadBalancer",
        "Ensured load balancer".to_owned(),
    );
    Ok(())
}

/// Takes the address of a service back.
async fn delete(
    context: &Context<(), Balancers>,
    request: &Request,
    service: &Service,
) -> Result<()> {
    let recorder = &context.state().recorder;
    let tell = |reason: &str, message: &str| {
        recorder.event(service, EventType::Normal, reason, message.to_owned());
    };
    tell("DeletingLoadBalancer", "Deleting load balancer");
    if service.metadata.deletion_timestamp.is_none() {
        write_status(context, service, &Value::Null).await?;
    }
    let mut finalizers = service.finalizers().to_vec();
    finalizers.retain(|name| name != FINALIZER);
    let services = context
        .client()
        .api::<Service>(&service.namespace().unwrap_or_default());
    // The status may have been written, so only the UID is compared.
    let patch = json!({"metadata": {"uid": service.uid(), "finalizers": finalizers}});
    let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
    match services.patch(&service.name_any(), &params, &patch).await {
        Err(error) if !error.is_not_found() => return Err(error.into()),
        _ => {}
    }
    context.state().release(request);
    tell("DeletedLoadBalancer", "Deleted load balancer");
    Ok(())
}

async fn write_status(
    context: &Context<(), Balancers>,
    service: &Service,
    balancer: &Value,
) -> Result<()> {
    let services = context
        .client()
        .api::<Service>(&service.namespace().unwrap_or_default());
    let patch = json!({"metadata": {"uid": service.uid()}, "status": {"loadBalancer": balancer}});
    let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
    services
        .patch_status(&service.name_any(), &params, &patch)
        .await?;
    Ok(())
}

/// Returns the address in the status of a service.
fn address_of(service: &Service) -> Option<Ipv4Addr> {
    let balancer = service.status.as_ref()?.load_balancer.as_ref()?;
    let first = balancer.ingress.as_ref()?.first()?;
    first.ip.as_deref()?.parse().ok()
}

impl Balancers {
    fn allocate(&self, request: &Request, wanted: Option<Ipv4Addr>) -> Option<Ipv4Addr> {
        let mut addresses = self.addresses.lock();
        let addresses = addresses.get_or_insert_with(|| {
            // No address is given twice, so the existing ones come first.
            let mut known = Addresses::default();
            for service in self.services.lister().list(&Default::default()) {
                if let Some(address) = address_of(&service) {
                    known.occupy(address, Request::of(&*service).key());
                }
            }
            known
        });
        addresses.allocate(request.key(), wanted)
    }

    fn release(&self, request: &Request) {
        if let Some(addresses) = self.addresses.lock().as_mut() {
            addresses.release(request.key());
        }
    }
}
