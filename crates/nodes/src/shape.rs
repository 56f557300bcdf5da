//! [`NodeShape`]: the properties of a simulated node.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{image::full_name, registration::images};

/// The features that nodes declare, because the API server allows some updates only to pods on nodes with these.
const DECLARED_FEATURES: [&str; 3] = [
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "RestartAllContainersOnContainerExits",
];

/// The properties of a simulated node (default: 8 CPUs, 32 GiB of memory and 110 pods).
///
/// ```
/// use kubewright_nodes::NodeShape;
///
/// let big = NodeShape::new("big")
///     .capacity("cpu", "64")
///     .capacity("example.com/gpu", "4")
///     .label("topology.kubernetes.io/zone", "a")
///     .taint("example.com/gpu", "present", "NoSchedule");
/// assert_eq!(big.name(), "big");
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct NodeShape {
    name: String,
    capacity: BTreeMap<String, String>,
    labels: BTreeMap<String, String>,
    taints: Vec<Value>,
    images: BTreeMap<String, u64>,
}

impl NodeShape {
    /// Creates the shape of the node with a name.
    pub fn new(name: impl Into<String>) -> Self {
        let capacity = [
            ("cpu", "8"),
            ("ephemeral-storage", "100Gi"),
            ("hugepages-1Gi", "0"),
            ("hugepages-2Mi", "0"),
            ("memory", "32Gi"),
            ("pods", "110"),
        ];
        let capacity = capacity.map(|(name, amount)| (name.to_owned(), amount.to_owned()));
        Self {
            name: name.into(),
            capacity: capacity.into(),
            labels: BTreeMap::new(),
            taints: Vec::new(),
            images: BTreeMap::new(),
        }
    }

    /// Sets the capacity of a resource.
    pub fn capacity(mut self, resource: impl Into<String>, amount: impl Into<String>) -> Self {
        self.capacity.insert(resource.into(), amount.into());
        self
    }

    /// Sets a label, in addition to those that every kubelet sets.
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(name.into(), value.into());
        self
    }

    /// Adds a taint.
    pub fn taint(mut self, key: &str, value: &str, effect: &str) -> Self {
        self.taints
            .push(json!({"key": key, "value": value, "effect": effect}));
        self
    }

    /// Adds an image that is present on the node from the start, with its size in bytes. The scheduler prefers nodes that
    /// have large images of a pod.
    pub fn image(mut self, name: &str, size: u64) -> Self {
        self.images.insert(full_name(name), size);
        self
    }

    /// Returns the images that are present from the start, with their sizes.
    pub(crate) fn preloaded(&self) -> BTreeMap<String, u64> {
        self.images.clone()
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the resources that the node has for pods.
    pub(crate) fn allocatable(&self) -> &BTreeMap<String, String> {
        &self.capacity
    }

    /// Returns the Node object at registration.
    pub(crate) fn object(&self, ip: &str, range: &str, conditions: &[Value]) -> Value {
        let name = &self.name;
        let mut labels = BTreeMap::from([
            ("beta.kubernetes.io/arch", "amd64"),
            ("beta.kubernetes.io/os", "linux"),
            ("kubernetes.io/arch", "amd64"),
            ("kubernetes.io/hostname", name),
            ("kubernetes.io/os", "linux"),
        ]);
        labels.extend(self.labels.iter().map(|(k, v)| (k.as_str(), v.as_str())));
        let id = crate::image::hex(&[name]);
        let uuid = |at: usize| {
            let d = &id[at..at + 32];
            format!(
                "{}-{}-{}-{}-{}",
                &d[..8],
                &d[8..12],
                &d[12..16],
                &d[16..20],
                &d[20..]
            )
        };
        json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "labels": labels,
                "annotations": {
                    "node.alpha.kubernetes.io/ttl": "0",
                    "volumes.kubernetes.io/controller-managed-attach-detach": "true",
                },
            },
            "spec": {
                "providerID": format!("kubewright://{name}"), "taints": self.taints,
                "podCIDR": range, "podCIDRs": [range],
            },
            "status": {
                "addresses": [
                    {"type": "InternalIP", "address": ip},
                    {"type": "Hostname", "address": name},
                ],
                "capacity": self.capacity,
                "allocatable": self.capacity,
                "conditions": conditions,
                "images": images(&self.preloaded()),
                "declaredFeatures": DECLARED_FEATURES,
                "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
                "nodeInfo": {
                    "architecture": "amd64",
                    "operatingSystem": "linux",
                    "kubeletVersion": kubewright_catalog::RELEASE,
                    "kubeProxyVersion": "",
                    "containerRuntimeVersion": "containerd://2.2.0",
                    "kernelVersion": "6.12.0",
                    "osImage": "Kubewright simulated node",
                    "machineID": &id[..32],
                    "systemUUID": uuid(0),
                    "bootID": uuid(32),
                },
            },
        })
    }
}
