//! The files of `/sys/fs/cgroup` and `/proc` that show the resources of a container.

use kubewright_machinery::quantity::Quantity;
use serde_json::Value;

use crate::pod::plan::Plan;

/// The period of the processor's quota, in microseconds.
const PERIOD: i64 = 100_000;

/// The smallest share of a processor.
const LEAST_SHARES: i64 = 2;

/// Returns the files of a container with these resources on a node with this memory: paths and texts.
pub(super) fn files(
    plan: &Plan,
    resources: &Value,
    node_memory: i64,
) -> [(&'static str, String); 4] {
    let amount = |kind: &str, name: &str| {
        let text = resources[kind][name].as_str();
        text.and_then(|text| Quantity::parse(text).ok())
            .filter(|amount| !amount.is_zero())
    };
    let limit = amount("limits", "cpu");
    let request = amount("requests", "cpu").or_else(|| limit.clone());
    let quota = match &limit {
        // A quota is at least a millisecond.
        Some(limit) => (limit.milli_value() * PERIOD / 1000).max(1000).to_string(),
        None => "max".to_owned(),
    };
    let shares = request.map_or(0, |request| request.milli_value() * 1024 / 1000);
    let shares = shares.max(LEAST_SHARES);
    let weight = 1 + (shares - LEAST_SHARES) * 9999 / 262_142;
    let memory = match amount("limits", "memory") {
        Some(limit) => limit.value().to_string(),
        None => "max".to_owned(),
    };
    let score = match plan.status.qos_class.as_str() {
        "Guaranteed" => -997,
        "BestEffort" => 1000,
        _ => {
            let requested = amount("requests", "memory").map_or(0, |request| request.value());
            let share = 1000 * requested / node_memory.max(1);
            (1000 - share).clamp(3, 999)
        }
    };
    [
        ("/sys/fs/cgroup/cpu.max", format!("{quota} {PERIOD}\n")),
        ("/sys/fs/cgroup/cpu.weight", format!("{weight}\n")),
        ("/sys/fs/cgroup/memory.max", format!("{memory}\n")),
        ("/proc/1/oom_score_adj", format!("{score}\n")),
    ]
}
