//! Claims, volumes and storage classes as the scheduler sees them.

use std::collections::BTreeMap;

use kubewright_informer::compare_resource_versions;
use kubewright_machinery::quantity::Quantity;
use serde::Deserialize;

use crate::{
    node::NodeInfo,
    pod::NodeTerms,
    selector::{Labels, Selector},
};

/// The annotation of a claim with the node on which its volume is provisioned.
pub(crate) const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// The annotation of claims whose binding is complete.
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";

/// The annotation that names the class of old objects.
const CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// The provisioner of classes that provision nothing.
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

/// A claim.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Claim {
    pub(crate) metadata: Metadata,
    pub(super) spec: ClaimSpec,
    status: ClaimStatus,
}

/// A volume.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Volume {
    pub(crate) metadata: Metadata,
    pub(super) spec: VolumeSpec,
    status: ClaimStatus,
}

/// A storage class.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Class {
    provisioner: String,
    volume_binding_mode: String,
    allowed_topologies: Vec<Topology>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Metadata {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    pub(super) labels: Labels,
    pub(super) annotations: BTreeMap<String, String>,
    deletion_timestamp: Option<serde::de::IgnoredAny>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ClaimSpec {
    pub(super) volume_name: String,
    storage_class_name: String,
    access_modes: Vec<String>,
    resources: Requests,
    selector: Option<Selector>,
    volume_mode: String,
    volume_attributes_class_name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Requests {
    requests: Storage,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Storage {
    storage: Quantity,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ClaimStatus {
    phase: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct VolumeSpec {
    pub(super) claim_ref: Option<ClaimRef>,
    storage_class_name: String,
    access_modes: Vec<String>,
    capacity: Storage,
    volume_mode: String,
    volume_attributes_class_name: String,
    node_affinity: VolumeAffinity,
}

/// The claim that a volume is bound to, or meant for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct ClaimRef {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) uid: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct VolumeAffinity {
    required: Option<NodeTerms>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Topology {
    match_label_expressions: Vec<TopologyLabel>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct TopologyLabel {
    key: String,
    values: Vec<String>,
}

impl Metadata {
    pub(crate) fn is_deleted(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    /// Reports whether this is a later version of the object than another one.
    pub(super) fn is_newer_than(&self, other: &Self) -> bool {
        let order = compare_resource_versions(&self.resource_version, &other.resource_version);
        self.uid == other.uid && order.is_some_and(|order| order.is_gt())
    }

    /// Notes that the object has been written.
    pub(super) fn advance(&mut self, version: &str) {
        let order = compare_resource_versions(&self.resource_version, version);
        if order.is_some_and(|order| order.is_lt()) {
            self.resource_version = version.to_owned();
        }
    }

    /// Returns the class: that of the annotation, or that of the spec.
    fn class<'a>(&'a self, of_spec: &'a str) -> &'a str {
        self.annotations.get(CLASS).map_or(of_spec, String::as_str)
    }
}

impl Claim {
    /// Returns the name of its volume, if the binding is complete.
    pub(super) fn bound_to(&self) -> Option<&str> {
        let is_complete = self.metadata.annotations.contains_key(BIND_COMPLETED);
        let volume = self.spec.volume_name.as_str();
        (is_complete && !volume.is_empty()).then_some(volume)
    }

    /// Reports whether its volume is gone.
    pub(super) fn is_lost(&self) -> bool {
        self.status.phase == "Lost"
    }

    /// Returns the name of its class.
    pub(super) fn class(&self) -> &str {
        self.metadata.class(&self.spec.storage_class_name)
    }

    pub(super) fn selected_node(&self) -> Option<&str> {
        self.metadata
            .annotations
            .get(SELECTED_NODE)
            .map(String::as_str)
    }

    /// Selects a node, unless one is selected.
    pub(super) fn select(&mut self, node: &str) {
        let annotations = &mut self.metadata.annotations;
        annotations
            .entry(SELECTED_NODE.to_owned())
            .or_insert_with(|| node.to_owned());
    }

    pub(super) fn size(&self) -> &Quantity {
        &self.spec.resources.requests.storage
    }

    pub(super) fn reference(&self) -> ClaimRef {
        ClaimRef {
            namespace: self.metadata.namespace.clone(),
            name: self.metadata.name.clone(),
            uid: self.metadata.uid.clone(),
        }
    }
}

impl Volume {
    pub(super) fn size(&self) -> &Quantity {
        &self.spec.capacity.storage
    }

    /// Reports whether the volume is bound to a claim, or meant for it.
    pub(crate) fn is_meant_for(&self, claim: &Claim) -> bool {
        self.spec.claim_ref.as_ref().is_some_and(|meant| {
            meant.namespace == claim.metadata.namespace
                && meant.name == claim.metadata.name
                && (meant.uid.is_empty() || meant.uid == claim.metadata.uid)
        })
    }

    /// Reports whether a node can reach the volume.
    pub(super) fn is_reachable_from(&self, node: &NodeInfo) -> bool {
        let required = self.spec.node_affinity.required.as_ref();
        required.is_none_or(|required| {
            let mut terms = required.node_selector_terms.iter();
            terms.any(|term| term.matches(&node.name, &node.labels))
        })
    }

    /// Reports whether a claim could be bound to the volume, on whichever node.
    pub(super) fn suits(&self, claim: &Claim) -> bool {
        let (own, wanted) = (&self.spec, &claim.spec);
        let mode = |mode: &str| mode == "Block";
        let is_usable = self.size() >= claim.size()
            && mode(&own.volume_mode) == mode(&wanted.volume_mode)
            && own.volume_attributes_class_name == wanted.volume_attributes_class_name
            && !self.metadata.is_deleted();
        if !is_usable || own.claim_ref.is_some() {
            return is_usable && self.is_meant_for(claim);
        }
        let selector = wanted.selector.as_ref();
        let mut modes = wanted.access_modes.iter();
        self.status.phase == "Available"
            && selector.is_none_or(|selector| selector.matches(&self.metadata.labels))
            && self.metadata.class(&own.storage_class_name) == claim.class()
            && modes.all(|mode| own.access_modes.contains(mode))
    }
}

impl Class {
    /// Reports whether claims of the class wait for their first pod.
    pub(super) fn is_delayed(&self) -> bool {
        self.volume_binding_mode == "WaitForFirstConsumer"
    }

    /// Reports whether volumes of the class can be provisioned for a node.
    pub(super) fn provisions_for(&self, node: &NodeInfo) -> bool {
        let provides = !self.provisioner.is_empty() && self.provisioner != NO_PROVISIONER;
        let matches = |label: &TopologyLabel| {
            let value = node.labels.get(&label.key);
            value.is_some_and(|value| label.values.contains(value))
        };
        let allowed = |topology: &Topology| topology.match_label_expressions.iter().all(matches);
        let topologies = &self.allowed_topologies;
        provides && (topologies.is_empty() || topologies.iter().any(allowed))
    }
}
