//! New slices, their labels, and the writes of slices.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::{
    api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::ResourceExt;
use kubewright_client::{Error, ErrorExt};
use kubewright_controller::{Client, Object};

use super::packing::Packed;
use crate::{
    namespace::is_terminating_cause,
    workloads::{
        objects::{Service, controller_reference},
        pods::{message_of, name_prefix},
        services::{HEADLESS, set_trigger_time},
    },
};

/// The label with the name of the Service.
pub(in crate::workloads) const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// The label with the manager of a slice.
pub(in crate::workloads) const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";

/// Returns the labels of the slices of a Service: its own, its name and the controller's.
pub(super) fn labels(service: &Service, manager: &str) -> BTreeMap<String, String> {
    let mut labels = service.labels().clone();
    labels.remove(HEADLESS);
    if service.is_headless() {
        labels.insert(HEADLESS.to_owned(), String::new());
    }
    labels.insert(SERVICE_NAME.to_owned(), service.name_any());
    labels.insert(MANAGED_BY.to_owned(), manager.to_owned());
    labels
}

/// The form of the slices of one owner, family and set of ports.
pub(super) struct Form<'a, O> {
    pub(super) owner: &'a O,
    pub(super) family: &'a str,
    pub(super) ports: &'a [EndpointPort],
    pub(super) labels: &'a BTreeMap<String, String>,
}

impl<O: Object> Form<'_, O> {
    /// Returns a slice with endpoints.
    pub(super) fn slice(&self, endpoints: Vec<Endpoint>) -> EndpointSlice {
        let owner = controller_reference(self.owner);
        EndpointSlice {
            metadata: ObjectMeta {
                generate_name: Some(name_prefix(&owner.name)),
                namespace: self.owner.meta().namespace.clone(),
                labels: Some(self.labels.clone()),
                owner_references: Some(vec![owner]),
                ..ObjectMeta::default()
            },
            address_type: self.family.to_owned(),
            endpoints: Some(endpoints),
            ports: Some(self.ports.to_vec()),
        }
    }
}

/// The slices to write.
#[derive(Debug, Default)]
pub(in crate::workloads) struct Writes {
    pub(in crate::workloads) create: Vec<EndpointSlice>,
    pub(in crate::workloads) update: Vec<EndpointSlice>,
    pub(in crate::workloads) delete: Vec<EndpointSlice>,
}

impl Writes {
    pub(super) fn add<O: Object>(&mut self, packed: Packed, form: &Form<'_, O>) {
        let new = packed.create.into_iter();
        self.create
            .extend(new.map(|endpoints| form.slice(endpoints)));
        self.update.extend(packed.update);
        self.delete.extend(packed.delete);
    }

    /// Turns creations into updates of slices that are to be deleted.
    fn reuse(&mut self, owner_uid: Option<&str>) {
        let mut kept = Vec::with_capacity(self.delete.len());
        for old in std::mem::take(&mut self.delete) {
            let owners = old.owner_references();
            let is_own = owners
                .iter()
                .any(|owner| Some(owner.uid.as_str()) == owner_uid);
            match self.create.last() {
                Some(new) if is_own && new.address_type == old.address_type => {
                    if let Some(mut new) = self.create.pop() {
                        new.metadata.name = old.metadata.name;
                        new.metadata.resource_version = None;
                        self.update.push(new);
                    }
                }
                _ => kept.push(old),
            }
        }
        self.delete = kept;
    }
}

/// Writes slices: creates, updates, then deletes. Nothing is created for an owner that is being deleted.
pub(in crate::workloads) async fn write<O: Object>(
    client: &Client,
    owner: &O,
    kind: &str,
    mut writes: Writes,
    trigger: Option<Timestamp>,
) -> Result<(), String> {
    writes.reuse(owner.meta().uid.as_deref());
    let name = format!(
        "{kind} {}/{}",
        owner.namespace().unwrap_or_default(),
        owner.name_any()
    );
    let failed = |verb: &str, error: &Error| {
        format!(
            "failed to {verb} EndpointSlice for {name}: {}",
            message_of(error)
        )
    };
    if owner.meta().deletion_timestamp.is_none() {
        for mut slice in writes.create {
            set_trigger_time(slice.metadata.annotations.get_or_insert_default(), trigger);
            match client.create(&slice).await {
                Err(error) if error.api_status().is_some_and(is_terminating_cause) => return Ok(()),
                created => created
                    .map(drop)
                    .map_err(|error| failed("create", &error))?,
            }
        }
    }
    for mut slice in writes.update {
        set_trigger_time(slice.metadata.annotations.get_or_insert_default(), trigger);
        let verb = format!("update {}", slice.name_any());
        let updated = client.update(&slice).await;
        updated.map(drop).map_err(|error| failed(&verb, &error))?;
    }
    for slice in writes.delete {
        let verb = format!("delete {}", slice.name_any());
        let deleted = client.delete(&slice).await;
        deleted.map(drop).map_err(|error| failed(&verb, &error))?;
    }
    Ok(())
}
