//! Pods of indexed Jobs: their indexes, and the failures that they inherit from the pod that they replace.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::{Value, json};

use super::{
    backoff::finished_at,
    pass::Pass,
    policy::{Verdict, is_failed, verdict},
};
use crate::workloads::{
    objects::{Job, Pod, Template},
    pods::by_use,
};

/// The annotation and label with the index of a pod.
const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// The annotation with the number of failures of an index before a pod.
const FAILURES: &str = "batch.kubernetes.io/job-index-failure-count";

/// The annotation with the number of failures that do not count.
const IGNORED_FAILURES: &str = "batch.kubernetes.io/job-index-ignored-failure-count";

/// The variable with the index of a container's pod.
const VARIABLE: &str = "JOB_COMPLETION_INDEX";

/// The maximum length of a prefix of generated names.
const PREFIX: usize = 58;

/// Returns the index of a pod.
pub(super) fn index_of(pod: &Pod) -> Option<usize> {
    number(pod, INDEX)
}

/// Returns the indexes of pods.
pub(super) fn indexes_of<'a>(pods: impl IntoIterator<Item = &'a Arc<Pod>>) -> BTreeSet<usize> {
    let indexes = pods.into_iter().filter_map(|pod| index_of(pod));
    indexes.collect()
}

/// Returns the number of failures of an index up to and including a pod that failed, ignored ones included.
pub(super) fn failures_with(pod: &Pod) -> u32 {
    let before = failures(pod, FAILURES) + failures(pod, IGNORED_FAILURES);
    before.saturating_add(1)
}

/// Reports whether the failure of a pod is the last that its index may have.
pub(super) fn is_index_failed(job: &Job, pod: &Pod) -> bool {
    let Some(limit) = job.spec.backoff_limit_per_index else {
        return false;
    };
    if !is_failed(job, pod) {
        return false;
    }
    match verdict(job, pod) {
        Verdict::FailIndex => true,
        verdict => verdict.counts() && i64::from(failures(pod, FAILURES)) >= i64::from(limit),
    }
}

/// Returns, by index, the failed pods that stay until their successors exist, since these inherit their numbers of failures.
pub(super) fn delayed(pass: &Pass<'_>) -> BTreeMap<usize, Arc<Pod>> {
    let active = indexes_of(&pass.active);
    let mut delayed: BTreeMap<usize, Arc<Pod>> = BTreeMap::new();
    for pod in pass.countable().filter(|pod| is_failed(pass.job, pod)) {
        let Some(index) = index_of(pod) else {
            continue;
        };
        let has_failed = pass.failed_indexes.as_ref();
        if pass.succeeded_indexes.has(index)
            || has_failed.is_some_and(|failed| failed.has(index))
            || active.contains(&index)
        {
            continue;
        }
        let is_newer = delayed.get(&index).is_none_or(|last| {
            failures_with(last) <= failures_with(pod) && finished_at(pod) >= finished_at(last)
        });
        if is_newer {
            delayed.insert(index, pod.clone());
        }
    }
    delayed
}

/// Splits active pods into those that are surplus for an index, or have none or one that is too high, and the rest.
pub(super) fn duplicates(pods: &[Arc<Pod>], completions: usize) -> (Vec<Arc<Pod>>, Vec<Arc<Pod>>) {
    let (mut surplus, mut left) = (Vec::new(), Vec::new());
    let mut by_index: BTreeMap<usize, Vec<Arc<Pod>>> = BTreeMap::new();
    for pod in pods {
        match index_of(pod).filter(|index| *index < completions) {
            Some(index) => by_index.entry(index).or_default().push(pod.clone()),
            None => surplus.push(pod.clone()),
        }
    }
    for mut pods in by_index.into_values() {
        pods.sort_by(|a, b| by_use(a, b));
        left.extend(pods.pop());
        surplus.extend(pods);
    }
    (surplus, left)
}

/// Gives all containers of a template the variable with the index of their pod.
pub(super) fn with_variable(template: &Template) -> Template {
    let mut template = template.0.clone();
    let path = format!("metadata.labels['{INDEX}']");
    let variable = json!({"name": VARIABLE, "valueFrom": {"fieldRef": {"fieldPath": path}}});
    for list in ["/spec/initContainers", "/spec/containers"] {
        let containers = template.pointer_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let variables = container["env"].as_array().cloned();
            let mut variables = variables.unwrap_or_default();
            if !variables.iter().any(|known| known["name"] == VARIABLE) {
                variables.push(variable.clone());
                container["env"] = json!(variables);
            }
        }
    }
    Template(template)
}

/// Gives a pod, as JSON, its index.
pub(super) fn set_index(job: &str, index: usize, pod: &mut Value) {
    let end = format!("-{index}-");
    let room = PREFIX.saturating_sub(end.len());
    let start = match job.len() + end.len() > PREFIX {
        true => job.get(..room).unwrap_or(job),
        false => job,
    };
    let text = json!(index.to_string());
    pod["metadata"]["generateName"] = json!(format!("{start}{end}"));
    pod["metadata"]["annotations"][INDEX] = text.clone();
    pod["metadata"]["labels"][INDEX] = text;
    pod["spec"]["hostname"] = json!(format!("{job}-{index}"));
}

/// Gives a pod, as JSON, the failures of the pod that it replaces.
pub(super) fn set_failures(job: &Job, replaced: Option<&Pod>, pod: &mut Value) {
    let (mut counted, mut ignored) = (0, 0);
    if let Some(replaced) = replaced {
        counted = failures(replaced, FAILURES);
        ignored = failures(replaced, IGNORED_FAILURES);
        match verdict(job, replaced).counts() {
            true => counted = counted.saturating_add(1),
            false => ignored = ignored.saturating_add(1),
        }
    }
    let annotations = &mut pod["metadata"]["annotations"];
    annotations[FAILURES] = json!(counted.to_string());
    if ignored > 0 {
        annotations[IGNORED_FAILURES] = json!(ignored.to_string());
    }
}

/// Returns a number of failures; zero if it is missing or damaged.
fn failures(pod: &Pod, annotation: &str) -> u32 {
    let number = number(pod, annotation).unwrap_or(0);
    let number = i32::try_from(number).unwrap_or(0);
    u32::try_from(number).unwrap_or(0)
}

fn number(pod: &Pod, annotation: &str) -> Option<usize> {
    pod.annotation(annotation)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_cut_before_the_index() {
        let mut pod = json!({});
        set_index(&"x".repeat(63), 12, &mut pod);
        let prefix = format!("{}-12-", "x".repeat(54));
        assert_eq!(pod["metadata"]["generateName"], prefix);
        set_index("work", 3, &mut pod);
        assert_eq!(pod["metadata"]["generateName"], "work-3-");
        assert_eq!(pod["spec"]["hostname"], "work-3");
    }

    #[test]
    fn a_variable_of_the_same_name_is_kept() {
        let own = json!({"name": VARIABLE, "value": "x"});
        let template = Template(json!({"spec": {
            "containers": [{"name": "a", "env": [own]}, {"name": "b"}],
        }}));
        let Template(template) = with_variable(&template);
        assert_eq!(template["spec"]["containers"][0]["env"], json!([own]));
        assert_eq!(
            template["spec"]["containers"][1]["env"][0]["name"],
            VARIABLE
        );
    }

    #[test]
    fn one_pod_is_left_for_an_index() {
        let pod = |name: &str, index: &str, node: &str| -> Arc<Pod> {
            let pod = json!({
                "metadata": {"name": name, "annotations": {INDEX: index}}, "spec": {"nodeName": node},
            });
            Arc::new(serde_json::from_value(pod).unwrap())
        };
        let pods = [
            pod("a", "0", "n"),
            pod("b", "0", ""),
            pod("c", "5", "n"),
            pod("d", "1", "n"),
            pod("e", "-1", "n"),
        ];
        let (surplus, left) = duplicates(&pods, 5);
        let names = |pods: &[Arc<Pod>]| -> Vec<String> {
            let names = pods.iter().filter_map(|pod| pod.metadata.name.clone());
            names.collect()
        };
        assert_eq!(names(&surplus), ["c", "e", "b"]);
        assert_eq!(names(&left), ["a", "d"]);
    }
}
