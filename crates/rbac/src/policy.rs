//! The policy of a new cluster: roles and bindings for administrators, users, and the components of a cluster.

use serde_json::Value;

use crate::{GROUP, generated::POLICY};

/// The manager of the fields that the server writes.
const SERVER: &str = "kube-apiserver";

/// The manager of the rules of aggregated roles.
const AGGREGATION: &str = "clusterrole-aggregation-controller";

/// The kinds of RBAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum PolicyKind {
    ClusterRole,
    ClusterRoleBinding,
    Role,
    RoleBinding,
}

/// An object of the policy.
///
/// ```
/// use kubewright_rbac::{PolicyKind, policy};
///
/// let admin = policy().find(|object| object.name == "cluster-admin").expect("a role");
/// assert_eq!(admin.kind, PolicyKind::ClusterRole);
/// assert_eq!(admin.to_value()["rules"][0]["verbs"][0], "*");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PolicyObject {
    /// The kind.
    pub kind: PolicyKind,
    /// The namespace, or empty.
    pub namespace: &'static str,
    /// The name.
    pub name: &'static str,
    annotations: &'static str,
    labels: &'static str,
    managed: &'static str,
    aggregated: &'static str,
    rest: &'static str,
}

impl PolicyKind {
    /// Returns the name of the kind.
    pub fn as_str(self) -> &'static str {
        match self {
            PolicyKind::ClusterRole => "ClusterRole",
            PolicyKind::ClusterRoleBinding => "ClusterRoleBinding",
            PolicyKind::Role => "Role",
            PolicyKind::RoleBinding => "RoleBinding",
        }
    }

    /// Returns the name of the resource.
    pub fn resource(self) -> &'static str {
        match self {
            PolicyKind::ClusterRole => "clusterroles",
            PolicyKind::ClusterRoleBinding => "clusterrolebindings",
            PolicyKind::Role => "roles",
            PolicyKind::RoleBinding => "rolebindings",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let kinds = [
            PolicyKind::ClusterRole,
            PolicyKind::ClusterRoleBinding,
            PolicyKind::Role,
            PolicyKind::RoleBinding,
        ];
        kinds.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// Returns the objects that kube-apiserver creates in a new cluster: roles before bindings. The rules of aggregated roles are
/// those that the aggregation controller gives them.
pub fn policy() -> impl Iterator<Item = PolicyObject> {
    POLICY.lines().filter_map(PolicyObject::parse)
}

impl PolicyObject {
    fn parse(line: &'static str) -> Option<Self> {
        let mut columns = line.split('\t');
        Some(Self {
            kind: PolicyKind::parse(columns.next()?)?,
            namespace: columns.next()?,
            name: columns.next()?,
            annotations: columns.next()?,
            labels: columns.next()?,
            managed: columns.next()?,
            aggregated: columns.next()?,
            rest: columns.next()?,
        })
    }

    /// Returns the path of the object in its collection.
    pub fn path(&self) -> String {
        match self.namespace {
            "" => self.name.to_owned(),
            namespace => format!("{namespace}/{}", self.name),
        }
    }

    /// Returns the object as one writes it: without what the server adds.
    pub fn to_value(&self) -> Value {
        let text = format!(
            r#"{{"kind":"{}","apiVersion":"{GROUP}/v1","metadata":{{"annotations":{},"labels":{},"name":"{}"{}}},{}}}"#,
            self.kind.as_str(),
            self.annotations,
            self.labels,
            self.name,
            self.namespace_field(),
            self.rest,
        );
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Returns the labels.
    pub fn labels(&self) -> Value {
        serde_json::from_str(self.labels).unwrap_or_default()
    }

    /// Returns the text of the object as a server stores it, and the offset of its resourceVersion, which is left empty.
    ///
    /// ```
    /// use kubewright_rbac::policy;
    ///
    /// let object = policy().next().expect("an object");
    /// let (text, at) = object.to_stored("2b4f…", "2026-01-01T00:00:00Z");
    /// assert!(text[..at].ends_with(r#""metadata":{"resourceVersion":""#));
    /// ```
    pub fn to_stored(&self, uid: &str, time: &str) -> (String, usize) {
        let mut text = format!(
            r#"{{"kind":"{}","apiVersion":"{GROUP}/v1","metadata":{{"resourceVersion":""#,
            self.kind.as_str()
        );
        let at = text.len();
        let managed = |fields: &str, manager: &str, operation: &str| {
            format!(
                r#"{{"apiVersion":"{GROUP}/v1","fieldsType":"FieldsV1","fieldsV1":{fields},"manager":"{manager}","operation":"{operation}","time":"{time}"}}"#
            )
        };
        let mut entries = Vec::with_capacity(2);
        if !self.aggregated.is_empty() {
            entries.push(managed(self.aggregated, AGGREGATION, "Apply"));
        }
        entries.push(managed(self.managed, SERVER, "Update"));
        text.push_str(&format!(
            r#"","annotations":{},"creationTimestamp":"{time}","labels":{},"managedFields":[{}],"name":"{}"{},"uid":"{uid}"}},{}}}"#,
            self.annotations,
            self.labels,
            entries.join(","),
            self.name,
            self.namespace_field(),
            self.rest,
        ));
        (text, at)
    }

    /// Returns whether a stored text has the labels, annotations and content of the object unchanged. Stored objects have one
    /// form, so an object that was reordered counts as changed.
    pub fn is_part_of(&self, stored: &str) -> bool {
        let end = format!("}},{}}}", self.rest);
        stored.ends_with(&end)
            && stored.contains(&format!(r#""annotations":{},"#, self.annotations))
            && stored.contains(&format!(r#""labels":{},"#, self.labels))
    }

    fn namespace_field(&self) -> String {
        match self.namespace {
            "" => String::new(),
            namespace => format!(r#","namespace":"{namespace}""#),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_policy_has_the_objects_of_a_new_cluster() {
        let mut counts = BTreeMap::new();
        for object in policy() {
            *counts.entry(object.kind.as_str()).or_insert(0) += 1;
        }
        let expected = [
            ("ClusterRole", 69),
            ("ClusterRoleBinding", 50),
            ("Role", 7),
            ("RoleBinding", 7),
        ];
        assert_eq!(counts, BTreeMap::from(expected));
        assert_eq!(policy().count(), POLICY.lines().count());
    }

    #[test]
    fn every_object_is_json_in_both_forms() {
        for object in policy() {
            let value = object.to_value();
            assert_eq!(value["metadata"]["name"], object.name);
            let (text, at) = object.to_stored("u", "t");
            let stored: Value = serde_json::from_str(&text).expect("JSON");
            assert_eq!(stored["metadata"]["uid"], "u");
            assert_eq!(stored["metadata"]["resourceVersion"], "");
            assert_eq!(&text[at..=at], "\"");
            assert!(object.is_part_of(&text));
            assert!(!object.is_part_of(&text.replace("verbs", "verb").replace("name", "n")));
        }
    }

    #[test]
    fn aggregated_roles_have_rules() {
        let rules = |name: &str| {
            let role = policy().find(|object| object.name == name);
            let role = role.expect("a role").to_value();
            role["rules"].as_array().map_or(0, Vec::len)
        };
        assert!(rules("view") > 10);
        assert!(rules("edit") > rules("view"));
        assert!(rules("admin") > rules("edit"));
    }
}
