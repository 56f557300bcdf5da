//! [`Samples`]: the most recent usage of nodes and pods.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::TypeMeta;
use kubewright::{
    extension_apiserver::{ListQuery, Listing, Storage, Verbs},
    machinery::Status,
};
use parking_lot::RwLock;

use crate::{
    WINDOW,
    kinds::{Amounts, ContainerMetrics, NodeMetrics, PodMetrics},
};

/// An amount of processor time and memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) cpu_millis: i64,
    pub(crate) memory_bytes: i64,
}

impl Usage {
    pub(crate) fn add(&mut self, other: Self) {
        self.cpu_millis = self.cpu_millis.saturating_add(other.cpu_millis);
        self.memory_bytes = self.memory_bytes.saturating_add(other.memory_bytes);
    }

    fn amounts(self) -> Amounts {
        let (cpu, memory) = (self.cpu_millis, self.memory_bytes / 1024);
        let amounts = [
            ("cpu", format!("{cpu}m")),
            ("memory", format!("{memory}Ki")),
        ];
        amounts
            .map(|(name, amount)| (name.to_owned(), amount))
            .into()
    }
}

/// The labels of an object.
pub(crate) type Labels = BTreeMap<String, String>;

/// The usage of a node.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeUsage {
    pub(crate) labels: Labels,
    pub(crate) usage: Usage,
}

/// The usage of the containers of a pod.
#[derive(Clone, Debug, Default)]
pub(crate) struct PodUsage {
    pub(crate) labels: Labels,
    /// By the name of the container.
    pub(crate) containers: Vec<(String, Usage)>,
}

/// The samples. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Samples(Arc<RwLock<Sample>>);

#[derive(Default)]
struct Sample {
    time: Timestamp,
    nodes: BTreeMap<String, NodeUsage>,
    /// By namespace and name.
    pods: BTreeMap<(String, String), PodUsage>,
}

impl Samples {
    /// Replaces all samples.
    pub(crate) fn replace(
        &self,
        nodes: BTreeMap<String, NodeUsage>,
        pods: BTreeMap<(String, String), PodUsage>,
    ) {
        let time = Timestamp::now();
        *self.0.write() = Sample { time, nodes, pods };
    }
}

impl Sample {
    fn timestamp(&self) -> String {
        format!("{:.0}", self.time)
    }

    fn node(&self, name: &str, node: &NodeUsage) -> NodeMetrics {
        NodeMetrics {
            types: TypeMeta::resource::<NodeMetrics>(),
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                labels: Some(node.labels.clone()),
                ..ObjectMeta::default()
            },
            timestamp: self.timestamp(),
            window: format!("{}s", WINDOW.as_secs()),
            usage: node.usage.amounts(),
        }
    }

    fn pod(&self, (namespace, name): &(String, String), pod: &PodUsage) -> PodMetrics {
        let containers = pod.containers.iter().map(|(name, usage)| ContainerMetrics {
            name: name.clone(),
            usage: usage.amounts(),
        });
        PodMetrics {
            types: TypeMeta::resource::<PodMetrics>(),
            metadata: ObjectMeta {
                name: Some(name.clone()),
                namespace: Some(namespace.clone()),
                labels: Some(pod.labels.clone()),
                ..ObjectMeta::default()
            },
            timestamp: self.timestamp(),
            window: format!("{}s", WINDOW.as_secs()),
            containers: containers.collect(),
        }
    }
}

#[async_trait]
impl Storage<NodeMetrics> for Samples {
    fn verbs(&self) -> Verbs {
        Verbs::READ
    }

    async fn get(&self, _: &str, name: &str) -> Result<Option<NodeMetrics>, Status> {
        let sample = self.0.read();
        let found = sample.nodes.get(name);
        Ok(found.map(|node| sample.node(name, node)))
    }

    async fn list(&self, _: &ListQuery) -> Result<Listing<NodeMetrics>, Status> {
        let sample = self.0.read();
        let nodes = sample.nodes.iter();
        let nodes = nodes.map(|(name, node)| sample.node(name, node));
        Ok(Listing::new(nodes.collect()))
    }
}

#[async_trait]
impl Storage<PodMetrics> for Samples {
    fn verbs(&self) -> Verbs {
        Verbs::READ
    }

    async fn get(&self, namespace: &str, name: &str) -> Result<Option<PodMetrics>, Status> {
        let sample = self.0.read();
        let key = (namespace.to_owned(), name.to_owned());
        let found = sample.pods.get(&key);
        Ok(found.map(|pod| sample.pod(&key, pod)))
    }

    async fn list(&self, query: &ListQuery) -> Result<Listing<PodMetrics>, Status> {
        let sample = self.0.read();
        let wanted = query.namespace.as_deref();
        let pods = sample.pods.iter();
        let pods =
            pods.filter(|((namespace, _), _)| wanted.is_none_or(|wanted| wanted == namespace));
        let pods = pods.map(|(key, pod)| sample.pod(key, pod));
        Ok(Listing::new(pods.collect()))
    }
}
