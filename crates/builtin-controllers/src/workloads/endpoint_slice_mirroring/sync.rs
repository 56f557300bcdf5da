//! One pass over Endpoints.

use std::sync::Arc;

use k8s_openapi::api::{core::v1::Endpoints, discovery::v1::EndpointSlice};
use kube::ResourceExt;
use kubewright_controller::{
    Action, Context, Request, Result,
    events::{EventType, Recorder},
};

use super::{
    MANAGER,
    desired::{Desired, MOST},
};
use crate::workloads::{
    endpoint_slice::{BY_SERVICE, MANAGED_BY, Writes, port_key, write},
    objects::Service,
};

/// The label of Endpoints that are not to be mirrored.
const SKIP: &str = "endpointslice.kubernetes.io/skip-mirror";

/// The annotation of Endpoints by which programs elect a leader.
const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";

pub(super) async fn sync(context: &Context<(), Recorder>, request: &Request) -> Result<Action> {
    let existing = existing(context, request).await?;
    let service = context.get::<Service>(request).await?;
    let endpoints = context.get::<Endpoints>(request).await?;
    let is_wanted = service.is_some_and(|service| service.spec.selector.is_none());
    let Some(endpoints) = endpoints.filter(|endpoints| is_wanted && is_mirrored(endpoints)) else {
        for slice in existing {
            context.client().delete(&*slice).await?;
        }
        return Ok(Action::done());
    };
    let desired = Desired::of(&endpoints);
    let tell = |reason: &str, message: String| {
        context
            .state()
            .event(&*endpoints, EventType::Warning, reason, message);
    };
    if desired.invalid > 0 {
        let count = desired.invalid;
        let message =
            format!("Skipped {count} invalid IP addresses when mirroring to EndpointSlices");
        tell("InvalidIPAddress", message);
    }
    if desired.skipped > desired.invalid {
        let count = desired.skipped;
        let message = format!(
            "A max of {MOST} addresses can be mirrored to EndpointSlices per Endpoints subset. {count} addresses were skipped"
        );
        tell("TooManyAddressesToMirror", message);
    }
    let writes = writes(desired, existing);
    let written = write(context.client(), &*endpoints, "Endpoints", writes, None).await;
    if let Err(error) = written {
        let message = format!(
            "Error updating Endpoint Slices for Endpoints {}/{}: {error}",
            endpoints.namespace().unwrap_or_default(),
            endpoints.name_any()
        );
        tell("FailedToUpdateEndpointSlices", message);
        return Err(error.into());
    }
    Ok(Action::done())
}

/// Returns the slices that mirror Endpoints, by name.
async fn existing(
    context: &Context<(), Recorder>,
    request: &Request,
) -> Result<Vec<Arc<EndpointSlice>>> {
    let cache = context.client().current_informer::<EndpointSlice>().await?;
    let stored = cache.indexer().by_index(BY_SERVICE, request.name())?;
    let mut slices: Vec<Arc<EndpointSlice>> = Vec::new();
    for object in stored {
        let is_own = object
            .label(MANAGED_BY)
            .is_some_and(|manager| manager == MANAGER);
        if is_own && object.namespace() == request.namespace() {
            slices.push(object.decode()?);
        }
    }
    slices.sort_by_key(|slice| slice.name_any());
    Ok(slices)
}

fn is_mirrored(endpoints: &Endpoints) -> bool {
    endpoints
        .labels()
        .get(SKIP)
        .is_none_or(|skip| skip != "true")
        && !endpoints.annotations().contains_key(LEADER)
}

/// Returns the writes that make the slices the desired ones. Of several for the same addresses and ports the first stays.
fn writes(mut desired: Desired, existing: Vec<Arc<EndpointSlice>>) -> Writes {
    let mut writes = Writes::default();
    for slice in existing {
        let ports = slice.ports.as_deref().unwrap_or_default();
        let key = (slice.address_type.clone(), port_key(ports));
        let Some(mut wanted) = desired.slices.remove(&key) else {
            writes.delete.push((*slice).clone());
            continue;
        };
        let is_same = slice.endpoints == wanted.endpoints
            && slice.metadata.labels == wanted.metadata.labels
            && slice.metadata.annotations == wanted.metadata.annotations
            && slice.metadata.owner_references == wanted.metadata.owner_references;
        if !is_same {
            wanted.metadata.name.clone_from(&slice.metadata.name);
            wanted
                .metadata
                .generate_name
                .clone_from(&slice.metadata.generate_name);
            writes.update.push(wanted);
        }
    }
    writes.create.extend(desired.slices.into_values());
    writes
}
