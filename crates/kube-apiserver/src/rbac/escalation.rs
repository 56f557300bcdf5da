//! Checks that users do not grant permissions that they lack.
//!
//! A role may be written by users who have all of its permissions, or may `escalate` it; a binding by users who have the
//! permissions of its role, or may `bind` it. Members of `system:masters` may write everything.

use std::{collections::BTreeSet, sync::Arc};

use kubewright_apiserver::{
    auth::{Attributes, Decision, MASTERS, ResourceAttributes},
    request::RequestContext,
};
use kubewright_machinery::{Status, go, json::Read, status};
use kubewright_rbac::{GROUP, PolicyKind, PolicyRule, Uncovered, compact, uncovered};
use serde::Deserialize;
use serde_json::Value;

use super::{Policy, index::RoleRef};

/// The metadata that the garbage collector changes, and what changes with it.
const COLLECTOR_FIELDS: [&str; 4] = ["ownerReferences", "finalizers", "selfLink", "managedFields"];

const CLUSTER_ADMIN_REQUIRED: &str =
    "must have cluster-admin privileges to use the aggregationRule";

/// The check of writes to one kind.
pub(crate) struct Escalation {
    kind: PolicyKind,
    policy: Arc<Policy>,
}

impl Escalation {
    /// Returns the check for a kind, or `None` if the kind grants nothing.
    pub(crate) fn of(group: &str, kind: &str, policy: &Arc<Policy>) -> Option<Self> {
        let kind = super::index::KINDS
            .into_iter()
            .find(|known| group == GROUP && known.as_str() == kind)?;
        Some(Self {
            kind,
            policy: policy.clone(),
        })
    }

    /// Rejects an object that would grant its writer, or others, what the writer does not have.
    pub(crate) async fn check(
        &self,
        cx: &RequestContext,
        object: &Value,
        old: Option<&Value>,
    ) -> Result<(), Status> {
        if cx.user.groups.iter().any(|group| group == MASTERS) {
            return Ok(());
        }
        match self.kind {
            PolicyKind::ClusterRole | PolicyKind::Role => self.check_role(cx, object, old).await,
            PolicyKind::ClusterRoleBinding | PolicyKind::RoleBinding => {
                self.check_binding(cx, object, old).await
            }
        }
    }

    async fn check_role(
        &self,
        cx: &RequestContext,
        object: &Value,
        old: Option<&Value>,
    ) -> Result<(), Status> {
        let escalate = ResourceAttributes {
            group: &cx.info.group,
            version: "*",
            resource: &cx.info.resource,
            name: &cx.info.name,
            namespace: cx.namespace(),
            ..ResourceAttributes::default()
        };
        let escalate = Attributes::of_resource(&cx.user, "escalate", escalate);
        if may(cx, &escalate).await || old.is_some_and(|old| is_collection(object, old)) {
            return Ok(());
        }
        tell(cx, &escalate, self.check_granted(cx, object, old).await)
    }

    /// Rejects a role with more permissions than the user has.
    async fn check_granted(
        &self,
        cx: &RequestContext,
        object: &Value,
        old: Option<&Value>,
    ) -> Result<(), Status> {
        let rules = rules(object);
        self.check_held(cx, object, &rules).await?;
        let aggregates = |role: &Value| {
            let selectors = &role["aggregationRule"]["clusterRoleSelectors"];
            !selectors.items().is_empty()
        };
        if self.kind == PolicyKind::ClusterRole
            && (aggregates(object) || old.is_some_and(aggregates))
            && let Err(_) = self.check_held(cx, object, &everything()).await
        {
            return Err(forbidden(cx, object, CLUSTER_ADMIN_REQUIRED));
        }
        Ok(())
    }

    async fn check_binding(
        &self,
        cx: &RequestContext,
        object: &Value,
        old: Option<&Value>,
    ) -> Result<(), Status> {
        if old.is_some_and(|old| is_collection(object, old)) {
            return Ok(());
        }
        let (role, namespace) = (RoleRef::of(object), cx.namespace());
        let resource = match role.kind() {
            "ClusterRole" => PolicyKind::ClusterRole.resource(),
            "Role" => PolicyKind::Role.resource(),
            kind => {
                let kind = go::quote(kind);
                let text = format!("unsupported role reference kind: {kind}");
                return Err(status::unknown(text));
            }
        };
        let bind = ResourceAttributes {
            group: object["roleRef"]["apiGroup"].text(),
            version: "*",
            resource,
            name: role.name(),
            namespace,
            ..ResourceAttributes::default()
        };
        let bind = Attributes::of_resource(&cx.user, "bind", bind);
        if may(cx, &bind).await {
            return Ok(());
        }
        let rules = self.policy.role(&role, namespace).await;
        match rules.map_err(status::internal)? {
            Ok(rules) => tell(cx, &bind, self.check_held(cx, object, &rules).await),
            // As in kube-apiserver, the error names the resource of the request.
            Err(missing) => Err(status::not_found(
                &cx.resource.spec().group_resource(),
                missing.name(),
            )),
        }
    }

    /// Rejects rules that grant more than the user has.
    async fn check_held(
        &self,
        cx: &RequestContext,
        object: &Value,
        wanted: &[PolicyRule],
    ) -> Result<(), Status> {
        let held = self.policy.rules_for(&cx.user, cx.namespace()).await;
        let (held, missing) = held.map_err(status::internal)?;
        let held: Vec<PolicyRule> = held
            .iter()
            .flat_map(|rules| rules.iter().cloned())
            .collect();
        let lines = match uncovered(&held, wanted) {
            Uncovered::Rules(rules) if rules.is_empty() => return Ok(()),
            Uncovered::Rules(rules) => {
                let lines: BTreeSet<String> =
                    compact(rules).iter().map(ToString::to_string).collect();
                lines.into_iter().collect::<Vec<_>>().join("\n")
            }
            Uncovered::TooMany => "more than can be compared one by one".to_owned(),
        };
        let user = go::quote(&cx.user.name);
        let groups = go::quote_all(&cx.user.groups);
        let mut text = format!(
            "user {user} (groups={groups}) is attempting to grant RBAC permissions not currently held:\n{lines}"
        );
        if !missing.is_empty() {
            let resource = cx.resource.spec().group_resource();
            let errors = missing
                .iter()
                .map(|role| status::not_found(&resource, role.name()).message);
            text.push_str(&format!("; resolution errors: [{}]", go::aggregate(errors)));
        }
        Err(forbidden(cx, object, &text))
    }
}

/// Returns whether the user has a permission that makes others unnecessary.
async fn may(cx: &RequestContext, attributes: &Attributes<'_>) -> bool {
    let decision = cx.authorizer.authorize(attributes).await;
    if let Some(error) = &decision.error {
        tracing::error!(%error, verb = attributes.verb, "a permission could not be checked");
    }
    if decision.is_allow() {
        cx.authorizer.decided(attributes, &decision);
    }
    decision.is_allow()
}

/// Tells the authorizer whether a write was refused for want of a permission. The message of a refusal has the permissions
/// that would do as well.
fn tell(
    cx: &RequestContext,
    attributes: &Attributes<'_>,
    outcome: Result<(), Status>,
) -> Result<(), Status> {
    match &outcome {
        Ok(()) => cx.authorizer.unneeded(attributes),
        Err(refusal) if refusal.code == 403 => {
            let decision = Decision::no_opinion(refusal.message.clone());
            cx.authorizer.decided(attributes, &decision);
        }
        Err(_) => {}
    }
    outcome
}

fn forbidden(cx: &RequestContext, object: &Value, text: &str) -> Status {
    let resource = cx.resource.spec().group_resource();
    status::forbidden(&resource, object["metadata"]["name"].text(), text)
}

/// Returns the rules of a role that was sent.
fn rules(role: &Value) -> Vec<PolicyRule> {
    let rules = role["rules"].items().iter();
    rules
        .map(|rule| PolicyRule::deserialize(rule).unwrap_or_default())
        .collect()
}

/// Returns the rules that allow everything.
fn everything() -> [PolicyRule; 2] {
    let all = || vec!["*".to_owned()];
    [
        PolicyRule {
            verbs: all(),
            api_groups: all(),
            resources: all(),
            ..PolicyRule::default()
        },
        PolicyRule {
            verbs: all(),
            non_resource_urls: all(),
            ..PolicyRule::default()
        },
    ]
}

/// Returns whether an update changes only what the garbage collector has to change.
fn is_collection(object: &Value, old: &Value) -> bool {
    let compared = |object: &Value| {
        let mut object = object.clone();
        if let Some(metadata) = object["metadata"].as_object_mut() {
            for field in COLLECTOR_FIELDS {
                metadata.remove(field);
            }
        }
        drop_empty(&mut object);
        object
    };
    compared(object) == compared(old)
}

/// Removes fields that are as good as absent.
fn drop_empty(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(drop_empty);
            fields.retain(|_, value| !is_empty(value));
        }
        Value::Array(items) => items.iter_mut().for_each(drop_empty),
        _ => {}
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_update_for_the_garbage_collector_changes_nothing_else() {
        let role = |metadata: Value, rules: Value| json!({"metadata": metadata, "rules": rules});
        let old = role(
            json!({"name": "a", "finalizers": ["x"], "managedFields": [{}]}),
            json!(null),
        );
        assert!(is_collection(
            &role(json!({"name": "a", "labels": {}}), json!([])),
            &old
        ));
        assert!(!is_collection(
            &role(json!({"name": "a", "labels": {"b": "c"}}), json!([])),
            &old
        ));
        assert!(!is_collection(
            &role(json!({"name": "a"}), json!([{"verbs": ["get"]}])),
            &old
        ));
    }
}
