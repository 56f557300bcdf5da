//! Cluster roles whose rules are gathered from others.

use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use kubewright_controller::wait::wait_for;
use serde_json::{Value, json};

use crate::fixture::{Fixture, LONG};

struct Roles(Fixture);

impl Roles {
    async fn start() -> Self {
        Self(Fixture::start("clusterrole-aggregation").await)
    }

    fn api(&self) -> Api<ClusterRole> {
        Api::all(self.0.client())
    }

    /// Creates a role with a label, made of those with other labels, with rules of single verbs.
    async fn create(&self, name: &str, label: &str, from: &[&str], verbs: &[&str]) {
        let mut role = json!({
            "metadata": {"name": name, "labels": {label: "true"}},
            "rules": verbs.iter().map(|verb| rule(verb)).collect::<Vec<_>>(),
        });
        if !from.is_empty() {
            let selectors = from
                .iter()
                .map(|label| json!({"matchLabels": {*label: "true"}}));
            role["aggregationRule"] =
                json!({"clusterRoleSelectors": selectors.collect::<Vec<_>>()});
        }
        let role: ClusterRole = serde_json::from_value(role).unwrap();
        self.api()
            .create(&PostParams::default(), &role)
            .await
            .unwrap();
    }

    async fn change(&self, name: &str, patch: Value) {
        let patch = Patch::Merge(patch);
        let how = PatchParams::default();
        self.api().patch(name, &how, &patch).await.unwrap();
    }

    /// Waits until a role has rules of these verbs.
    async fn until(&self, name: &str, wanted: &[&str]) -> ClusterRole {
        let has = |role: Option<&ClusterRole>| role.is_some_and(|role| verbs(role) == wanted);
        let found = wait_for(&self.api(), name, LONG, has).await;
        found
            .unwrap_or_else(|error| panic!("{name} has not {wanted:?}: {error}"))
            .unwrap()
    }
}

fn rule(verb: &str) -> Value {
    json!({"apiGroups": [""], "resources": ["pods"], "verbs": [verb]})
}

fn verbs(role: &ClusterRole) -> Vec<&str> {
    let rules = role.rules.iter().flatten();
    rules.map(|rule| rule.verbs[0].as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_labelled_roles_flow_into_aggregated_ones() {
    let roles = Roles::start().await;
    roles
        .create("all", "none", &["second", "first"], &["own"])
        .await;
    roles.create("b", "first", &[], &["get", "list"]).await;
    roles.until("all", &["get", "list"]).await;
    roles.create("a", "first", &[], &["watch", "get"]).await;
    roles.until("all", &["watch", "get", "list"]).await;
    roles.create("z", "second", &[], &["delete"]).await;
    let all = roles
        .until("all", &["delete", "watch", "get", "list"])
        .await;
    let applied = all.managed_fields().iter().any(|entry| {
        entry.manager.as_deref() == Some("clusterrole-aggregation-controller")
            && entry.operation.as_deref() == Some("Apply")
    });
    assert!(applied);

    roles.change("all", json!({"rules": []})).await;
    roles
        .until("all", &["delete", "watch", "get", "list"])
        .await;
    roles.change("b", json!({"rules": [rule("patch")]})).await;
    roles
        .until("all", &["delete", "watch", "get", "patch"])
        .await;
    let gone = roles.api().delete("z", &DeleteParams::default()).await;
    gone.unwrap();
    roles.until("all", &["watch", "get", "patch"]).await;
    roles
        .change("a", json!({"metadata": {"labels": null}}))
        .await;
    roles
        .change("b", json!({"metadata": {"labels": null}}))
        .await;
    roles.until("all", &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_flow_through_chains_of_aggregated_roles() {
    let roles = Roles::start().await;
    roles.create("admin", "none", &["to-admin"], &[]).await;
    roles.create("edit", "to-admin", &["to-edit"], &[]).await;
    roles.create("view", "to-edit", &["to-view"], &[]).await;
    roles.create("part", "to-view", &[], &["get"]).await;
    roles.until("admin", &["get"]).await;
    roles
        .change("part", json!({"rules": [rule("get"), rule("list")]}))
        .await;
    roles.until("admin", &["get", "list"]).await;
    for name in ["edit", "view"] {
        roles.until(name, &["get", "list"]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_that_are_made_of_each_other_come_to_rest() {
    let roles = Roles::start().await;
    for (name, from) in [("a", "b"), ("b", "c"), ("c", "a")] {
        roles.create(name, name, &[from, "leaf"], &[]).await;
    }
    roles.create("leaf", "leaf", &[], &["get"]).await;
    for name in ["a", "b", "c"] {
        roles.until(name, &["get"]).await;
    }
    roles.change("leaf", json!({"rules": [rule("list")]})).await;
    for name in ["a", "b", "c"] {
        roles.until(name, &["list"]).await;
    }
    roles.0.settled().await;
    let versions = || async {
        let list = roles.api().list(&Default::default()).await.unwrap();
        let versions = list.items.into_iter().map(|role| role.resource_version());
        versions.collect::<Vec<_>>()
    };
    let before = versions().await;
    // A change that concerns no aggregated role makes them be looked at once more.
    roles.create("other", "other", &[], &["get"]).await;
    roles.0.settled().await;
    let after = versions().await;
    assert!(before.iter().all(|version| after.contains(version)));
}
