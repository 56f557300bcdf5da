//! [`Permission`]: what one request needs.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{PolicyRule, ResourceRequest};

/// The permission that one request needs, whatever the name of the object.
///
/// ```
/// use kubewright_rbac::Permission;
///
/// let read = Permission::of_resource("list", "apps", "deployments", "", "shop");
/// assert_eq!(read.to_string(), r#"list deployments.apps in the namespace "shop""#);
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
    /// The path, if the request is not about a resource.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The verb.
    pub verb: String,
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
            path: String::new(),
            verb: verb.to_owned(),
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

    /// Finds the user and the missing permission in the message of a server that refused a request, which may be part of a
    /// longer text.
    ///
    /// ```
    /// use kubewright_rbac::Permission;
    ///
    /// let text = r#"cannot list: secrets is forbidden: User "bob" cannot list resource "secrets" in API group "" in the namespace "shop""#;
    /// let (user, missing) = Permission::of_refusal(text).unwrap();
    /// assert_eq!(user, "bob");
    /// assert_eq!(missing, Permission::of_resource("list", "", "secrets", "", "shop"));
    /// assert_eq!(Permission::of_refusal("secrets is forbidden: exceeded quota"), None);
    /// ```
    pub fn of_refusal(text: &str) -> Option<(String, Self)> {
        // Errors are often printed inside other quotes.
        let text = text.replace("\\\"", "\"");
        let (_, after) = text.split_once("User \"")?;
        let (user, after) = after.split_once("\" cannot ")?;
        let (verb, after) = after.split_once(' ')?;
        if let Some(after) = after.strip_prefix("path \"") {
            let (path, _) = after.split_once('"')?;
            return Some((user.to_owned(), Self::of_path(verb, path)));
        }
        let after = after.strip_prefix("resource \"")?;
        let (resource, after) = after.split_once('"')?;
        let after = after.strip_prefix(" in API group \"")?;
        let (group, after) = after.split_once('"')?;
        let namespace = after
            .strip_prefix(" in the namespace \"")
            .and_then(|after| after.split_once('"'))
            .map_or("", |(namespace, _)| namespace);
        let missing = Self::of_resource(verb, group, resource, "", namespace);
        Some((user.to_owned(), missing))
    }

    /// Returns whether a rule grants the permission, for all objects or for some.
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
        // Any of the names of a rule will do.
        let name = rule.resource_names.first().map_or("", String::as_str);
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
    fn refusals_of_every_form_are_understood() {
        for (text, expected) in [
            (
                r#"pods "p" is forbidden: User "u" cannot create resource "pods/exec" in API group "" in the namespace "d""#,
                Permission::of_resource("create", "", "pods", "exec", "d"),
            ),
            (
                r#"nodes is forbidden: User "u" cannot list resource "nodes" in API group "" at the cluster scope: RBAC: role.rbac.authorization.k8s.io "x" not found"#,
                Permission::of_resource("list", "", "nodes", "", ""),
            ),
            (
                r#"forbidden: User "u" cannot get path "/metrics""#,
                Permission::of_path("get", "/metrics"),
            ),
            (
                r#"Error { message: "webapps.example.com is forbidden: User \"u\" cannot watch resource \"webapps\" in API group \"example.com\" at the cluster scope" }"#,
                Permission::of_resource("watch", "example.com", "webapps", "", ""),
            ),
        ] {
            let found = Permission::of_refusal(text);
            assert_eq!(found, Some(("u".to_owned(), expected)), "{text}");
        }
    }

    #[test]
    fn other_texts_name_no_permission() {
        for text in [
            "",
            "User \"u",
            "User \"u\" cannot",
            "User \"u\" cannot get resource \"pods\"",
            "User \"u\" cannot impersonate you",
        ] {
            assert_eq!(Permission::of_refusal(text), None, "{text}");
        }
    }
}
