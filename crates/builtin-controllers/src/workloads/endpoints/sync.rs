//! One pass over the Endpoints of a Service.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::core::v1::{
    EndpointAddress, EndpointPort, EndpointSubset, Endpoints, ObjectReference,
};
use kube::{Resource, ResourceExt, api::DeleteParams};
use kubewright_client::ErrorExt;
use kubewright_controller::{
    Action, AnyEvent, Context, Handler, Request, Result, events::EventType,
};
use kubewright_informer::Event;

use super::{
    State,
    subsets::{Entry, pack, truncate},
};
use crate::{
    namespace::is_terminating_cause,
    workloads::{
        objects::{Pod, Service},
        pods::message_of,
        services::{
            HEADLESS, MAX_RETRIES, addresses, has_endpoints, hostname, is_endpoint, pods_of,
            port_of, set_trigger_time,
        },
    },
};

/// The label with the manager of Endpoints.
const MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";

/// The manager.
const MANAGER: &str = "endpoint-controller";

/// The annotation of Endpoints that have too many addresses.
const OVER_CAPACITY: &str = "endpoints.kubernetes.io/over-capacity";

/// The annotation of Endpoints that are the lock of an election.
const LEADER: &str = "control-plane.alpha.kubernetes.io/leader";

/// Returns a handler of the first sight of Endpoints, whose Services may be gone, and of their deletion.
pub(super) fn events_of_endpoints() -> Handler {
    Handler::events(|event: &AnyEvent| {
        let object = event.object();
        let is_lock = object.annotations().iter().any(|(key, _)| *key == LEADER);
        match event {
            // Others may create Endpoints without a Service at any time.
            Event::Updated { .. } | Event::Added { initial: false, .. } => Vec::new(),
            _ if is_lock => Vec::new(),
            _ => vec![Request::from(&**object)],
        }
    })
}

pub(super) async fn sync(context: &Context<(), State>, request: &Request) -> Result<Action> {
    let (client, state) = (context.client(), context.state());
    let namespace = request.namespace().unwrap_or_default();
    let Some(service) = context.get::<Service>(request).await? else {
        state.triggers.forget(request);
        let endpoints = client.api::<Endpoints>(namespace);
        let deleted = endpoints
            .delete(request.name(), &DeleteParams::default())
            .await;
        return match deleted {
            Err(error) if !error.is_not_found() => Err(error.into()),
            _ => Ok(Action::done()),
        };
    };
    if !has_endpoints(&service) {
        return Ok(Action::done());
    }
    let pods = pods_of(context, &service).await?;
    let trigger = state.triggers.earliest_new(request, &service, &pods);
    let subsets = subsets_of(&service, &pods);
    let current = context.get::<Endpoints>(request).await?;
    if current
        .as_ref()
        .is_some_and(|current| is_right(current, &service, &subsets))
    {
        return Ok(Action::done());
    }
    let is_new = current.is_none();
    let mut new = current.map(Arc::unwrap_or_clone).unwrap_or_default();
    new.metadata.name = Some(service.name_any());
    new.metadata.namespace = service.namespace();
    new.metadata.labels = Some(labels_of(&service));
    new.subsets = Some(subsets);
    let annotations = new.metadata.annotations.get_or_insert_default();
    set_trigger_time(annotations, trigger);
    match truncate(new.subsets.get_or_insert_default()) {
        true => drop(annotations.insert(OVER_CAPACITY.to_owned(), "truncated".to_owned())),
        false => drop(annotations.remove(OVER_CAPACITY)),
    }
    let written = match is_new {
        true => client.create(&new).await,
        false => client.update(&new).await,
    };
    let Err(error) = written else {
        return Ok(Action::done());
    };
    if is_new && error.api_status().is_some_and(is_terminating_cause) {
        return Ok(Action::done());
    }
    let (reason, verb) = match is_new {
        true => ("FailedToCreateEndpoint", "create endpoint for service"),
        false => ("FailedToUpdateEndpoint", "update endpoint"),
    };
    let message = format!(
        "Failed to {verb} {namespace}/{}: {}",
        request.name(),
        message_of(&error)
    );
    let about = new.object_ref(&());
    state
        .recorder
        .event_about(about, EventType::Warning, reason, message);
    match context.attempt() < MAX_RETRIES {
        true => Err(error.into()),
        false => Ok(Action::done()),
    }
}

fn labels_of(service: &Service) -> BTreeMap<String, String> {
    let mut labels = service.labels().clone();
    match service.is_headless() {
        true => drop(labels.insert(HEADLESS.to_owned(), String::new())),
        false => drop(labels.remove(HEADLESS)),
    }
    labels.insert(MANAGED_BY.to_owned(), MANAGER.to_owned());
    labels
}

/// Reports whether Endpoints need no write. Whether a Service has or had a cluster IP is not considered.
fn is_right(current: &Endpoints, service: &Service, subsets: &[EndpointSubset]) -> bool {
    let mut labels = current.labels().clone();
    let is_own = labels.remove(MANAGED_BY).as_deref() == Some(MANAGER);
    labels.remove(HEADLESS);
    let mut wanted = service.labels().clone();
    wanted.remove(HEADLESS);
    is_own
        && labels == wanted
        && current.subsets.as_deref().unwrap_or_default() == subsets
        && !current.annotations().contains_key(OVER_CAPACITY)
}

fn subsets_of(service: &Service, pods: &[Arc<Pod>]) -> Vec<EndpointSubset> {
    let publishes_all = service.spec.publish_not_ready_addresses;
    let mut entries = Vec::new();
    for pod in pods.iter().filter(|pod| is_endpoint(pod)) {
        if pod.metadata.deletion_timestamp.is_some() && !publishes_all {
            continue;
        }
        let Some(address) = address_of(service, pod) else {
            continue;
        };
        let is_ready = publishes_all || pod.ready().is_some();
        let mut add = |port| {
            entries.push(Entry {
                address: address.clone(),
                port,
                is_ready,
            });
        };
        for port in &service.spec.ports {
            if let Some(number) = port_of(pod, port) {
                add(Some(EndpointPort {
                    name: Some(port.name.clone()).filter(|name| !name.is_empty()),
                    port: number,
                    protocol: Some(port.protocol.clone()),
                    app_protocol: port.app_protocol.clone(),
                }));
            }
        }
        if service.spec.ports.is_empty() && service.spec.cluster_ip == "None" {
            add(None);
        }
    }
    pack(entries)
}

/// Returns the address of a pod in the first family of a Service.
fn address_of(service: &Service, pod: &Pod) -> Option<EndpointAddress> {
    let family = service.spec.ip_families.first();
    let family = family.map_or("IPv4", String::as_str);
    let ip = addresses(pod, family).into_iter().next()?;
    Some(EndpointAddress {
        ip,
        hostname: hostname(pod, service).map(str::to_owned),
        node_name: Some(pod.spec.node_name.clone()).filter(|node| !node.is_empty()),
        target_ref: Some(ObjectReference {
            kind: Some("Pod".to_owned()),
            namespace: pod.namespace(),
            name: Some(pod.name_any()),
            uid: pod.metadata.uid.clone(),
            ..ObjectReference::default()
        }),
    })
}
