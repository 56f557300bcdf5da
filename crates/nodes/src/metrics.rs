//! The metrics of `metrics.k8s.io`: the resource usage of nodes and containers.

use serde_json::{Value, json};

use crate::{
    nodes::{Nodes, Shared},
    pod::{plan::Plan, status::seconds},
    server::Used,
    usage::Usage,
};

/// The window that the metrics report.
const WINDOW: &str = "15s";

impl Nodes {
    /// Returns the `NodeMetrics` of the nodes that are alive, sorted by name.
    ///
    /// ```
    /// use kubewright_nodes::Nodes;
    ///
    /// // Nodes that have not started report no usage.
    /// assert!(Nodes::new(1).node_metrics().is_empty());
    /// ```
    pub fn node_metrics(&self) -> Vec<Value> {
        let alive: Vec<String> = {
            let nodes = self.0.nodes.lock();
            let alive = nodes
                .iter()
                .filter(|(_, node)| node.is_alive && node.is_registered);
            alive.map(|(name, _)| name.clone()).collect()
        };
        let now = seconds((self.0.clock())());
        let used = alive.iter().map(|name| {
            let usage = self.0.total(&self.0.plans(name)).quantities();
            let metadata = json!({"name": name, "creationTimestamp": now});
            json!({
                "kind": "NodeMetrics", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": metadata,
                "timestamp": now, "window": WINDOW, "usage": usage,
            })
        });
        used.collect()
    }

    /// Returns the `PodMetrics` of the pods with running containers, sorted by namespace and name.
    pub fn pod_metrics(&self) -> Vec<Value> {
        let names: Vec<String> = self.0.nodes.lock().keys().cloned().collect();
        let mut plans: Vec<(Plan, Used)> = Vec::new();
        for name in names {
            plans.extend(self.0.plans(&name));
        }
        plans.sort_by(|(a, _), (b, _)| a.key.as_str().cmp(b.key.as_str()));
        let now = seconds((self.0.clock())());
        let used = plans.iter().filter(|(_, used)| !used.is_empty()).map(|(plan, used)| {
            let containers = used.iter().map(|(name, _, usage)| json!({"name": name, "usage": usage.quantities()}));
            let containers: Vec<Value> = containers.collect();
            json!({
                "kind": "PodMetrics", "apiVersion": "metrics.k8s.io/v1beta1",
                "metadata": {
                    "name": plan.key.name(), "namespace": plan.namespace(), "labels": plan.labels, "creationTimestamp": now,
                },
                "timestamp": now, "window": WINDOW, "containers": containers,
            })
        });
        used.collect()
    }
}

impl Shared {
    /// Returns the usage of a node, including its pods.
    pub(crate) fn total(&self, plans: &[(Plan, Used)]) -> Usage {
        let mut total = Usage::of_node();
        let all = plans.iter().flat_map(|(_, used)| used);
        all.for_each(|(_, _, usage)| total.add(*usage));
        total
    }
}
