//! The filter by requested resources.

use super::{Reason, Rejection};
use crate::{node::NodeInfo, pod::Template};

pub(super) fn fits(pod: &Template, node: &NodeInfo) -> Result<(), Rejection> {
    let mut reasons: Vec<Reason> = Vec::new();
    let mut is_resolvable = true;
    if node.pods.len() + 1 > node.max_pods {
        reasons.push("Too many pods".into());
    }
    let mut check = |name: &str, request: i64, allocatable: i64, requested: i64| {
        if request > 0 && request > allocatable.saturating_sub(requested) {
            reasons.push(format!("Insufficient {name}").into());
            // The request exceeds the capacity of the node, so that removing pods cannot help.
            is_resolvable &= request <= allocatable;
        }
    };
    let (want, have, used) = (&pod.requests, &node.allocatable, &node.requested);
    check("cpu", want.milli_cpu, have.milli_cpu, used.milli_cpu);
    check("memory", want.memory, have.memory, used.memory);
    check(
        "ephemeral-storage",
        want.ephemeral_storage,
        have.ephemeral_storage,
        used.ephemeral_storage,
    );
    for (name, amount) in &want.others {
        check(name, *amount, have.get(name), used.get(name));
    }
    if reasons.is_empty() {
        return Ok(());
    }
    Err(Rejection {
        reasons,
        is_resolvable,
    })
}
