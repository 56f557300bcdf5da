//! Reports about a node: `/healthz`, `/pods`, `/stats/summary`, `/metrics`, `/metrics/resource`.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use jiff::Timestamp;
use kubewright_metrics::{MetricType, TextWriter};
use kubewright_streams::KubeletBody;
use serde_json::{Value, json};

use super::{Refused, text};
use crate::{
    nodes::Shared,
    pod::{plan::Plan, status::seconds},
    usage::Usage,
};

/// The running containers of a pod, with their start and usage.
pub(crate) type Used = Vec<(String, Timestamp, Usage)>;

impl Shared {
    /// Responds to a request for a report.
    pub(super) fn report(
        &self,
        node: &str,
        path: &[&str],
    ) -> Result<Response<KubeletBody>, Refused> {
        match path {
            ["healthz"] => Ok(text(StatusCode::OK, "ok")),
            ["pods" | "pods/"] => {
                let items: Vec<Value> = self
                    .plans(node)
                    .into_iter()
                    .filter_map(|(plan, _)| self.object(&plan))
                    .collect();
                Ok(document(
                    &json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}),
                ))
            }
            ["stats", "summary"] => Ok(document(&self.summary(node))),
            ["metrics"] => Ok(text(StatusCode::OK, self.figures(node))),
            ["metrics", "resource"] => Ok(text(StatusCode::OK, self.resources(node))),
            _ => Err((StatusCode::NOT_FOUND, "404 page not found\n".to_owned())),
        }
    }

    /// Returns the pods of a node, with their running containers.
    pub(crate) fn plans(&self, node: &str) -> Vec<(Plan, Used)> {
        let known: Vec<_> = {
            let pods = self.pods.lock();
            pods.iter()
                .map(|(key, known)| (key.clone(), known.clone()))
                .collect()
        };
        let mut plans = Vec::new();
        for (key, known) in known {
            let running: Vec<Option<Timestamp>> = {
                let state = known.state.lock();
                if *state.node != *node {
                    continue;
                }
                state.containers.iter().map(|c| c.running_since()).collect()
            };
            let Some(plan) = self.plan(&key) else {
                continue;
            };
            let used = plan.containers.iter().zip(running);
            let used = used
                .filter_map(|(container, since)| {
                    let name = container.raw.name.clone();
                    Some((name, since?, Usage::of(&plan, container)))
                })
                .collect();
            plans.push((plan, used));
        }
        plans.sort_by(|(a, _), (b, _)| a.key.as_str().cmp(b.key.as_str()));
        plans
    }

    fn object(&self, plan: &Plan) -> Option<Value> {
        let object = self.run.get()?.cache.indexer().get(plan.key.as_str())?;
        serde_json::from_slice(&object.json()).ok()
    }

    fn summary(&self, node: &str) -> Value {
        let now = seconds((self.clock())());
        let figures = |usage: Usage| {
            let cpu = (usage.cpu * 1e9).round() as u64;
            let memory = usage.memory.round() as u64;
            (
                json!({"time": now, "usageNanoCores": cpu}),
                json!({"time": now, "usageBytes": memory, "workingSetBytes": memory}),
            )
        };
        let plans = self.plans(node);
        let pods: Vec<Value> = plans
            .iter()
            .map(|(plan, used)| {
                let containers = used.iter().map(|(name, since, usage)| {
                    let (cpu, memory) = figures(*usage);
                    json!({"name": name, "startTime": seconds(*since), "cpu": cpu, "memory": memory})
                });
                let containers: Vec<Value> = containers.collect();
                let reference = json!({"name": plan.key.name(), "namespace": plan.namespace(), "uid": plan.uid});
                json!({"podRef": reference, "containers": containers})
            })
            .collect();
        let (cpu, memory) = figures(self.total(&plans));
        json!({"node": {"nodeName": node, "cpu": cpu, "memory": memory}, "pods": pods})
    }

    /// Returns the metrics of the kubelet itself.
    fn figures(&self, node: &str) -> String {
        let plans = self.plans(node);
        let running = plans.iter().filter(|(_, used)| !used.is_empty()).count();
        let containers: usize = plans.iter().map(|(_, used)| used.len()).sum();
        let mut out = TextWriter::default();
        let help = "The node's name. The count is always 1.";
        out.heading("kubelet_node_name", help, MetricType::Gauge);
        out.sample("kubelet_node_name", [("node", node)], 1.0);
        let help = "Number of containers currently running";
        out.heading("kubelet_running_containers", help, MetricType::Gauge);
        let state = [("container_state", "running")];
        out.sample("kubelet_running_containers", state, containers as f64);
        let help = "Number of pods that have a running pod sandbox";
        out.heading("kubelet_running_pods", help, MetricType::Gauge);
        out.sample("kubelet_running_pods", [], running as f64);
        out.finish()
    }

    /// Returns the same figures in Prometheus' text format. The counters of processor time assume constant usage since the start.
    fn resources(&self, node: &str) -> String {
        let now = (self.clock())();
        let millis = now.as_millisecond();
        let plans = self.plans(node);
        let containers = || {
            plans.iter().flat_map(|(plan, used)| {
                used.iter().map(move |(name, since, usage)| {
                    let labels = [
                        ("container", name.as_str()),
                        ("namespace", plan.namespace()),
                        ("pod", plan.key.name()),
                    ];
                    (labels, since, usage)
                })
            })
        };
        let mut out = TextWriter::default();
        let help = "Cumulative cpu time consumed by the container in core-seconds";
        let name = "container_cpu_usage_seconds_total";
        out.heading(name, help, MetricType::Counter);
        for (labels, since, usage) in containers() {
            let ran = now.duration_since(*since).as_secs_f64().max(0.0);
            out.sample_at(name, labels, usage.cpu * ran, millis);
        }
        let help = "Current working set of the container in bytes";
        let name = "container_memory_working_set_bytes";
        out.heading(name, help, MetricType::Gauge);
        for (labels, _, usage) in containers() {
            out.sample_at(name, labels, usage.memory.round(), millis);
        }
        let help = "Current working set of the node in bytes";
        let name = "node_memory_working_set_bytes";
        out.heading(name, help, MetricType::Gauge);
        let total = self.total(&plans).memory.round();
        out.sample_at(name, [], total, millis);
        out.finish()
    }
}

fn document(value: &Value) -> Response<KubeletBody> {
    let mut response = text(StatusCode::OK, Bytes::from(value.to_string()));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}
