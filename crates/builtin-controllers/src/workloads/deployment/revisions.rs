//! The revisions and annotations of ReplicaSets.

use crate::workloads::objects::{Deployment, ReplicaSet};

/// The revision of a ReplicaSet, and of a Deployment.
pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";

/// The revisions that a ReplicaSet had before.
const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";

/// The size of the Deployment for which a ReplicaSet was scaled.
pub(super) const DESIRED_REPLICAS: &str = "deployment.kubernetes.io/desired-replicas";

/// The maximum number of pods for which a ReplicaSet was scaled.
pub(super) const MAX_REPLICAS: &str = "deployment.kubernetes.io/max-replicas";

/// Asks for a rollback; written by clients of `extensions/v1beta1`.
pub(super) const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";

/// Annotations of a Deployment that its ReplicaSets do not get.
const NOT_COPIED: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    REVISION_HISTORY,
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    ROLLBACK_TO,
];

/// The maximum length of the list of former revisions.
const HISTORY_LENGTH: usize = 2000;

/// Reports whether an annotation belongs to one object alone.
pub(super) fn is_own(annotation: &str) -> bool {
    NOT_COPIED.contains(&annotation)
}

/// Returns the revision of a ReplicaSet: 0 without one, `None` if it is not a number.
pub(super) fn revision_of(set: &ReplicaSet) -> Option<i64> {
    match set.annotation(REVISION) {
        Some(text) => text.parse().ok(),
        None => Some(0),
    }
}

/// Returns the highest revision.
pub(super) fn max_revision<'a>(sets: impl IntoIterator<Item = &'a ReplicaSet>) -> i64 {
    let revisions = sets.into_iter().filter_map(revision_of);
    revisions.max().unwrap_or(0).max(0)
}

/// Returns the revision before the highest; 0 if there is none.
pub(super) fn last_revision<'a>(sets: impl IntoIterator<Item = &'a ReplicaSet>) -> i64 {
    let (mut highest, mut second) = (0, 0);
    for revision in sets.into_iter().filter_map(revision_of) {
        if revision >= highest {
            second = highest;
            highest = revision;
        } else if revision > second {
            second = revision;
        }
    }
    second
}

/// Reads a number that is not negative from an annotation.
pub(super) fn number(set: &ReplicaSet, annotation: &str) -> Option<i32> {
    let text = set.annotation(annotation)?;
    text.parse().ok().filter(|number: &i32| *number >= 0)
}

/// Sets the annotations about the size of the Deployment. Returns whether they changed.
pub(super) fn set_replica_annotations(set: &mut ReplicaSet, desired: i32, most: i32) -> bool {
    let mut changed = set_annotation(set, DESIRED_REPLICAS, desired.to_string());
    changed |= set_annotation(set, MAX_REPLICAS, most.to_string());
    changed
}

fn set_annotation(set: &mut ReplicaSet, name: &str, value: String) -> bool {
    let annotations = set.metadata.annotations.get_or_insert_default();
    annotations.insert(name.to_owned(), value.clone()) != Some(value)
}

/// Copies the annotations of a Deployment to its new ReplicaSet, and gives it a revision if that is higher than its own. The
/// former one goes into the history. Returns whether anything changed.
pub(super) fn annotate(deployment: &Deployment, set: &mut ReplicaSet, revision: i64) -> bool {
    let mut changed = false;
    for (name, value) in deployment.metadata.annotations.iter().flatten() {
        if !is_own(name) {
            changed |= set_annotation(set, name, value.clone());
        }
    }
    let former = set.annotation(REVISION).map(str::to_owned);
    let number = match former.as_deref() {
        None | Some("") => 0,
        Some(text) => match text.parse::<i64>() {
            Ok(number) => number,
            // Someone else writes it.
            Err(_) => return false,
        },
    };
    if number >= revision {
        return changed;
    }
    set_annotation(set, REVISION, revision.to_string());
    if let Some(former) = former {
        let history = set.annotation(REVISION_HISTORY).unwrap_or_default();
        if let Some(history) = extended(history, &former) {
            set_annotation(set, REVISION_HISTORY, history);
        }
    }
    true
}

/// Appends a revision to a history, and drops the oldest if it becomes too long.
fn extended(history: &str, former: &str) -> Option<String> {
    if history.is_empty() || history.starts_with(',') {
        return Some(former.to_owned());
    }
    let mut length = history.len() + former.len() + 1;
    let mut kept = Vec::new();
    for revision in history.split(',') {
        if length > HISTORY_LENGTH {
            length -= revision.len() + 1;
        } else {
            kept.push(revision);
        }
    }
    kept.push(former);
    (length <= HISTORY_LENGTH).then(|| kept.join(","))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(annotations: serde_json::Value) -> ReplicaSet {
        serde_json::from_value(json!({"metadata": {"annotations": annotations}})).unwrap()
    }

    fn deployment(annotations: serde_json::Value) -> Deployment {
        serde_json::from_value(json!({"metadata": {"annotations": annotations}})).unwrap()
    }

    #[test]
    fn a_higher_revision_replaces_the_own_one_which_becomes_history() {
        let mut reused = set(json!({REVISION: "3", REVISION_HISTORY: "1"}));
        assert!(annotate(&deployment(json!({})), &mut reused, 5));
        assert_eq!(reused.annotation(REVISION), Some("5"));
        assert_eq!(reused.annotation(REVISION_HISTORY), Some("1,3"));
        assert!(!annotate(&deployment(json!({})), &mut reused, 5));
    }

    #[test]
    fn annotations_are_copied_but_for_those_of_one_object() {
        let from = deployment(json!({
            "kubernetes.io/change-cause": "because", REVISION: "9", ROLLBACK_TO: "1",
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
        }));
        let mut new = set(json!({}));
        annotate(&from, &mut new, 1);
        let annotations = new.metadata.annotations.unwrap();
        assert_eq!(
            annotations.into_iter().collect::<Vec<_>>(),
            [
                (REVISION.to_owned(), "1".to_owned()),
                (
                    "kubernetes.io/change-cause".to_owned(),
                    "because".to_owned()
                ),
            ]
        );
    }

    #[test]
    fn the_oldest_revisions_are_forgotten() {
        let long = (1000..1400)
            .map(|n| n.to_string())
            .collect::<Vec<_>>()
            .join(",");
        let extended = extended(&long, "1400").unwrap();
        assert_eq!(extended.len(), 1999);
        assert!(extended.starts_with("1001,") && extended.ends_with(",1400"));
    }

    #[test]
    fn the_last_revision_is_the_one_before_the_highest() {
        let sets = ["2", "7", "x", "4"].map(|revision| set(json!({REVISION: revision})));
        assert_eq!((max_revision(&sets), last_revision(&sets)), (7, 4));
        assert_eq!(last_revision(&sets[..1]), 0);
    }
}
