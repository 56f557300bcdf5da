//! Resource usage of simulated containers.

use kubewright_machinery::quantity::Quantity;
use serde_json::Value;

use crate::pod::plan::{ContainerPlan, Plan};

/// The prefix of the annotations that set the usage of a pod's containers.
const ANNOTATION: &str = "usage.kubewright.dev/";

/// The processor usage of a container without a request, in cores.
const LEAST_CPU: f64 = 0.001;

/// The memory usage of a container without a request, in bytes.
const LEAST_MEMORY: f64 = (8 << 20) as f64;

/// The usage of a container as a share of its request.
const SHARE: f64 = 0.1;

/// The resource usage of a container or node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Usage {
    /// In cores.
    pub(crate) cpu: f64,
    /// In bytes.
    pub(crate) memory: f64,
}

impl Usage {
    /// Returns the usage of a container: that of its pod's annotations, or a tenth of its requests.
    pub(crate) fn of(plan: &Plan, container: &ContainerPlan) -> Self {
        let used = |resource: &str, least: f64| {
            let said = plan.annotations.get(&format!("{ANNOTATION}{resource}"));
            let requested = &container.raw.resources["requests"][resource];
            let requested = requested
                .as_str()
                .and_then(amount)
                .map(|amount| amount * SHARE);
            said.and_then(|text| amount(text))
                .or(requested)
                .unwrap_or(least)
        };
        Self {
            cpu: used("cpu", LEAST_CPU),
            memory: used("memory", LEAST_MEMORY),
        }
    }

    /// Returns the usage of a node without its pods.
    pub(crate) fn of_node() -> Self {
        Self {
            cpu: 0.1,
            memory: (500 << 20) as f64,
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.cpu += other.cpu;
        self.memory += other.memory;
    }

    /// Returns the amounts as Kubernetes quantities.
    pub(crate) fn quantities(self) -> Value {
        serde_json::json!({
            "cpu": format!("{}n", (self.cpu * 1e9).round()),
            "memory": format!("{}Ki", (self.memory / 1024.0).round()),
        })
    }
}

/// Returns a quantity such as `100m`, `1.5` or `64Mi` as a number.
fn amount(text: &str) -> Option<f64> {
    Quantity::parse(text).ok().map(|quantity| quantity.as_f64())
}
