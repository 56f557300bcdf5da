//! The permissions of operators in tests.

use std::sync::Arc;

use k8s_openapi::api::{
    core::v1::{ConfigMap, Node, Secret},
    rbac::v1::{ClusterRole, PolicyRule, Role},
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

/// Lists nodes for every ConfigMap, without a rule for nodes.
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

/// Writes a role with access to pods for every ConfigMap, without having that access.
fn granter() -> Operator {
    Operator::new("granter", |operator| {
        operator.controller(Controller::for_::<ConfigMap>().owns::<Role>(), grant);
    })
}

async fn grant(ctx: Context<ConfigMap>, map: Arc<ConfigMap>) -> Result<Action> {
    let mut role = Role {
        rules: Some(vec![PolicyRule {
            api_groups: Some(vec!["".into()]),
            resources: Some(vec!["pods".into()]),
            verbs: vec!["get".into()],
            ..PolicyRule::default()
        }]),
        ..Role::default()
    };
    role.metadata.name = Some(map.name_any());
    ctx.apply_owned(role).await?;
    Ok(Action::done())
}

/// Changes the rules for a resource in the role of the keeper.
async fn change_rules(cluster: &TestCluster, resource: &str, change: impl Fn(&mut PolicyRule)) {
    let roles: Api<ClusterRole> = Api::all(cluster.client());
    let mut role = roles.get("keeper-manager-role").await.unwrap();
    let about = |list: &Option<Vec<String>>| list.iter().flatten().any(|it| it == resource);
    let rules = role.rules.iter_mut().flatten();
    rules.filter(|rule| about(&rule.resources)).for_each(change);
    let name = role.name_any();
    roles
        .replace(&name, &Default::default(), &role)
        .await
        .unwrap();
}

/// Removes the rules for a resource from the role of the keeper.
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
async fn operators_run_under_the_roles_of_their_model() {
    let cluster = keeper().start_test().await.unwrap();
    create(cluster.client(), "colours").await;
    cluster.settled().await.unwrap();
    let used = cluster.used_permissions(USER);
    let used: Vec<String> = used.iter().map(ToString::to_string).collect();
    for expected in [
        "watch configmaps",
        "watch secrets",
        r#"create secrets in the namespace "default""#,
        r#"patch secrets in the namespace "default""#,
    ] {
        assert!(used.iter().any(|it| it == expected), "{used:?}");
    }
    assert_eq!(cluster.denied_permissions(USER), []);
}

#[tokio::test(start_paused = true)]
async fn a_missing_rule_fails_the_test_and_is_printed() {
    let cluster = keeper().start_test().await.unwrap();
    create(cluster.client(), "colours").await;
    cluster.settled().await.unwrap();
    revoke(&cluster, "secrets").await;
    create(cluster.client(), "shapes").await;
    let error = cluster.settled().await.unwrap_err();
    let text = error.to_string();
    let expected = format!(
        r#"a request was denied: {USER} may not patch secrets "shapes" in the namespace "default"
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
async fn an_apply_that_creates_lacks_the_rule_to_create() {
    let cluster = keeper().start_test().await.unwrap();
    cluster.settled().await.unwrap();
    change_rules(&cluster, "secrets", |rule| {
        rule.verbs.retain(|verb| verb != "create");
    })
    .await;
    create(cluster.client(), "colours").await;
    let text = cluster.settled().await.unwrap_err().to_string();
    let expected = format!(
        r#"{USER} may not create secrets "colours" in the namespace "default"
add to the function that registers the operator:
    operator.rule("", &["secrets"], &["create"]);"#
    );
    assert!(text.contains(&expected), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_rule_for_other_objects_is_told_from_none() {
    let cluster = keeper().start_test().await.unwrap();
    change_rules(&cluster, "secrets", |rule| {
        rule.verbs.retain(|verb| verb != "patch");
    })
    .await;
    let narrow = PolicyRule {
        api_groups: Some(vec!["".into()]),
        resources: Some(vec!["secrets".into()]),
        resource_names: Some(vec!["colours".into()]),
        verbs: vec!["patch".into()],
        ..PolicyRule::default()
    };
    let roles: Api<ClusterRole> = Api::all(cluster.client());
    let mut role = roles.get("keeper-manager-role").await.unwrap();
    role.rules.as_mut().unwrap().push(narrow);
    let params = PostParams::default();
    let replaced = roles.replace("keeper-manager-role", &params, &role);
    replaced.await.unwrap();
    cluster.tolerate_denied(USER);
    for name in ["shapes", "colours"] {
        create(cluster.client(), name).await;
    }
    let _ = cluster.settled().await;
    let denied = cluster.denied_permissions(USER);
    let denied: Vec<String> = denied.iter().map(ToString::to_string).collect();
    let missing = r#"patch secrets "shapes" in the namespace "default""#;
    assert!(denied.iter().any(|it| it == missing), "{denied:?}");
    assert!(
        !denied.iter().any(|it| it.contains("colours")),
        "{denied:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_operator_that_grants_what_it_lacks_is_told_what_it_lacks() {
    let cluster = granter().start_test().await.unwrap();
    create(cluster.client(), "colours").await;
    let text = cluster.settled().await.unwrap_err().to_string();
    for expected in [
        r#" escalate roles.rbac.authorization.k8s.io "colours" in the namespace "default""#,
        r#"
add to the function that registers the operator:
    operator.rule("", &["pods"], &["get"]);
or to the rules of its role:
    - apiGroups: [""]
      resources: ["pods"]
      verbs: ["get"]
or, if it may grant what it does not have itself:
    operator.permit(PolicyRule::new("rbac.authorization.k8s.io", &["roles"], &["escalate"]).resource_names(&["colours""#,
    ] {
        assert!(text.contains(expected), "{text}");
    }

    // With the permission itself it may grant it, and nothing is missing any more.
    let roles: Api<ClusterRole> = Api::all(cluster.client());
    let mut role = roles.get("granter-manager-role").await.unwrap();
    role.rules.as_mut().unwrap().push(PolicyRule {
        api_groups: Some(vec!["".into()]),
        resources: Some(vec!["pods".into()]),
        verbs: vec!["get".into()],
        ..PolicyRule::default()
    });
    let params = PostParams::default();
    let replaced = roles.replace("granter-manager-role", &params, &role);
    replaced.await.unwrap();
    let granter = Operator::test_user(&granter());
    cluster.tolerate_denied(&granter);
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    let mut map = maps.get("colours").await.unwrap();
    map.data = Some([("red".to_owned(), "1".to_owned())].into());
    maps.replace("colours", &params, &map).await.unwrap();
    cluster.settled().await.unwrap();
    assert_eq!(cluster.denied_permissions(&granter), []);
}

#[tokio::test(start_paused = true)]
async fn an_undeclared_rule_fails_the_test() {
    let cluster = counter().start_test().await.unwrap();
    create(cluster.client(), "colours").await;
    let text = cluster.settled().await.unwrap_err().to_string();
    let rule = r#"operator.rule("", &["nodes"], &["get", "list", "watch"]);"#;
    assert!(text.contains(rule), "{text}");
}

#[tokio::test(start_paused = true)]
async fn denied_requests_can_be_tolerated() {
    let cluster = keeper().start_test().await.unwrap();
    revoke(&cluster, "configmaps/finalizers").await;
    cluster.tolerate_denied(USER);
    let nodes: Api<Node> = Api::all(cluster.client_as(USER));
    assert!(nodes.list(&Default::default()).await.is_err());
    cluster.settled().await.unwrap();
    assert_eq!(cluster.denied_permissions(USER).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn starting_an_operator_enables_rbac() {
    let cluster = counter()
        .start_on(TestCluster::start().await)
        .await
        .unwrap();
    create(cluster.client(), "colours").await;
    let text = cluster.settled().await.unwrap_err().to_string();
    assert!(text.contains(r#"&["nodes"]"#), "{text}");
}

#[test]
fn perturbed_operators_run_under_their_roles() {
    let story = |world: World| async move { create(world.client(), "colours").await };
    assert!(perturb(keeper, story).at_most(1).explore().is_success());
    let report = perturb(counter, story).explore();
    let text = report.to_string();
    assert!(!report.is_success(), "{text}");
    let rule = r#"operator.rule("", &["nodes"], &["get", "list", "watch"]);"#;
    assert!(text.contains(rule), "{text}");
}
