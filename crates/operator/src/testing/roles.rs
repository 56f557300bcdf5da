//! The roles of an operator on a test cluster, under the names that `kubewright generate` gives them.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::{
        core::v1::{Namespace, ServiceAccount},
        rbac::v1::{self as rbac, ClusterRole, ClusterRoleBinding, Role, RoleBinding},
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kubewright_client::Error;
use kubewright_controller::Client;

use crate::{PolicyRule, names::Names};

/// Applies the roles of an operator, its ServiceAccount, and the bindings between them.
pub(super) async fn apply_roles(
    client: &Client,
    operator: &str,
    rules: &[PolicyRule],
) -> Result<(), Error> {
    let Names {
        prefix,
        home,
        account,
        ..
    } = Names::of(operator);
    apply_namespace(client, &home).await?;
    let object = ServiceAccount {
        metadata: named(&account, Some(&home)),
        ..ServiceAccount::default()
    };
    client.apply(&object).await?;
    let subjects = vec![rbac::Subject {
        kind: "ServiceAccount".to_owned(),
        name: account,
        namespace: Some(home.clone()),
        api_group: None,
    }];
    let leases = leader_election_rule(&home);
    for ((namespace, role), rules) in by_role(rules.iter().chain([&leases])) {
        let name = format!("{prefix}-{role}");
        let metadata = named(&name, namespace);
        let binding = named(&format!("{name}binding"), namespace);
        let rules = Some(rules.into_iter().map(policy).collect());
        let role_ref = |kind: &str| rbac::RoleRef {
            api_group: Some("rbac.authorization.k8s.io".to_owned()),
            kind: kind.to_owned(),
            name: name.clone(),
        };
        let subjects = Some(subjects.clone());
        if let Some(namespace) = namespace {
            apply_namespace(client, namespace).await?;
            client.apply(&Role { metadata, rules }).await?;
            let binding = RoleBinding {
                metadata: binding,
                role_ref: role_ref("Role"),
                subjects,
            };
            client.apply(&binding).await?;
        } else {
            let role = ClusterRole {
                metadata,
                rules,
                aggregation_rule: None,
            };
            let binding = ClusterRoleBinding {
                metadata: binding,
                role_ref: role_ref("ClusterRole"),
                subjects,
            };
            client.apply(&role).await?;
            client.apply(&binding).await?;
        }
    }
    Ok(())
}

async fn apply_namespace(client: &Client, name: &str) -> Result<(), Error> {
    let namespace = Namespace {
        metadata: named(name, None),
        ..Namespace::default()
    };
    client.apply(&namespace).await.map(drop)
}

/// Returns the permission to take part in a leader election in the operator's namespace.
fn leader_election_rule(home: &str) -> PolicyRule {
    let verbs = [
        "create", "delete", "get", "list", "patch", "update", "watch",
    ];
    PolicyRule::new("coordination.k8s.io", &["leases"], &verbs)
        .namespace(home)
        .role("leader-election-role")
}

/// Returns the rules of each role, by namespace and name.
fn by_role<'a>(
    rules: impl Iterator<Item = &'a PolicyRule>,
) -> BTreeMap<(Option<&'a str>, &'a str), Vec<&'a PolicyRule>> {
    let mut roles = BTreeMap::<_, Vec<_>>::new();
    for rule in rules {
        let role = rule.role.as_deref().unwrap_or("manager-role");
        let key = (rule.namespace.as_deref(), role);
        roles.entry(key).or_default().push(rule);
    }
    roles
}

fn policy(rule: &PolicyRule) -> rbac::PolicyRule {
    let list = |list: &Vec<String>| (!list.is_empty()).then(|| list.clone());
    rbac::PolicyRule {
        api_groups: list(&rule.api_groups),
        resources: list(&rule.resources),
        resource_names: list(&rule.resource_names),
        non_resource_urls: list(&rule.urls),
        verbs: rule.verbs.clone(),
    }
}

fn named(name: &str, namespace: Option<&str>) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: namespace.map(str::to_owned),
        ..ObjectMeta::default()
    }
}
