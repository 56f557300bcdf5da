//! Generates roles: for the operator, leader election, reading metrics, and users of the kinds.

mod bindings;
mod merge;
#[cfg(test)]
mod tests;

use kubewright_operator::{Model, PolicyRule};
use serde_json::{Map, Value, json};

pub(super) use bindings::{bindings, service_account};

use super::{model::text, naming::Naming};

/// The role of the operator, for rules that do not name another.
pub(super) const MANAGER_ROLE: &str = "manager-role";

pub(super) const API: &str = "rbac.authorization.k8s.io/v1";

/// Returns the roles of the operator: one for the whole cluster, and one for each namespace or role name of a rule.
pub(super) fn manager_roles(model: &Model, naming: &Naming) -> Vec<Value> {
    roles_of(&model.rules, naming)
}

/// Returns the roles of rules about objects that may be outside the operator's namespace even if it is restricted to that.
pub(super) fn cluster_wide_roles_of(rules: &[PolicyRule], naming: &Naming) -> Vec<Value> {
    let mut naming = naming.clone();
    naming.namespaced = false;
    roles_of(rules, &naming)
}

/// Returns the roles of rules.
pub(super) fn roles_of(rules: &[PolicyRule], naming: &Naming) -> Vec<Value> {
    let default = |rule: &PolicyRule| {
        let everywhere = rule.namespace.is_none() && naming.namespaced;
        // Only cluster roles can have non-resource URLs.
        match everywhere && rule.urls.is_empty() {
            true => naming.namespace.clone(),
            false => rule.namespace.clone().unwrap_or_default(),
        }
    };
    let mut keys: Vec<(String, String)> = rules
        .iter()
        .map(|rule| (default(rule), role_name(rule).to_owned()))
        .collect();
    keys.sort();
    keys.dedup();
    keys.into_iter()
        .map(|(namespace, name)| {
            let of = |rule: &&PolicyRule| default(rule) == namespace && role_name(rule) == name;
            let rules: Vec<PolicyRule> = rules.iter().filter(of).cloned().collect();
            let rules: Vec<Value> = merge::merged(&rules).iter().map(policy).collect();
            role(&naming.name(&name), &namespace, None, &rules)
        })
        .collect()
}

/// Returns the role for leader election: leases in the namespace of the operator.
pub(super) fn leader_election_role(naming: &Naming) -> Value {
    let rule = json!({
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"],
    });
    let name = naming.name("leader-election-role");
    role(&name, &naming.namespace, Some(naming.labels()), &[rule])
}

/// Returns the role with which the operator lets the cluster authenticate and authorize readers of its metrics.
pub(super) fn metrics_auth_role(naming: &Naming) -> Value {
    let rules = [
        ("authentication.k8s.io", "tokenreviews"),
        ("authorization.k8s.io", "subjectaccessreviews"),
    ];
    let rules = rules.map(|(group, resource)| {
        json!({"apiGroups": [group], "resources": [resource], "verbs": ["create"]})
    });
    role(&naming.name("metrics-auth-role"), "", None, &rules)
}

/// Returns the role for reading metrics.
pub(super) fn metrics_reader_role(naming: &Naming) -> Value {
    let rule = json!({"nonResourceURLs": ["/metrics"], "verbs": ["get"]});
    let name = naming.name("metrics-reader");
    role(&name, "", None, &[rule])
}

/// Returns the admin, editor and viewer roles of each kind, with their file names. They include the subresources of the kind;
/// viewers have those that can only be read.
pub(super) fn kind_roles(model: &Model, naming: &Naming) -> Vec<(String, Value)> {
    let group_of = |crd: &Value| text(&crd["spec"]["group"]).to_owned();
    let first = model.definitions().next().map(group_of);
    let many = model.definitions().any(|crd| Some(group_of(crd)) != first);
    let mut roles = Vec::new();
    for crd in model.definitions() {
        let spec = &crd["spec"];
        let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
        let kind = text(&spec["names"]["kind"]).to_ascii_lowercase();
        let subresources = model.subresources.get(text(&crd["metadata"]["name"]));
        let subresources = subresources.map(Vec::as_slice).unwrap_or_default();
        let word = match many {
            true => format!("{}-{kind}", group.split('.').next().unwrap_or_default()),
            false => kind,
        };
        for (who, verbs) in [
            ("admin", &["*"][..]),
            (
                "editor",
                &[
                    "create", "delete", "get", "list", "patch", "update", "watch",
                ],
            ),
            ("viewer", &["get", "list", "watch"]),
        ] {
            let mut rules = vec![
                json!({"apiGroups": [group], "resources": [plural], "verbs": verbs}),
                json!({"apiGroups": [group], "resources": [format!("{plural}/status")], "verbs": ["get"]}),
            ];
            for subresource in subresources {
                let verbs = match who {
                    "admin" => json!(["*"]),
                    // Others start programs or change objects.
                    "viewer" if !subresource.is_read_only() => continue,
                    _ => json!(subresource.verbs),
                };
                let resource = format!("{plural}/{}", subresource.name);
                rules.push(json!({"apiGroups": [group], "resources": [resource], "verbs": verbs}));
            }
            let name = naming.name(&format!("{word}-{who}-role"));
            let file = format!("{}_{who}_role.yaml", word.replace('-', "_"));
            roles.push((file, role(&name, "", Some(naming.labels()), &rules)));
        }
    }
    roles
}

fn role_name(rule: &PolicyRule) -> &str {
    rule.role.as_deref().unwrap_or(MANAGER_ROLE)
}

fn role(name: &str, namespace: &str, labels: Option<Value>, rules: &[Value]) -> Value {
    let mut metadata = json!({"name": name});
    if let Some(labels) = labels {
        metadata["labels"] = labels;
    }
    let kind = match namespace {
        "" => "ClusterRole",
        namespace => {
            metadata["namespace"] = json!(namespace);
            "Role"
        }
    };
    json!({"apiVersion": API, "kind": kind, "metadata": metadata, "rules": rules})
}

fn policy(rule: &PolicyRule) -> Value {
    let lists = [
        ("apiGroups", &rule.api_groups),
        ("resources", &rule.resources),
        ("resourceNames", &rule.resource_names),
        ("nonResourceURLs", &rule.urls),
    ];
    let mut fields: Map<String, Value> = lists
        .into_iter()
        .filter(|(_, list)| !list.is_empty())
        .map(|(key, list)| (key.to_owned(), json!(list)))
        .collect();
    fields.insert("verbs".to_owned(), json!(rule.verbs));
    Value::Object(fields)
}
