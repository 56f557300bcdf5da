//! An operator in a test runs under its own roles.

use std::sync::Arc;

use k8s_openapi::api::{
    core::v1::{ConfigMap, Node, Secret},
    rbac::v1::ClusterRole,
};
use kube::{Api, ResourceExt, api::PostParams};
use kubewright_controller::{Action, Context, Controller, Result};
use kubewright_operator::Operator;
use kubewright_testing::{TestCluster, World, perturb};

const USER: &str = "system:serviceaccount:keeper-system:keeper-controller-manager";

/// Keeps a Secret for every ConfigMap.
fn keeper() -> Operator {
    Operator::new("keeper", |operator| {
        operator.controller(Controller::for_::<ConfigMap>().owns::<Secret>(), keep);
    })
}

async fn keep(ctx: Context<ConfigMap>, map: Arc<ConfigMap>) -> Result<Action> {
    let mut secret = Secret {
        string_data: map.data.clone(),
        ..Secret::default()
    };
    secret.metadata.name = Some(map.name_any());
    ctx.apply_owned(secret).await?;
    Ok(Action::done())
}

/// Counts nodes for every ConfigMap, and has no rule for nodes.
fn counter() -> Operator {
    Operator::new("counter", |operator| {
        operator.controller(Controller::for_::<ConfigMap>(), count);
    })
}

async fn count(ctx: Context<ConfigMap>, _: Arc<ConfigMap>) -> Result<Action> {
    let nodes: Api<Node> = Api::all(ctx.client().live());
    nodes.list(&Default::default()).await?;
    Ok(Action::done())
}

async fn create(client: kube::Client, name: &str) {
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.into());
    maps.create(&PostParams::default(), &map).await.unwrap();
}

/// Removes the rules about a resource from the role of the keeper.
async fn revoke(cluster: &TestCluster, resource: &str) {
    let roles: Api<ClusterRole> = Api::all(cluster.client());
    let mut role = roles.get("keeper-manager-role").await.unwrap();
    let rules = role.rules.as_mut().unwrap();
    let about = |list: &Option<Vec<String>>| list.iter().flatten().any(|it| it == resource);
    rules.retain(|rule| !about(&rule.resources));
    let name = role.name_any();
    roles
        .replace(&name, &Default::default(), &role)
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_operator_runs_as_its_service_account_with_the_roles_of_its_model() {
    let cluster = keeper().start_test().await.unwrap();
    create(cluster.client(), "colours").await;
    cluster.settled().await.unwrap();
    let used = cluster.used_permissions(USER);
    let used: Vec<String> = used.iter().map(ToString::to_string).collect();
    for expected in [
        "watch configmaps",
        "watch secrets",
        r#"patch secrets in the namespace "default""#,
    ] {
        assert!(used.iter().any(|it| it == expected), "{used:?}");
    }
    assert_eq!(cluster.denied_permissions(USER), []);
}

#[tokio::test(start_paused = true)]
async fn a_removed_rule_fails_the_test_and_is_named_ready_to_paste() {
    let cluster = keeper().start_test().await.unwrap();
    create(cluster.client(), "colours").await;
    cluster.settled().await.unwrap();
    revoke(&cluster, "secrets").await;
    create(cluster.client(), "shapes").await;
    let error = cluster.settled().await.unwrap_err();
    let text = error.to_string();
    let expected = format!(
        r#"a request was denied: {USER} may not patch secrets in the namespace "default"
add to the function that registers the operator:
    operator.rule("", &["secrets"], &["patch"]);
or to the rules of its role:
    - apiGroups: [""]
      resources: ["secrets"]
      verbs: ["patch"]"#
    );
    assert!(text.contains(&expected), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_nobody_declared_is_missed_at_once() {
    let cluster = counter().start_test().await.unwrap();
    create(cluster.client(), "colours").await;
    let text = cluster.settled().await.unwrap_err().to_string();
    let rule = r#"operator.rule("", &["nodes"], &["get", "list", "watch"]);"#;
    assert!(text.contains(rule), "{text}");
}

#[tokio::test(start_paused = true)]
async fn an_operator_may_expect_to_be_denied() {
    let cluster = keeper().start_test().await.unwrap();
    revoke(&cluster, "configmaps/finalizers").await;
    cluster.tolerate_denied(USER);
    let nodes: Api<Node> = Api::all(cluster.client_as(USER));
    assert!(nodes.list(&Default::default()).await.is_err());
    cluster.settled().await.unwrap();
    assert_eq!(cluster.denied_permissions(USER).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_was_open_enforces_roles_once_an_operator_is_started_on_it() {
    let cluster = counter()
        .start_on(TestCluster::start().await)
        .await
        .unwrap();
    create(cluster.client(), "colours").await;
    let text = cluster.settled().await.unwrap_err().to_string();
    assert!(text.contains(r#"&["nodes"]"#), "{text}");
}

#[test]
fn a_perturbed_operator_runs_under_its_roles_too() {
    let story = |world: World| async move { create(world.client(), "colours").await };
    assert!(perturb(keeper, story).at_most(1).explore().is_success());
    let report = perturb(counter, story).explore();
    let text = report.to_string();
    assert!(!report.is_success(), "{text}");
    let rule = r#"operator.rule("", &["nodes"], &["get", "list", "watch"]);"#;
    assert!(text.contains(rule), "{text}");
}
