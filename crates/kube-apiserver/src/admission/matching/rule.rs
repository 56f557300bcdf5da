//! [`Rule`]: the requests that one entry of `rules` or `resourceRules` selects.

use kubewright_apiserver::admission::Operation;
use kubewright_machinery::{gvk::GroupVersionResource, json::Read};
use serde_json::Value;

/// A rule with operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    operations: Vec<String>,
    groups: Vec<String>,
    versions: Vec<String>,
    /// Resources and subresources: `pods` and ``, `*` and `scale`, `pods` and `*`.
    resources: Vec<(String, String)>,
    scope: Scope,
    /// The names of objects; empty for all. Only policies have them.
    names: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    All,
    Namespaced,
    Cluster,
    /// A value of a later version, which matches nothing.
    Unknown,
}

/// The facts that a rule decides on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RuleInput<'a> {
    pub(crate) operation: Operation,
    pub(crate) resource: &'a GroupVersionResource,
    pub(crate) subresource: &'a str,
    /// The namespace of the request, which is that of the object or its own name for a namespace.
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
}

impl Rule {
    /// Reads a stored rule.
    pub(crate) fn read(rule: &Value) -> Self {
        let texts = |key: &str| rule[key].texts().map(str::to_owned).collect();
        let resources = rule["resources"].texts().map(|text| {
            let (resource, subresource) = text.split_once('/').unwrap_or((text, ""));
            (resource.to_owned(), subresource.to_owned())
        });
        Self {
            operations: texts("operations"),
            groups: texts("apiGroups"),
            versions: texts("apiVersions"),
            resources: resources.collect(),
            scope: match rule["scope"].text() {
                "" | "*" => Scope::All,
                "Namespaced" => Scope::Namespaced,
                "Cluster" => Scope::Cluster,
                _ => Scope::Unknown,
            },
            names: texts("resourceNames"),
        }
    }

    /// Reports whether the rule selects a request.
    pub(crate) fn matches(&self, input: &RuleInput<'_>) -> bool {
        let resource = input.resource;
        self.selects_scope(input)
            && has(&self.operations, operation_name(input.operation))
            && has(&self.groups, &resource.group)
            && has(&self.versions, &resource.version)
            && self.selects_resource(&resource.resource, input.subresource)
            && (self.names.is_empty() || self.names.iter().any(|name| name == input.name))
    }

    /// Reports whether the rule may select requests for a resource of any version, or for its subresources.
    pub(crate) fn concerns(&self, group: &str, resource: &str) -> bool {
        let named = |name: &String| name == "*" || name == resource;
        has(&self.groups, group) && self.resources.iter().any(|(name, _)| named(name))
    }

    /// Returns the names of the resources that the rule may select, or `None` if it may select any. Versions of the same objects have
    /// the same name.
    pub(super) fn resources(&self) -> Option<Vec<String>> {
        let names = self.resources.iter().map(|(name, _)| name);
        let named = |name: &String| (name != "*").then(|| name.clone());
        names.map(named).collect()
    }

    /// A namespace counts as cluster-scoped, although its requests have a namespace: its own name.
    fn selects_scope(&self, input: &RuleInput<'_>) -> bool {
        let resource = input.resource;
        let is_namespace = resource.resource == "namespaces"
            && resource.group.is_empty()
            && resource.version == "v1";
        let namespaced = !is_namespace && !input.namespace.is_empty();
        match self.scope {
            Scope::All => true,
            Scope::Namespaced => namespaced,
            Scope::Cluster => !namespaced,
            Scope::Unknown => false,
        }
    }

    fn selects_resource(&self, resource: &str, subresource: &str) -> bool {
        self.resources.iter().any(|(name, sub)| {
            (name == "*" || name == resource) && (sub == "*" || sub == subresource)
        })
    }
}

/// Returns the name of an operation in rules and reviews.
pub(crate) fn operation_name(operation: Operation) -> &'static str {
    match operation {
        Operation::Create => "CREATE",
        Operation::Update => "UPDATE",
        Operation::Delete => "DELETE",
        Operation::Connect => "CONNECT",
    }
}

fn has(list: &[String], wanted: &str) -> bool {
    list.iter().any(|item| item == "*" || item == wanted)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rule(resources: &[&str]) -> Value {
        json!({"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": resources})
    }

    fn matches(rule: &Value, resource: &str, subresource: &str) -> bool {
        let resource = GroupVersionResource::new("", "v1", resource);
        Rule::read(rule).matches(&RuleInput {
            operation: Operation::Create,
            resource: &resource,
            subresource,
            namespace: "ns",
            name: "a",
        })
    }

    #[test]
    fn resources_and_subresources() {
        let cases = [
            ("pods", "pods", "", true),
            ("pods", "pods", "log", false),
            ("pods/log", "pods", "log", true),
            ("pods/log", "pods", "", false),
            ("*", "pods", "", true),
            ("*", "pods", "log", false),
            ("*/*", "pods", "", true),
            ("*/*", "pods", "log", true),
            ("pods/*", "pods", "", true),
            ("pods/*", "pods", "log", true),
            ("pods/*", "services", "", false),
            ("*/scale", "deployments", "scale", true),
            ("*/scale", "deployments", "", false),
            ("*/scale", "deployments", "status", false),
        ];
        for (pattern, resource, subresource, expected) in cases {
            let found = matches(&rule(&[pattern]), resource, subresource);
            assert_eq!(found, expected, "{pattern} {resource}/{subresource}");
        }
        assert!(!matches(&rule(&[]), "pods", ""));
        assert!(matches(&rule(&["services", "pods"]), "pods", ""));
    }

    #[test]
    fn operations_groups_and_versions() {
        let pods = GroupVersionResource::new("", "v1", "pods");
        let input = |operation| RuleInput {
            operation,
            resource: &pods,
            subresource: "",
            namespace: "ns",
            name: "a",
        };
        let only = |key: &str, values: &[&str]| {
            let mut rule = rule(&["pods"]);
            rule[key] = json!(values);
            Rule::read(&rule)
        };
        let creates = only("operations", &["CREATE", "CONNECT"]);
        assert!(creates.matches(&input(Operation::Create)));
        assert!(creates.matches(&input(Operation::Connect)));
        assert!(!creates.matches(&input(Operation::Update)));
        assert!(!creates.matches(&input(Operation::Delete)));
        assert!(only("apiGroups", &["", "apps"]).matches(&input(Operation::Create)));
        assert!(!only("apiGroups", &["apps"]).matches(&input(Operation::Create)));
        assert!(!only("apiVersions", &["v2"]).matches(&input(Operation::Create)));
        assert!(!only("apiVersions", &[]).matches(&input(Operation::Create)));
    }

    #[test]
    fn namespaces_are_cluster_scoped() {
        let cases = [
            ("pods", "ns", "Namespaced", true),
            ("pods", "ns", "Cluster", false),
            ("nodes", "", "Namespaced", false),
            ("nodes", "", "Cluster", true),
            ("namespaces", "a", "Namespaced", false),
            ("namespaces", "a", "Cluster", true),
            ("namespaces", "a", "*", true),
            ("pods", "ns", "Galaxy", false),
        ];
        for (resource, namespace, scope, expected) in cases {
            let mut rule = rule(&["*"]);
            rule["scope"] = json!(scope);
            let gvr = GroupVersionResource::new("", "v1", resource);
            let found = Rule::read(&rule).matches(&RuleInput {
                operation: Operation::Update,
                resource: &gvr,
                subresource: "",
                namespace,
                name: "a",
            });
            assert_eq!(found, expected, "{resource} in {namespace:?} {scope}");
        }
    }

    #[test]
    fn names_are_exact() {
        let mut rule = rule(&["pods"]);
        rule["resourceNames"] = json!(["b"]);
        assert!(!matches(&rule, "pods", ""));
        rule["resourceNames"] = json!(["b", "a"]);
        assert!(matches(&rule, "pods", ""));
    }
}
