//! The policies of a Job: which failures of pods count, and which successes suffice.

use super::indexes::Indexes;
use crate::workloads::objects::{
    Condition, ContainerStatus, FailureRule, Job, OnExitCodes, Pod, PodFailurePolicy, SuccessPolicy,
};

/// The treatment of a failed pod.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It counts.
    Count,
    /// It does not count.
    Ignore,
    /// Its index has failed.
    FailIndex,
    /// The Job has failed, with that message.
    FailJob(String),
}

impl Verdict {
    /// Reports whether the failure counts towards the limits.
    pub(super) fn counts(&self) -> bool {
        *self != Self::Ignore
    }
}

/// Reports whether a pod has failed. One that is being deleted has, unless pods are replaced only once they have ended.
pub(super) fn is_failed(job: &Job, pod: &Pod) -> bool {
    match pod.status.phase.as_str() {
        "Failed" => true,
        "Succeeded" => false,
        _ => !job.only_replaces_failed() && pod.metadata.deletion_timestamp.is_some(),
    }
}

/// Returns the treatment of a failed pod: that of the first rule that matches.
pub(super) fn verdict(job: &Job, pod: &Pod) -> Verdict {
    match &job.spec.pod_failure_policy {
        Some(policy) => evaluate(policy, pod),
        None => Verdict::Count,
    }
}

fn evaluate(policy: &PodFailurePolicy, pod: &Pod) -> Verdict {
    for (index, rule) in policy.rules.iter().enumerate() {
        let Some(cause) = cause_of(rule, pod) else {
            continue;
        };
        match rule.action.as_str() {
            "Ignore" => return Verdict::Ignore,
            "FailIndex" => return Verdict::FailIndex,
            "Count" => return Verdict::Count,
            "FailJob" => {
                let message = format!("{cause} matching FailJob rule at index {index}");
                return Verdict::FailJob(message);
            }
            _ => {}
        }
    }
    Verdict::Count
}

/// Returns the reason for which a rule matches.
fn cause_of(rule: &FailureRule, pod: &Pod) -> Option<String> {
    let name = || {
        let meta = &pod.metadata;
        let (namespace, name) = (meta.namespace.as_deref(), meta.name.as_deref());
        format!(
            "{}/{}",
            namespace.unwrap_or_default(),
            name.unwrap_or_default()
        )
    };
    if let Some(codes) = &rule.on_exit_codes {
        let statuses = &pod.status;
        let mut containers = statuses
            .container_statuses
            .iter()
            .chain(&statuses.init_container_statuses);
        let (container, code) = containers.find_map(|status| matching_code(codes, status))?;
        let cause = format!(
            "Container {container} for pod {} failed with exit code {code}",
            name()
        );
        return Some(cause);
    }
    let is_meant = |condition: &&Condition| {
        let mut patterns = rule.on_pod_conditions.iter();
        patterns
            .any(|pattern| condition.r#type == pattern.r#type && condition.status == pattern.status)
    };
    let condition = pod.status.conditions.iter().find(is_meant)?;
    Some(format!("Pod {} has condition {}", name(), condition.r#type))
}

fn matching_code<'a>(codes: &OnExitCodes, status: &'a ContainerStatus) -> Option<(&'a str, i32)> {
    let code = status.state.terminated.as_ref()?.exit_code;
    let is_meant = match &codes.container_name {
        Some(name) => *name == status.name,
        None => true,
    };
    let is_listed = codes.values.contains(&code);
    let matches = match codes.operator.as_str() {
        "In" => is_listed,
        "NotIn" => !is_listed,
        _ => false,
    };
    (is_meant && code != 0 && matches).then_some((status.name.as_str(), code))
}

/// Returns the message of the first rule that is fulfilled by the succeeded indexes.
pub(super) fn success(
    policy: Option<&SuccessPolicy>,
    succeeded: &Indexes,
    completions: usize,
) -> Option<String> {
    if succeeded.is_empty() {
        return None;
    }
    let enough = |count: usize, wanted: Option<i32>| {
        let wanted = wanted.and_then(|wanted| usize::try_from(wanted).ok());
        wanted.is_some_and(|wanted| count >= wanted)
    };
    let rules = policy?.rules.iter();
    let index = rules
        .clone()
        .position(|rule| match &rule.succeeded_indexes {
            Some(text) => {
                let wanted = Indexes::parse(text, completions);
                let count = wanted.overlap(succeeded);
                !wanted.is_empty() && (count == wanted.len() || enough(count, rule.succeeded_count))
            }
            None => enough(succeeded.len(), rule.succeeded_count),
        })?;
    Some(format!("Matched rules at index {index}"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(status: Value) -> Pod {
        let pod = json!({"metadata": {"namespace": "default", "name": "p"}, "status": status});
        serde_json::from_value(pod).unwrap()
    }

    fn ended(containers: &[(&str, i32)], init: &[(&str, i32)]) -> Pod {
        let statuses = |list: &[(&str, i32)]| -> Vec<Value> {
            let status = |(name, code): &(&str, i32)| json!({"name": name, "state": {"terminated": {"exitCode": code}}});
            list.iter().map(status).collect()
        };
        pod(json!({
            "phase": "Failed", "containerStatuses": statuses(containers),
            "initContainerStatuses": statuses(init),
        }))
    }

    fn verdict_of(rules: Value, pod: &Pod) -> Verdict {
        let policy: PodFailurePolicy = serde_json::from_value(json!({"rules": rules})).unwrap();
        evaluate(&policy, pod)
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        let rules = json!([
            {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
            {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [7]}},
            {"action": "FailJob", "onExitCodes": {"containerName": "a", "operator": "NotIn", "values": [1]}},
        ]);
        let disrupted = pod(json!({
            "phase": "Failed", "conditions": [{"type": "DisruptionTarget", "status": "True"}],
        }));
        assert_eq!(verdict_of(rules.clone(), &disrupted), Verdict::Ignore);
        assert_eq!(
            verdict_of(rules.clone(), &ended(&[("a", 0), ("b", 7)], &[])),
            Verdict::FailIndex
        );
        assert_eq!(
            verdict_of(rules.clone(), &ended(&[("a", 1)], &[])),
            Verdict::Count
        );
        // Success never matches.
        assert_eq!(
            verdict_of(rules.clone(), &ended(&[("a", 0)], &[])),
            Verdict::Count
        );
        let message = "Container a for pod default/p failed with exit code 2 matching FailJob rule at index 2";
        assert_eq!(
            verdict_of(rules, &ended(&[("b", 1)], &[("a", 2)])),
            Verdict::FailJob(message.into())
        );
    }

    #[test]
    fn a_condition_fails_the_job_with_its_type() {
        let rules = json!([
            {"action": "FailJob", "onPodConditions": [{"type": "ConfigIssue", "status": "True"}]},
        ]);
        let failed = pod(json!({
            "phase": "Failed", "conditions": [{"type": "ConfigIssue", "status": "True"}],
        }));
        let message = "Pod default/p has condition ConfigIssue matching FailJob rule at index 0";
        assert_eq!(verdict_of(rules, &failed), Verdict::FailJob(message.into()));
    }

    #[test]
    fn some_indexes_or_a_number_of_them_suffice() {
        let met = |rules: Value, succeeded: &[usize]| {
            let policy: SuccessPolicy = serde_json::from_value(json!({"rules": rules})).unwrap();
            let succeeded = Indexes::default().with(succeeded.iter().copied());
            success(Some(&policy), &succeeded, 10)
        };
        let leader = json!([{"succeededIndexes": "0"}]);
        assert_eq!(met(leader.clone(), &[]), None);
        assert_eq!(met(leader.clone(), &[1]), None);
        assert_eq!(met(leader, &[0, 4]).unwrap(), "Matched rules at index 0");
        let some = json!([
            {"succeededIndexes": "0-2"}, {"succeededIndexes": "5-9", "succeededCount": 2}, {"succeededCount": 4},
        ]);
        assert_eq!(met(some.clone(), &[0, 1, 5]), None);
        assert_eq!(
            met(some.clone(), &[5, 9]).unwrap(),
            "Matched rules at index 1"
        );
        assert_eq!(
            met(some, &[0, 1, 3, 4]).unwrap(),
            "Matched rules at index 2"
        );
    }
}
