//! The usage of objects: pods, services and claims by their own rules, all others by count.

use jiff::Timestamp;
use kubewright_apiserver::admission::Operation;
use kubewright_machinery::quantity::{Format, Quantity};
use serde_json::Value;

use super::{check::Change, claims, pods, resource_claims, scopes::Selector, services};
use crate::admission::resource_list::ResourceList;

/// Computes the usage of the objects of a resource.
pub(super) enum Evaluator {
    /// Requests, limits and count.
    Pods,
    /// Node ports, load balancers and count.
    Services,
    /// Storage by storage class, and count.
    VolumeClaims,
    /// Devices by device class, and count.
    ResourceClaims,
    /// Count, under one or two names.
    Objects(String, Option<&'static str>),
}

impl Evaluator {
    /// Returns the evaluator of a resource.
    pub(super) fn of(group: &str, resource: &str) -> Self {
        match (group, resource) {
            ("", "pods") => Self::Pods,
            ("", "services") => Self::Services,
            ("", "persistentvolumeclaims") => Self::VolumeClaims,
            ("resource.k8s.io", "resourceclaims") => Self::ResourceClaims,
            ("", resource) => {
                // Some kinds are counted under their plain name, too.
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

    /// Returns whether the operation may increase the usage.
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

    /// Returns whether the objects can use this resource.
    pub(super) fn measures(&self, name: &str) -> bool {
        match self {
            Self::Pods => pods::measures(name),
            Self::Services => services::MEASURED.contains(&name),
            Self::VolumeClaims => claims::measures(name),
            Self::ResourceClaims => resource_claims::measures(name),
            Self::Objects(count, alias) => count == name || *alias == Some(name),
        }
    }

    /// Returns whether a scope matches the object.
    pub(super) fn in_scope(&self, selector: &Selector, object: &Value) -> bool {
        match self {
            Self::Pods => pods::in_scope(selector, object),
            Self::VolumeClaims => claims::in_scope(selector, object),
            _ => false,
        }
    }

    /// Returns the limited resources that the object does not specify.
    pub(super) fn missing(&self, limited: &[&str], object: &Value) -> Option<String> {
        match self {
            Self::Pods => pods::missing(limited, object),
            _ => None,
        }
    }

    /// Returns the usage of the object.
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

/// Returns a count as a quantity.
pub(super) fn number(n: i64) -> Quantity {
    Quantity::new(n, Format::DecimalSi)
}
