//! One pass over the EndpointSlices of a Service.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};
use kube::ResourceExt;
use kubewright_controller::{Action, Context, Error, Request, Result, events::EventType};
use kubewright_machinery::go;

use super::{
    BY_SERVICE, MANAGER, Slices,
    endpoint::{endpoint, ports},
    packing::{MAX_ENDPOINTS, pack, port_key},
    slices::{Form, MANAGED_BY, Writes, labels, write},
};
use crate::workloads::{
    objects::{Pod, Service},
    services::{MAX_RETRIES, has_endpoints, is_endpoint, pods_of},
};

/// The label of a node with its zone.
const ZONE: &str = "topology.kubernetes.io/zone";

pub(super) async fn sync(context: &Context<(), Slices>, request: &Request) -> Result<Action> {
    let state = context.state();
    let Some(service) = context.get::<Service>(request).await? else {
        state.triggers.forget(request);
        state.skipped.lock().remove(request);
        return Ok(Action::done());
    };
    if !has_endpoints(&service) {
        return Ok(Action::done());
    }
    let pods = pods_of(context, &service).await?;
    let existing = slices_of(context, &service).await?;
    let trigger = state.triggers.earliest_new(request, &service, &pods);
    let families = families(&service);
    let (existing, mut obsolete): (Vec<_>, Vec<_>) = existing
        .into_iter()
        .partition(|slice| families.contains(&slice.address_type.as_str()));
    let (mut skipped, mut failures) = (Vec::new(), Vec::new());
    for family in families {
        let (mut writes, without) = plan(context, &service, &pods, &existing, family);
        skipped.extend(without);
        writes.delete.append(&mut obsolete);
        let client = context.client();
        let written = write(client, &*service, "Service", writes, trigger).await;
        failures.extend(written.err());
    }
    if skipped.is_empty() {
        state.skipped.lock().remove(request);
    }
    if skipped.is_empty() && failures.is_empty() {
        return Ok(Action::done());
    }
    let all: Vec<&String> = skipped.iter().chain(&failures).collect();
    let error = go::aggregate(&all);
    let message = format!(
        "Error updating Endpoint Slices for Service {}/{}: {error}",
        service.namespace().unwrap_or_default(),
        service.name_any()
    );
    let (recorder, reason) = (&state.recorder, "FailedToUpdateEndpointSlices");
    recorder.event(&*service, EventType::Warning, reason, message);
    if failures.is_empty() {
        return Ok(look_again(state, request));
    }
    match context.attempt() < MAX_RETRIES {
        true => Err(Error::message(error).into()),
        false => Ok(Action::done()),
    }
}

/// Looks again at a Service with pods on unknown nodes, after growing delays and not forever. Nothing has failed, so this
/// is no retry.
fn look_again(state: &Slices, request: &Request) -> Action {
    let mut skipped = state.skipped.lock();
    let count = skipped.entry(request.clone()).or_insert(0);
    *count = count.saturating_add(1);
    match usize::try_from(*count) {
        Ok(times) if times <= MAX_RETRIES => {
            let seconds = 2_u64.saturating_pow(*count - 1).min(1000);
            Action::requeue_after(Duration::from_secs(seconds))
        }
        _ => {
            skipped.remove(request);
            Action::done()
        }
    }
}

/// Returns the families of the addresses of a Service.
fn families(service: &Service) -> Vec<&str> {
    match service.spec.ip_families.as_slice() {
        [] if service.spec.cluster_ip.contains(':') => vec!["IPv6"],
        [] if !service.is_headless() => vec!["IPv4"],
        [] => vec!["IPv4", "IPv6"],
        families => families.iter().map(String::as_str).collect(),
    }
}

/// Returns the slices of a Service that this controller manages and that are not being deleted.
async fn slices_of(context: &Context<(), Slices>, service: &Service) -> Result<Vec<EndpointSlice>> {
    let cache = context.client().current_informer::<EndpointSlice>().await?;
    let snapshot = cache.indexer().snapshot();
    let mut slices = Vec::new();
    for stored in snapshot.by_index(BY_SERVICE, &service.name_any())? {
        if stored.namespace() != service.metadata.namespace.as_deref()
            || stored.deletion_timestamp().is_some()
        {
            continue;
        }
        let labels = stored.labels();
        if labels
            .iter()
            .any(|(key, value)| *key == MANAGED_BY && &**value == MANAGER)
        {
            let slice: Arc<EndpointSlice> = stored.decode()?;
            slices.push(Arc::unwrap_or_clone(slice));
        }
    }
    slices.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    Ok(slices)
}

/// Returns the writes for one family, and the pods that are left out since their nodes do not exist.
fn plan(
    context: &Context<(), Slices>,
    service: &Service,
    pods: &[Arc<Pod>],
    existing: &[EndpointSlice],
    family: &str,
) -> (Writes, Vec<String>) {
    let mut writes = Writes::default();
    let mut skipped = Vec::new();
    let labels = labels(service, MANAGER);
    let own = |slice: &&EndpointSlice| slice.address_type == family;
    let is_owned = |slice: &EndpointSlice| {
        let mut owners = slice.owner_references().iter();
        owners.any(|owner| Some(&owner.uid) == service.metadata.uid.as_ref())
    };
    let mut known: BTreeMap<String, Vec<EndpointSlice>> = BTreeMap::new();
    let mut total = 0;
    for slice in existing.iter().filter(own) {
        total += 1;
        match is_owned(slice) {
            true => {
                let key = port_key(slice.ports.as_deref().unwrap_or_default());
                known.entry(key).or_default().push(slice.clone());
            }
            false => writes.delete.push(slice.clone()),
        }
    }
    let nodes = &context.state().nodes;
    let mut desired: BTreeMap<String, (Vec<EndpointPort>, Vec<Endpoint>)> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| is_endpoint(pod)) {
        let ports = ports(service, pod);
        let group = desired
            .entry(port_key(&ports))
            .or_insert_with(|| (ports, Vec::new()));
        let node = nodes.indexer().get(&pod.spec.node_name);
        if node.is_none() && !service.spec.publish_not_ready_addresses {
            skipped.push(format!(
                "skipping Pod {} for Service {}/{}: Node {} Not Found",
                pod.name_any(),
                service.namespace().unwrap_or_default(),
                service.name_any(),
                pod.spec.node_name
            ));
            continue;
        }
        let zone = node.and_then(|node| {
            let labels = node.labels();
            let zone = labels.iter().find(|(key, _)| *key == ZONE);
            zone.map(|(_, zone)| zone.to_string())
                .filter(|zone| !zone.is_empty())
        });
        let endpoint = endpoint(service, pod, zone, family);
        if !endpoint.addresses.is_empty() {
            group.1.push(endpoint);
        }
    }
    for (key, (ports, endpoints)) in desired {
        let form = Form {
            owner: service,
            family,
            ports: &ports,
            labels: &labels,
        };
        let packed = pack(
            known.remove(&key).unwrap_or_default(),
            endpoints,
            MAX_ENDPOINTS,
            &labels,
        );
        writes.add(packed, &form);
    }
    writes.delete.extend(known.into_values().flatten());
    if total == writes.delete.len() && writes.create.is_empty() {
        add_placeholder(service, family, &labels, &mut writes);
    }
    (writes, skipped)
}

/// Keeps or adds a slice without endpoints and ports, so that there is always one.
fn add_placeholder(
    service: &Service,
    family: &str,
    labels: &BTreeMap<String, String>,
    writes: &mut Writes,
) {
    let is_placeholder = |slice: &EndpointSlice| {
        slice.endpoints.as_ref().is_none_or(Vec::is_empty)
            && slice.ports.as_ref().is_none_or(Vec::is_empty)
            && slice.labels() == labels
    };
    match writes.delete.as_slice() {
        [only] if is_placeholder(only) => writes.delete.clear(),
        _ => {
            let form = Form {
                owner: service,
                family,
                ports: &[],
                labels,
            };
            writes.create.push(form.slice(Vec::new()));
        }
    }
}
