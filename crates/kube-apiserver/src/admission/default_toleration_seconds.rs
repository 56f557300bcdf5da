//! `DefaultTolerationSeconds`: adds five-minute tolerations for nodes that are not ready or unreachable.

use kubewright_apiserver::{
    admission::{Attributes, Operation, Plugin},
    boxed_async,
    request::RequestContext,
};
use kubewright_machinery::{Status, json::Read};
use serde_json::{Value, json};

use super::{fields::push, forbidden::is_for};

const TAINTS: [&str; 2] = [
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
];
const SECONDS: i64 = 300;

/// The `DefaultTolerationSeconds` plugin.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DefaultTolerationSeconds;

#[boxed_async]
impl Plugin for DefaultTolerationSeconds {
    fn reads_updated(&self, cx: &RequestContext) -> bool {
        is_for(cx, "", "pods")
    }

    async fn mutate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&mut Value>,
    ) -> Result<(), Status> {
        let Some(object) = object else { return Ok(()) };
        let writes = matches!(attributes.operation, Operation::Create | Operation::Update);
        if writes && is_for(cx, "", "pods") {
            tolerate(object);
        }
        Ok(())
    }
}

fn tolerate(pod: &mut Value) {
    let missing = TAINTS.map(|taint| !tolerates(pod, taint));
    for (taint, _) in TAINTS.iter().zip(missing).filter(|(_, missing)| *missing) {
        let toleration = json!({
            "key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": SECONDS,
        });
        push(pod, &["spec", "tolerations"], toleration);
    }
}

fn tolerates(pod: &Value, taint: &str) -> bool {
    pod["spec"]["tolerations"].items().iter().any(|toleration| {
        let key = toleration["key"].text();
        (key.is_empty() || key == taint) && matches!(toleration["effect"].text(), "" | "NoExecute")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_tolerations_are_added_after_those_of_the_pod() {
        let own = json!({"key": "a", "operator": "Exists"});
        let mut pod = json!({"spec": {"tolerations": [own]}});
        tolerate(&mut pod);
        let keys: Vec<&str> = pod["spec"]["tolerations"]
            .items()
            .iter()
            .map(|t| t["key"].text())
            .collect();
        assert_eq!(keys, ["a", TAINTS[0], TAINTS[1]]);
        assert_eq!(pod["spec"]["tolerations"][2]["tolerationSeconds"], SECONDS);
    }

    #[test]
    fn a_pod_that_tolerates_everything_is_left_alone() {
        let mut pod = json!({"spec": {"tolerations": [{"operator": "Exists"}]}});
        tolerate(&mut pod);
        assert_eq!(pod["spec"]["tolerations"].items().len(), 1);
    }

    #[test]
    fn a_toleration_of_another_effect_does_not_count() {
        let mut pod = json!({"spec": {"tolerations": [
            {"key": TAINTS[0], "operator": "Exists", "effect": "NoSchedule"},
            {"key": TAINTS[1], "operator": "Exists", "effect": "NoExecute"},
        ]}});
        tolerate(&mut pod);
        assert_eq!(pod["spec"]["tolerations"].items().len(), 3);
        assert_eq!(pod["spec"]["tolerations"][2]["key"], TAINTS[0]);
    }
}
