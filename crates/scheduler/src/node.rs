//! [`NodeInfo`]: a node and the resources that its pods use.

use std::{collections::BTreeMap, sync::Arc};

use serde::Deserialize;

use crate::{
    pod::{HostPort, PodInfo, Taint},
    resources::{Amounts, Resources},
    selector::Labels,
};

/// The label of the zone of a node.
const ZONE: &str = "topology.kubernetes.io/zone";

/// A node as the scheduler sees it: its properties, and the sums over its pods.
#[derive(Clone, Debug, Default)]
pub struct NodeInfo {
    pub(crate) name: String,
    pub(crate) labels: Labels,
    /// The zone among the labels, which scores read for every pod.
    pub(crate) zone: Option<String>,
    pub(crate) taints: Vec<Taint>,
    pub(crate) is_unschedulable: bool,
    pub(crate) allocatable: Resources,
    pub(crate) max_pods: usize,
    /// The sizes of the images on the node.
    pub(crate) images: BTreeMap<String, i64>,
    pub(crate) requested: Resources,
    /// The CPU and memory that pods without requests are assumed to use, in addition to the requests of others.
    pub(crate) assumed: (i64, i64),
    pub(crate) ports: Vec<HostPort>,
    pub(crate) pods: BTreeMap<Arc<str>, Arc<PodInfo>>,
}

/// The decoded fields of a Node.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct RawNode {
    metadata: RawMetadata,
    spec: RawSpec,
    status: RawStatus,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawMetadata {
    name: String,
    labels: Labels,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawSpec {
    taints: Vec<Taint>,
    unschedulable: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawStatus {
    allocatable: Amounts,
    images: Vec<RawImage>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawImage {
    names: Vec<String>,
    size_bytes: i64,
}

impl NodeInfo {
    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns a label.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.get(name).map(String::as_str)
    }

    /// Reports whether the node is cordoned.
    pub fn is_unschedulable(&self) -> bool {
        self.is_unschedulable
    }

    /// Returns the allocatable resources.
    pub fn allocatable(&self) -> &Resources {
        &self.allocatable
    }

    /// Returns the sum of the requests of its pods.
    pub fn requested(&self) -> &Resources {
        &self.requested
    }

    /// Updates the properties of the node. Returns whether that matters for scheduling.
    pub(crate) fn update(&mut self, raw: RawNode) -> bool {
        let images = raw.status.images.into_iter().flat_map(|image| {
            let size = image.size_bytes;
            image.names.into_iter().map(move |name| (name, size))
        });
        let max_pods = raw.status.allocatable.get("pods");
        let max_pods = max_pods.and_then(|count| count.parse().ok()).unwrap_or(0);
        let new = Self {
            name: raw.metadata.name,
            labels: raw.metadata.labels,
            taints: raw.spec.taints,
            is_unschedulable: raw.spec.unschedulable,
            allocatable: Resources::parse(&raw.status.allocatable),
            max_pods,
            images: images.collect(),
            ..Self::default()
        };
        let changed = self.name != new.name
            || self.labels != new.labels
            || self.taints != new.taints
            || self.is_unschedulable != new.is_unschedulable
            || self.allocatable != new.allocatable
            || self.max_pods != new.max_pods;
        self.name = new.name;
        self.zone = new.labels.get(ZONE).cloned();
        self.labels = new.labels;
        self.taints = new.taints;
        self.is_unschedulable = new.is_unschedulable;
        self.allocatable = new.allocatable;
        self.max_pods = new.max_pods;
        self.images = new.images;
        changed
    }

    pub(crate) fn add(&mut self, pod: &Arc<PodInfo>) {
        if self.pods.insert(pod.uid.clone(), pod.clone()).is_some() {
            return;
        }
        let template = &pod.template;
        self.requested.add(&template.requests);
        let (cpu, memory) = template.requests.assumed();
        self.assumed = (self.assumed.0 + cpu, self.assumed.1 + memory);
        self.ports.extend(template.ports.iter().cloned());
    }

    pub(crate) fn remove(&mut self, uid: &str) {
        let Some(pod) = self.pods.remove(uid) else {
            return;
        };
        let template = &pod.template;
        self.requested.subtract(&template.requests);
        let (cpu, memory) = template.requests.assumed();
        self.assumed = (self.assumed.0 - cpu, self.assumed.1 - memory);
        for port in &template.ports {
            if let Some(at) = self.ports.iter().position(|other| other == port) {
                self.ports.swap_remove(at);
            }
        }
    }
}
