//! [`Permission`]: what one request needs.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{PolicyRule, ResourceRequest};

/// The verbs of requests about the objects of a resource. Any other verb is a permission of its own, such as `bind` or
/// `impersonate`.
const OF_OBJECTS: [&str; 9] = [
    "*",
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];

/// The permission that a request needs, for objects of any name or for one.
///
/// ```
/// use kubewright_rbac::Permission;
///
/// let read = Permission::of_resource("list", "apps", "deployments", "", "shop");
/// assert_eq!(read.to_string(), r#"list deployments.apps in the namespace "shop""#);
///
/// let read = Permission::of_resource("get", "", "secrets", "", "shop").named("token");
/// assert_eq!(read.to_string(), r#"get secrets "token" in the namespace "shop""#);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Permission {
    /// The group; the core group is empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The resource with its subresource, such as `pods/log`; empty for a path.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource: String,
    /// The namespace of the request. Empty for requests about the cluster or about all namespaces.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name of the object. Empty for requests that name none, and for a permission about objects of any name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The path, if the request is not about a resource.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The verb.
    pub verb: String,
    /// The rules that do as well: a user who has them may grant them without the permission to `escalate` or to `bind`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alternative: Vec<PolicyRule>,
}

impl Permission {
    /// Returns the permission that a request about a resource needs.
    pub fn of_resource(
        verb: &str,
        group: &str,
        resource: &str,
        subresource: &str,
        namespace: &str,
    ) -> Self {
        Self {
            group: group.to_owned(),
            resource: match subresource {
                "" => resource.to_owned(),
                subresource => format!("{resource}/{subresource}"),
            },
            namespace: namespace.to_owned(),
            verb: verb.to_owned(),
            ..Self::default()
        }
    }

    /// Returns the permission that a request about a path needs.
    pub fn of_path(verb: &str, path: &str) -> Self {
        Self {
            path: path.to_owned(),
            verb: verb.to_owned(),
            ..Self::default()
        }
    }

    /// Sets the name of the object.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Returns whether the verb is one of requests about objects, such as `get`, and not a permission of its own, such as
    /// `bind`.
    ///
    /// ```
    /// use kubewright_rbac::Permission;
    ///
    /// assert!(Permission::of_resource("get", "", "pods", "", "shop").is_of_objects());
    /// assert!(!Permission::of_resource("impersonate", "", "users", "", "").is_of_objects());
    /// ```
    pub fn is_of_objects(&self) -> bool {
        OF_OBJECTS.contains(&self.verb.as_str())
    }

    /// Returns whether a rule grants the permission. If the permission has no name, a rule for some objects will do.
    ///
    /// ```
    /// use kubewright_rbac::{Permission, PolicyRule};
    ///
    /// let rule = PolicyRule {
    ///     verbs: vec!["get".into()],
    ///     api_groups: vec!["".into()],
    ///     resources: vec!["pods/log".into()],
    ///     ..PolicyRule::default()
    /// };
    /// assert!(Permission::of_resource("get", "", "pods", "log", "shop").is_granted_by(&rule));
    /// assert!(!Permission::of_resource("get", "", "pods", "", "shop").is_granted_by(&rule));
    /// ```
    pub fn is_granted_by(&self, rule: &PolicyRule) -> bool {
        if !self.path.is_empty() {
            return rule.allows_path(&self.verb, &self.path);
        }
        let (resource, subresource) = self
            .resource
            .split_once('/')
            .unwrap_or((&self.resource, ""));
        let name = match self.name.as_str() {
            // Any of the names of a rule will do.
            "" => rule.resource_names.first().map_or("", String::as_str),
            name => name,
        };
        rule.allows(&ResourceRequest {
            verb: &self.verb,
            group: &self.group,
            resource,
            subresource,
            name,
        })
    }
}

/// Names the permission in a sentence, such as `list deployments.apps`.
impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.verb)?;
        if !self.path.is_empty() {
            return f.write_str(&self.path);
        }
        f.write_str(&self.resource)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        if !self.name.is_empty() {
            write!(f, " {:?}", self.name)?;
        }
        match self.namespace.as_str() {
            "" => Ok(()),
            namespace => write!(f, " in the namespace {namespace:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_for_some_objects_does_not_grant_access_to_others() {
        let rule = PolicyRule {
            verbs: vec!["get".into()],
            api_groups: vec!["".into()],
            resources: vec!["secrets".into()],
            resource_names: vec!["a".into(), "b".into()],
            ..PolicyRule::default()
        };
        let secrets = Permission::of_resource("get", "", "secrets", "", "shop");
        assert!(secrets.is_granted_by(&rule));
        assert!(secrets.clone().named("b").is_granted_by(&rule));
        assert!(!secrets.named("c").is_granted_by(&rule));
    }
}
