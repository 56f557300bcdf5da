//! What objects use of which resources: pods, services and claims in ways of their own, everything else by number.

use jiff::Timestamp;
use kubewright_apiserver::admission::Operation;
use kubewright_machinery::quantity::{Format, Quantity};
use serde_json::Value;

use super::{check::Change, claims, pods, resource_claims, scopes::Selector, services};
use crate::admission::resource_list::ResourceList;

/// Knows what the objects of a resource use.
pub(super) enum Evaluator {
    /// By requests and limits, and by number.
    Pods,
    /// By node ports and load balancers, and by number.
    Services,
    /// By storage, for each storage class, and by number.
    VolumeClaims,
    /// By devices, for each device class, and by number.
    ResourceClaims,
    /// By number, under one name or two.
    Objects(String, Option<&'static str>),
}

impl Evaluator {
    /// For the objects of a resource.
    pub(super) fn of(group: &str, resource: &str) -> Self {
        match (group, resource) {
            ("", "pods") => Self::Pods,
            ("", "services") => Self::Services,
            ("", "persistentvolumeclaims") => Self::VolumeClaims,
            ("resource.k8s.io", "resourceclaims") => Self::ResourceClaims,
            ("", resource) => {
                // Some were counted under their own name before there was a rule for names.
                let plain = [
                    "configmaps",
                    "resourcequotas",
                    "replicationcontrollers",
                    "secrets",
                ];
                let alias = plain.into_iter().find(|name| *name == resource);
                Self::Objects(format!("count/{resource}"), alias)
            }
            (group, resource) => Self::Objects(format!("count/{resource}.{group}"), None),
        }
    }

    /// The change may use more than was used before.
    pub(super) fn handles(&self, change: &Change<'_>) -> bool {
        let create = change.operation == Operation::Create;
        match (self, change.subresource) {
            (Self::Pods, "") => {
                let rescoped =
                    |old: &Value| pods::is_terminating(old) != pods::is_terminating(change.object);
                create || change.old.is_some_and(rescoped)
            }
            (Self::Pods, "resize") => !create,
            (Self::Services | Self::ResourceClaims, "") => true,
            (Self::VolumeClaims, "" | "status") => true,
            (Self::Objects(..), "") => create,
            _ => false,
        }
    }

    /// The objects use this resource, or could.
    pub(super) fn measures(&self, name: &str) -> bool {
        match self {
            Self::Pods => pods::measures(name),
            Self::Services => services::MEASURED.contains(&name),
            Self::VolumeClaims => claims::measures(name),
            Self::ResourceClaims => resource_claims::measures(name),
            Self::Objects(count, alias) => count == name || *alias == Some(name),
        }
    }

    /// The object is one of those that a scope selects.
    pub(super) fn in_scope(&self, selector: &Selector, object: &Value) -> bool {
        match self {
            Self::Pods => pods::in_scope(selector, object),
            Self::VolumeClaims => claims::in_scope(selector, object),
            _ => false,
        }
    }

    /// What the object fails to say about resources that are limited.
    pub(super) fn missing(&self, limited: &[&str], object: &Value) -> Option<String> {
        match self {
            Self::Pods => pods::missing(limited, object),
            _ => None,
        }
    }

    /// What the object uses.
    pub(super) fn usage(&self, object: &Value, now: Timestamp) -> ResourceList {
        match self {
            Self::Pods => pods::usage(object, now),
            Self::Services => services::usage(object),
            Self::VolumeClaims => claims::usage(object),
            Self::ResourceClaims => resource_claims::usage(object),
            Self::Objects(count, alias) => {
                let names = [Some(count.as_str()), *alias].into_iter().flatten();
                names.map(|name| (name.to_owned(), number(1))).collect()
            }
        }
    }
}

/// So many.
pub(super) fn number(n: i64) -> Quantity {
    Quantity::new(n, Format::DecimalSi)
}
