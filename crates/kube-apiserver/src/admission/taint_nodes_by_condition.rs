//! `TaintNodesByCondition`: taints a new node as not ready.

use kubewright_apiserver::{
    admission::{Attributes, Operation, Plugin},
    boxed_async,
    request::RequestContext,
};
use kubewright_machinery::{Status, json::Read};
use serde_json::{Value, json};

use super::{fields::push, forbidden::is_for};

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const NO_SCHEDULE: &str = "NoSchedule";

/// The `TaintNodesByCondition` plugin.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TaintNodesByCondition;

#[boxed_async]
impl Plugin for TaintNodesByCondition {
    fn reads_updated(&self, _cx: &RequestContext) -> bool {
        false
    }

    async fn mutate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&mut Value>,
    ) -> Result<(), Status> {
        let Some(object) = object else { return Ok(()) };
        if attributes.operation == Operation::Create && is_for(cx, "", "nodes") {
            taint(object);
        }
        Ok(())
    }
}

fn taint(node: &mut Value) {
    let there = node["spec"]["taints"]
        .items()
        .iter()
        .any(|taint| taint["key"] == NOT_READY && taint["effect"] == NO_SCHEDULE);
    if !there {
        push(
            node,
            &["spec", "taints"],
            json!({"key": NOT_READY, "effect": NO_SCHEDULE}),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_tainted_once() {
        let mut node = json!({"metadata": {"name": "n"}});
        taint(&mut node);
        taint(&mut node);
        assert_eq!(
            node["spec"]["taints"],
            json!([{"key": NOT_READY, "effect": NO_SCHEDULE}])
        );
    }

    #[test]
    fn the_taint_with_another_effect_is_another_taint() {
        let mut node = json!({"spec": {"taints": [{"key": NOT_READY, "effect": "NoExecute"}]}});
        taint(&mut node);
        assert_eq!(node["spec"]["taints"].items().len(), 2);
    }
}
