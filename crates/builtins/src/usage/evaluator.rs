//! The usage of objects: pods, services and claims by their own rules, all others by count.

use kubewright_machinery::quantity::{Format, Quantity};
use serde_json::Value;

use super::{
    claims, pods, resource_claims, resource_list::ResourceList, scopes::Selector, services,
};

/// Computes the usage of the objects of a resource against quotas.
///
/// ```
/// use kubewright_builtins::usage::Evaluator;
/// use serde_json::json;
///
/// let pod = json!({"spec": {"containers": [{"resources": {"requests": {"cpu": "250m"}}}]}});
/// let usage = Evaluator::of("", "pods").usage(&pod, 0);
/// assert_eq!(usage["requests.cpu"].canonical(), "250m");
/// assert_eq!(usage["pods"].canonical(), "1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Evaluator {
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
    pub fn of(group: &str, resource: &str) -> Self {
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

    /// Returns whether the objects can use this resource.
    pub fn measures(&self, name: &str) -> bool {
        match self {
            Self::Pods => pods::measures(name),
            Self::Services => services::MEASURED.contains(&name),
            Self::VolumeClaims => claims::measures(name),
            Self::ResourceClaims => resource_claims::measures(name),
            Self::Objects(count, alias) => count == name || *alias == Some(name),
        }
    }

    /// Returns whether a scope matches the object.
    pub fn in_scope(&self, selector: &Selector, object: &Value) -> bool {
        match self {
            Self::Pods => pods::in_scope(selector, object),
            Self::VolumeClaims => claims::in_scope(selector, object),
            _ => false,
        }
    }

    /// Returns the limited resources that the object does not specify.
    pub fn missing(&self, limited: &[&str], object: &Value) -> Option<String> {
        match self {
            Self::Pods => pods::missing(limited, object),
            _ => None,
        }
    }

    /// Returns the usage of the object at a time, in seconds since 1970.
    pub fn usage(&self, object: &Value, now: i64) -> ResourceList {
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
pub fn number(n: i64) -> Quantity {
    Quantity::new(n, Format::DecimalSi)
}
