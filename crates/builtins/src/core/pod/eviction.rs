//! `pods/eviction`: what a disruption budget has to say.

use kubewright_machinery::{Status, gvk::GroupResource, status};
use serde_json::{Value, json};

use crate::json::{Read, Write};

const MAX_DISRUPTED: usize = 2000;
const VIOLATED: &str = "Cannot evict pod as it would violate the pod's disruption budget.";

/// Reports whether the pod may be evicted without a budget: it has finished, never started, or is being deleted.
pub fn needs_no_budget(pod: &Value) -> bool {
    let phase = pod["status"]["phase"].text();
    matches!(phase, "Succeeded" | "Failed" | "Pending")
        || pod["metadata"]["deletionTimestamp"].is_set()
}

/// Reports whether an unhealthy pod may be evicted without counting against the budget.
pub fn may_go_unhealthy(pod: &Value, budget: &Value) -> bool {
    let ready = pod["status"]["conditions"]
        .items()
        .iter()
        .any(|c| c["type"] == "Ready" && c["status"] == "True");
    if ready || pod["status"]["phase"] != "Running" {
        return false;
    }
    let status = &budget["status"];
    budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
        || (status["currentHealthy"].int() >= status["desiredHealthy"].int()
            && status["desiredHealthy"].int() > 0)
}

/// Returns the error if more than one budget covers the pod.
pub fn too_many_budgets() -> Status {
    let message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
    // The one failure without a reason.
    status::unknown(message)
}

/// Takes one disruption from a budget.
///
/// # Errors
///
/// Returns a 429 if the budget does not allow a disruption.
pub fn take_disruption(budget: &mut Value, pod_name: &str, now: &str) -> Result<(), Box<Status>> {
    let name = budget["metadata"]["name"].text().to_owned();
    let status = &budget["status"];
    if status["observedGeneration"].int() < budget["metadata"]["generation"].int() {
        let message =
            format!("The disruption budget {name} is still being processed by the server.");
        return Err(Box::new(
            status::too_many_requests(VIOLATED, 10).with_cause("DisruptionBudget", message, ""),
        ));
    }
    let resource = GroupResource::new("policy", "poddisruptionbudget");
    let allowed = status["disruptionsAllowed"].int();
    if allowed < 0 {
        let cause = "pdb disruptions allowed is negative";
        return Err(Box::new(status::forbidden(&resource, &name, cause)));
    }
    if status["disruptedPods"].entries().len() > MAX_DISRUPTED {
        let cause =
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller";
        return Err(Box::new(status::forbidden(&resource, &name, cause)));
    }
    if allowed == 0 {
        let message = refusal(&name, status);
        return Err(Box::new(status::too_many_requests(VIOLATED, 0).with_cause(
            "DisruptionBudget",
            message,
            "",
        )));
    }
    let status = budget.field("status");
    status.put("disruptionsAllowed", allowed - 1);
    status.field("disruptedPods").put(pod_name, now);
    if allowed == 1 {
        exhaust(budget, now);
    }
    Ok(())
}

fn refusal(name: &str, status: &Value) -> String {
    let condition = status["conditions"].items().iter().find(|c| {
        c["type"] == "DisruptionAllowed" && c["status"] == "False" && !c["message"].is_blank()
    });
    let (current, desired) = (
        status["currentHealthy"].int(),
        status["desiredHealthy"].int(),
    );
    match condition {
        Some(c) if c["reason"] == "SyncFailed" => {
            let why = c["message"].text();
            format!(
                "The disruption budget {name} does not allow evicting pods currently because it failed sync: {why}"
            )
        }
        _ if current <= desired => {
            format!(
                "The disruption budget {name} needs {desired} healthy pods and has {current} currently"
            )
        }
        Some(c) => {
            let (reason, why) = (c["reason"].text(), c["message"].text());
            format!(
                "The disruption budget {name} does not allow evicting pods currently ({reason}): {why}"
            )
        }
        None => format!("The disruption budget {name} does not allow evicting pods currently"),
    }
}

/// Sets the condition after the last disruption is taken.
fn exhaust(budget: &mut Value, now: &str) {
    let generation = budget["status"]["observedGeneration"].int();
    let condition = json!({
        "type": "DisruptionAllowed",
        "status": "False",
        "reason": "InsufficientPods",
        "message": "",
        "observedGeneration": generation,
        "lastTransitionTime": now,
    });
    let conditions = budget.field("status").field("conditions");
    let Some(list) = conditions.as_array_mut() else {
        *conditions = json!([condition]);
        return;
    };
    match list.iter_mut().find(|c| c["type"] == "DisruptionAllowed") {
        Some(known) => *known = condition,
        None => list.push(condition),
    }
}

/// Adds the reason of the eviction to the pod's status.
pub fn mark_evicted(pod: &mut Value, now: &str) {
    let mut condition = json!({
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
        "lastProbeTime": null,
        "lastTransitionTime": now,
    });
    let conditions = pod.field("status").field("conditions");
    let Some(list) = conditions.as_array_mut() else {
        *conditions = json!([condition]);
        return;
    };
    match list.iter_mut().find(|c| c["type"] == "DisruptionTarget") {
        Some(known) => {
            if known["status"] == condition["status"] {
                condition.put("lastTransitionTime", known["lastTransitionTime"].clone());
            }
            *known = condition;
        }
        None => list.push(condition),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_evicted_pod_says_why_it_goes() {
        let mut pod = json!({});
        mark_evicted(&mut pod, "now");
        mark_evicted(&mut pod, "later");
        let conditions = pod["status"]["conditions"].items();
        assert_eq!(conditions.len(), 1);
        assert_eq!(conditions[0]["lastTransitionTime"], "now");
    }

    #[test]
    fn a_budget_gives_what_it_has_and_then_refuses() {
        let mut budget = json!({
            "metadata": {"name": "b", "generation": 1},
            "status": {"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1},
        });
        assert!(take_disruption(&mut budget, "p", "now").is_ok());
        assert_eq!(budget["status"]["disruptionsAllowed"], 0);
        assert_eq!(budget["status"]["disruptedPods"]["p"], "now");
        let refused = take_disruption(&mut budget, "q", "now").unwrap_err();
        assert_eq!(refused.code, 429);
    }

    #[test]
    fn a_budget_that_was_not_looked_at_yet_says_try_later() {
        let mut budget = json!({"metadata": {"name": "b", "generation": 2}, "status": {"observedGeneration": 1}});
        let refused = take_disruption(&mut budget, "p", "now").unwrap_err();
        assert_eq!(refused.details.map(|d| d.retry_after_seconds), Some(10));
    }
}
