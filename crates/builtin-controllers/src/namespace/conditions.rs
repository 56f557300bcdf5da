//! The conditions of a namespace that is being deleted.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::{Namespace, NamespaceCondition},
    apimachinery::pkg::apis::meta::v1::Time,
};
use kubewright_machinery::gvk::GroupVersionResource;

/// The findings of a pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Findings {
    /// The reason why discovery was incomplete.
    pub(super) discovery: Option<String>,
    /// The reason why discovery could not be parsed.
    pub(super) parsing: Option<String>,
    /// The errors of deletions.
    pub(super) content: Vec<String>,
    /// The number of remaining objects by resource.
    pub(super) remaining: BTreeMap<GroupVersionResource, usize>,
    /// The number of remaining objects by finalizer.
    pub(super) finalizers: BTreeMap<String, usize>,
}

/// A condition, with its reason and message when there is no obstacle.
struct Kind {
    type_: &'static str,
    reason: &'static str,
    message: &'static str,
}

const DISCOVERY: Kind = Kind {
    type_: "NamespaceDeletionDiscoveryFailure",
    reason: "ResourcesDiscovered",
    message: "All resources successfully discovered",
};
const PARSING: Kind = Kind {
    type_: "NamespaceDeletionGroupVersionParsingFailure",
    reason: "ParsedGroupVersions",
    message: "All legacy kube types successfully parsed",
};
const CONTENT: Kind = Kind {
    type_: "NamespaceDeletionContentFailure",
    reason: "ContentDeleted",
    message: "All content successfully deleted, may be waiting on finalization",
};
const REMAINING: Kind = Kind {
    type_: "NamespaceContentRemaining",
    reason: "ContentRemoved",
    message: "All content successfully removed",
};
const FINALIZERS: Kind = Kind {
    type_: "NamespaceFinalizersRemaining",
    reason: "ContentHasNoFinalizers",
    message: "All content-preserving finalizers finished",
};

impl Findings {
    /// Sets the conditions, and returns whether anything changed. The transition time of a condition is that of its
    /// last change of status.
    pub(super) fn write_to(&self, namespace: &mut Namespace, now: Timestamp) -> bool {
        let status = namespace.status.get_or_insert_default();
        let conditions = status.conditions.get_or_insert_default();
        let mut changed = false;
        for (kind, trouble) in self.troubles() {
            let (status, reason, message) = match trouble {
                Some((reason, message)) => ("True", reason, message),
                None => ("False", kind.reason, kind.message.to_owned()),
            };
            changed |= set(
                conditions,
                kind.type_,
                status,
                reason,
                message,
                whole_seconds(now),
            );
        }
        changed
    }

    /// Returns the conditions in order, with a reason and a message for each obstacle.
    fn troubles(&self) -> [(Kind, Option<(&'static str, String)>); 5] {
        let content = (!self.content.is_empty()).then(|| {
            let mut messages = self.content.clone();
            messages.sort();
            let message = format!(
                "Failed to delete all resource types, {} remaining: {}",
                messages.len(),
                messages.join(", ")
            );
            ("ContentDeletionFailed", message)
        });
        let remaining = listed(&self.remaining, |resource, count| {
            let (name, group) = (&resource.resource, &resource.group);
            format!("{name}.{group} has {count} resource instances")
        });
        let finalizers = listed(&self.finalizers, |finalizer, count| {
            format!("{finalizer} in {count} resource instances")
        });
        [
            (
                DISCOVERY,
                self.discovery.clone().map(|why| ("DiscoveryFailed", why)),
            ),
            (
                PARSING,
                self.parsing
                    .clone()
                    .map(|why| ("GroupVersionParsingFailed", why)),
            ),
            (CONTENT, content),
            (
                REMAINING,
                remaining.map(|list| {
                    let message = format!("Some resources are remaining: {list}");
                    ("SomeResourcesRemain", message)
                }),
            ),
            (
                FINALIZERS,
                finalizers.map(|list| {
                    let message =
                        format!("Some content in the namespace has finalizers remaining: {list}");
                    ("SomeFinalizersRemain", message)
                }),
            ),
        ]
    }
}

fn listed<K>(counts: &BTreeMap<K, usize>, say: impl Fn(&K, usize) -> String) -> Option<String> {
    let mut said: Vec<String> = counts
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(what, count)| say(what, *count))
        .collect();
    said.sort();
    (!counts.is_empty()).then(|| said.join(", "))
}

fn set(
    conditions: &mut Vec<NamespaceCondition>,
    type_: &str,
    status: &str,
    reason: &str,
    message: String,
    now: Timestamp,
) -> bool {
    let Some(old) = conditions.iter_mut().find(|c| c.type_ == type_) else {
        conditions.push(NamespaceCondition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: Some(reason.to_owned()),
            message: Some(message),
            last_transition_time: Some(Time(now)),
        });
        return true;
    };
    let same_text =
        old.message.as_deref() == Some(&message) && old.reason.as_deref() == Some(reason);
    if old.status == status && same_text {
        return false;
    }
    if old.status != status {
        old.last_transition_time = Some(Time(now));
    }
    old.status = status.to_owned();
    old.reason = Some(reason.to_owned());
    old.message = Some(message);
    true
}

/// Truncates a time to whole seconds, as on the wire.
fn whole_seconds(now: Timestamp) -> Timestamp {
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn condition<'a>(namespace: &'a Namespace, type_: &str) -> &'a NamespaceCondition {
        let conditions = namespace.status.as_ref().unwrap().conditions.as_ref();
        conditions
            .unwrap()
            .iter()
            .find(|c| c.type_ == type_)
            .unwrap()
    }

    #[test]
    fn all_five_are_there_when_all_is_well() {
        let mut namespace = Namespace::default();
        assert!(Findings::default().write_to(&mut namespace, at(1)));
        assert!(!Findings::default().write_to(&mut namespace, at(2)));
        let conditions = namespace.status.unwrap().conditions.unwrap();
        assert_eq!(conditions.len(), 5);
        assert!(conditions.iter().all(|c| c.status == "False"));
    }

    #[test]
    fn what_remains_is_counted_in_order() {
        let mut namespace = Namespace::default();
        let findings = Findings {
            remaining: BTreeMap::from([
                (GroupVersionResource::new("", "v1", "pods"), 2),
                (GroupVersionResource::new("apps", "v1", "deployments"), 1),
            ]),
            finalizers: BTreeMap::from([("b/x".to_owned(), 1), ("a/y".to_owned(), 2)]),
            ..Findings::default()
        };
        findings.write_to(&mut namespace, at(1));
        let remaining = condition(&namespace, "NamespaceContentRemaining");
        assert_eq!(remaining.status, "True");
        assert_eq!(remaining.reason.as_deref(), Some("SomeResourcesRemain"));
        assert_eq!(
            remaining.message.as_deref(),
            Some(
                "Some resources are remaining: deployments.apps has 1 resource instances, pods. has 2 resource instances"
            )
        );
        let finalizers = condition(&namespace, "NamespaceFinalizersRemaining");
        assert_eq!(
            finalizers.message.as_deref(),
            Some(
                "Some content in the namespace has finalizers remaining: a/y in 2 resource instances, b/x in 1 resource instances"
            )
        );
    }

    #[test]
    fn the_time_is_that_of_the_last_change_of_status() {
        let mut namespace = Namespace::default();
        let failed = |why: &str| Findings {
            content: vec!["b".into(), why.into()],
            ..Findings::default()
        };
        failed("a").write_to(&mut namespace, at(1));
        assert!(failed("c").write_to(&mut namespace, at(2)));
        let content = condition(&namespace, "NamespaceDeletionContentFailure");
        assert_eq!(content.last_transition_time, Some(Time(at(1))));
        assert_eq!(
            content.message.as_deref(),
            Some("Failed to delete all resource types, 2 remaining: b, c")
        );
        Findings::default().write_to(&mut namespace, at(3));
        let content = condition(&namespace, "NamespaceDeletionContentFailure");
        assert_eq!(content.last_transition_time, Some(Time(at(3))));
        assert_eq!(content.reason.as_deref(), Some("ContentDeleted"));
    }
}
