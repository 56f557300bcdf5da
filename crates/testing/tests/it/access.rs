//! Users of a test cluster, and their permissions.

use k8s_openapi::api::{
    authentication::v1::SelfSubjectReview,
    core::v1::{ConfigMap, Secret},
    rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject},
};
use kube::{
    Api, Client, Config,
    api::{ListParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use kubewright_controller::{Action, Context, Controller, Manager, Request};
use kubewright_testing::{ClusterUser, Permission, TestCluster};

const WEB: &str = "system:serviceaccount:shop:web";

/// Lets a user read ConfigMaps everywhere.
async fn grant(client: Client, user: &str) {
    let mut role = ClusterRole::default();
    role.metadata.name = Some("reader".into());
    role.rules = Some(vec![PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec!["configmaps".into()]),
        verbs: ["get", "list", "watch"].map(str::to_owned).into(),
        ..PolicyRule::default()
    }]);
    let roles: Api<ClusterRole> = Api::all(client.clone());
    roles.create(&PostParams::default(), &role).await.unwrap();
    let mut binding = ClusterRoleBinding {
        role_ref: RoleRef {
            api_group: Some("rbac.authorization.k8s.io".into()),
            kind: "ClusterRole".into(),
            name: "reader".into(),
        },
        subjects: Some(vec![Subject {
            api_group: Some("rbac.authorization.k8s.io".into()),
            kind: "User".into(),
            name: user.into(),
            namespace: None,
        }]),
        ..ClusterRoleBinding::default()
    };
    binding.metadata.name = Some("reader".into());
    let bindings: Api<ClusterRoleBinding> = Api::all(client);
    let created = bindings.create(&PostParams::default(), &binding).await;
    created.unwrap();
}

async fn who(client: Client) -> (String, Vec<String>) {
    let reviews: Api<SelfSubjectReview> = Api::all(client);
    let review = SelfSubjectReview::default();
    let review = reviews.create(&PostParams::default(), &review).await;
    let user = review.unwrap().status.unwrap().user_info.unwrap();
    (user.username.unwrap(), user.groups.unwrap())
}

async fn lists_maps(client: Client) -> Result<(), kube::Error> {
    let maps: Api<ConfigMap> = Api::all(client);
    maps.list(&ListParams::default()).await.map(drop)
}

#[tokio::test]
async fn clients_act_as_the_requested_user() {
    let cluster = TestCluster::builder().rbac().start().await;
    let (name, groups) = who(cluster.client()).await;
    assert_eq!(name, "admin");
    assert_eq!(groups, ["system:masters", "system:authenticated"]);
    let (name, groups) = who(cluster.client_as("alice=dev,ops")).await;
    assert_eq!(name, "alice");
    assert_eq!(groups, ["dev", "ops", "system:authenticated"]);
    let (name, groups) = who(cluster.client_as(WEB)).await;
    assert_eq!(name, WEB);
    let expected = [
        "system:serviceaccounts",
        "system:serviceaccounts:shop",
        "system:authenticated",
    ];
    assert_eq!(groups, expected);
    assert_eq!(cluster.client_as(WEB).default_namespace(), "shop");
}

#[tokio::test]
#[should_panic(expected = "is not a valid user: expected system:serviceaccount:NAMESPACE:NAME")]
async fn an_invalid_user_panics() {
    TestCluster::start()
        .await
        .client_as("system:serviceaccount:shop");
}

#[tokio::test]
async fn without_rbac_everything_is_allowed_and_no_roles_exist() {
    let cluster = TestCluster::start().await;
    lists_maps(cluster.client_as("alice")).await.unwrap();
    let roles: Api<ClusterRole> = Api::all(cluster.client());
    let roles = roles.list(&ListParams::default()).await.unwrap();
    assert_eq!(roles.items, []);
}

#[tokio::test]
async fn with_rbac_grants_take_effect_before_the_response() {
    let cluster = TestCluster::builder().rbac().start().await;
    let denied = lists_maps(cluster.client_as(WEB)).await.unwrap_err();
    let kube::Error::Api(status) = denied else {
        panic!("{denied}");
    };
    assert_eq!(
        (status.code, status.message.as_str()),
        (
            403,
            r#"configmaps is forbidden: User "system:serviceaccount:shop:web" cannot list resource "configmaps" in API group "" at the cluster scope"#
        )
    );
    let missing = Permission::of_resource("list", "", "configmaps", "", "");
    assert_eq!(
        cluster.denied_permissions(WEB),
        std::slice::from_ref(&missing)
    );
    grant(cluster.client(), WEB).await;
    lists_maps(cluster.client_as(WEB)).await.unwrap();
    assert_eq!(cluster.denied_permissions(WEB), []);
    assert_eq!(cluster.used_permissions(WEB), [missing]);
    assert!(lists_maps(cluster.client_as("alice")).await.is_err());
}

#[tokio::test]
async fn a_fork_has_the_same_roles_and_enforces_them() {
    let cluster = TestCluster::builder().rbac().start().await;
    grant(cluster.client(), WEB).await;
    let fork = cluster.fork().await;
    lists_maps(fork.client_as(WEB)).await.unwrap();
    assert!(lists_maps(fork.client_as("alice")).await.is_err());
    assert_eq!(fork.revision().await, cluster.revision().await);
}

#[tokio::test]
async fn rbac_can_be_enabled_later_and_twice() {
    let cluster = TestCluster::start().await;
    lists_maps(cluster.client_as("alice")).await.unwrap();
    cluster.enable_rbac().await;
    let revision = cluster.revision().await;
    cluster.enable_rbac().await;
    assert_eq!(cluster.revision().await, revision);
    assert!(lists_maps(cluster.client_as("alice")).await.is_err());
    lists_maps(cluster.client()).await.unwrap();
}

#[tokio::test]
async fn requests_without_a_token_are_anonymous_on_a_socket() {
    let cluster = TestCluster::builder().rbac().start().await;
    grant(cluster.client(), WEB).await;
    let user: ClusterUser = WEB.parse().unwrap();
    let mut endpoint = cluster.listen().await.unwrap();
    endpoint.add_user(cluster.credential(&user).await.unwrap());
    let kubeconfig = Kubeconfig::from_yaml(&endpoint.kubeconfig()).unwrap();
    let client = async |context: Option<&str>| {
        let options = KubeConfigOptions {
            context: context.map(str::to_owned),
            ..KubeConfigOptions::default()
        };
        let config = Config::from_custom_kubeconfig(kubeconfig.clone(), &options).await;
        config.unwrap()
    };
    let admin = Client::try_from(client(None).await).unwrap();
    assert_eq!(who(admin).await.0, "admin");
    let web = Client::try_from(client(Some(WEB)).await).unwrap();
    lists_maps(web).await.unwrap();
    let mut nobody = client(None).await;
    nobody.auth_info = Default::default();
    let denied = lists_maps(Client::try_from(nobody).unwrap()).await;
    let denied = denied.unwrap_err().to_string();
    assert!(denied.contains("system:anonymous"), "{denied}");
}

#[tokio::test(start_paused = true)]
async fn a_denied_request_fails_settled_with_the_missing_rule() {
    let cluster = TestCluster::builder().rbac().start().await;
    grant(cluster.client(), WEB).await;
    let manager = Manager::new(cluster.client_as(WEB));
    Controller::for_::<ConfigMap>()
        .owns::<Secret>()
        .build(&manager, |_: Context, _: Request| async {
            Ok(Action::done())
        })
        .unwrap();
    cluster.fail_on_denied(WEB);
    let _running = cluster.run(&manager);
    let text = cluster.settled().await.unwrap_err().to_string();
    let rule = r#"operator.rule("", &["secrets"], &["get", "list", "watch"]);"#;
    assert!(text.contains(rule), "{text}");
    let yaml = "    - apiGroups: [\"\"]\n      resources: [\"secrets\"]\n      verbs: [\"get\", \"list\", \"watch\"]";
    assert!(text.contains(yaml), "{text}");
}
