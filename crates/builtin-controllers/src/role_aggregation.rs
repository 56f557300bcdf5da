//! `clusterrole-aggregation-controller`: keeps the rules of aggregated cluster roles, such as `admin`, equal to those of the
//! roles that they are made of.
//!
//! Any change of any cluster role may concern any aggregated one, so all are computed at once. The result does not depend on
//! the present rules of aggregated roles: roles that are made of each other end with the rules of the others, where
//! kube-controller-manager may pass their old rules around forever.

use std::sync::Arc;

use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule as StoredRule};
use kube::{
    ResourceExt,
    api::{Patch, PatchParams},
};
use kubewright_client::ErrorExt;
use kubewright_controller::{
    Action, Context, Controller, Error, Filter, Handler, Manager, ManagerError, Request, Result,
    Watch,
};
use kubewright_rbac::{AggregatedRole, PolicyRule, aggregate};
use serde_json::{Value, json};

use crate::names::Name;

/// The field manager of the rules.
const FIELD_MANAGER: &str = "clusterrole-aggregation-controller";

pub(crate) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    let all = |_: &_| vec![Request::cluster_scoped("all")];
    let reconcile = |context: Context, _: Request| async move { reconcile(&context).await };
    Controller::builder()
        .named(Name::ClusterRoleAggregation.as_str())
        .watch(Watch::of::<ClusterRole>(Handler::map_object(all)))
        .build(manager, reconcile)?;
    Ok(())
}

/// A cluster role, in the form that is aggregated.
struct Role {
    object: Arc<ClusterRole>,
    labels: Value,
    rules: Vec<PolicyRule>,
    aggregation: Value,
}

impl From<Arc<ClusterRole>> for Role {
    fn from(object: Arc<ClusterRole>) -> Self {
        let aggregation = object.aggregation_rule.as_ref();
        Self {
            labels: json!(object.labels()),
            rules: object.rules.iter().flatten().map(rule).collect(),
            aggregation: aggregation.map(|rule| json!(rule)).unwrap_or_default(),
            object,
        }
    }
}

fn rule(stored: &StoredRule) -> PolicyRule {
    let list = |list: &Option<Vec<String>>| list.clone().unwrap_or_default();
    PolicyRule {
        verbs: stored.verbs.clone(),
        api_groups: list(&stored.api_groups),
        resources: list(&stored.resources),
        resource_names: list(&stored.resource_names),
        non_resource_urls: list(&stored.non_resource_urls),
    }
}

async fn reconcile(context: &Context) -> Result<Action> {
    let found: Vec<Arc<ClusterRole>> = context.client().list(&Filter::new()).await?;
    if found.iter().all(|role| role.aggregation_rule.is_none()) {
        return Ok(Action::done());
    }
    let mut roles: Vec<Role> = found.into_iter().map(Role::from).collect();
    roles.sort_by_cached_key(|role| role.object.name_any());
    let names: Vec<String> = roles.iter().map(|role| role.object.name_any()).collect();
    let parts: Vec<(AggregatedRole<'_>, &Value)> = roles
        .iter()
        .zip(&names)
        .map(|(role, name)| {
            let part = AggregatedRole {
                name,
                labels: &role.labels,
                rules: &role.rules,
            };
            (part, &role.aggregation)
        })
        .collect();
    let mut failure = None;
    for (name, rules) in aggregate(&parts) {
        let position = names.binary_search_by(|other| other.as_str().cmp(name));
        let Some(role) = position.ok().and_then(|i| roles.get(i)) else {
            continue;
        };
        let written = match rules {
            Ok(rules) if role.rules.iter().eq(rules.iter().copied()) => Ok(()),
            Ok(rules) => apply(context, &role.object, &rules).await,
            // Only a change of the role can help, and that is noticed.
            Err(error) => Err(Error::terminal(error).into()),
        };
        if let Err(error) = written {
            failure = failure.or(Some(error));
        }
    }
    failure.map_or(Ok(Action::done()), Err)
}

/// Writes the rules of an aggregated role.
async fn apply(context: &Context, role: &ClusterRole, rules: &[&PolicyRule]) -> Result<()> {
    // The uid keeps a role that is deleted meanwhile from being created again.
    let mut object = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": role.name_any(), "uid": role.metadata.uid},
    });
    if !rules.is_empty() {
        object["rules"] = json!(rules);
    }
    let roles = context.client().cluster_api::<ClusterRole>();
    let how = PatchParams::apply(FIELD_MANAGER).force();
    let applied = roles
        .patch(&role.name_any(), &how, &Patch::Apply(object))
        .await;
    match applied {
        Err(error) if error.is_not_found() || error.is_conflict() => Ok(()),
        applied => Ok(applied.map(drop)?),
    }
}
