//! The behaviour that users see.

use k8s_openapi::{
    ByteString,
    api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Secret, Service},
        events::v1::Event,
        networking::v1::Ingress,
    },
};
use kube::{
    ResourceExt,
    api::{DeleteParams, ListParams, Patch},
};
use kubewright::{controller::leader_election::ElectionConfig, prelude::*, testing::TestCluster};
use serde_json::json;
use webapp_operator::api::v1::WebApp;

use crate::*;

fn secret(name: &str, password: &str) -> Secret {
    let mut secret = Secret {
        data: Some([("PASSWORD".to_owned(), ByteString(password.into()))].into()),
        ..Secret::default()
    };
    secret.metadata.name = Some(name.to_owned());
    secret
}

/// The annotation that changes when pods must be replaced.
async fn checksum(cluster: &TestCluster, name: &str) -> String {
    let deployment = api::<Deployment>(cluster).get(name).await.unwrap();
    let pod = deployment.spec.template.metadata.unwrap();
    pod.annotations.unwrap()["apps.example.com/checksum"].clone()
}

#[tokio::test(start_paused = true)]
async fn an_app_has_a_deployment_a_service_an_ingress_and_a_config_map() {
    let (cluster, _) = start().await;
    run(&cluster, &app("shop")).await;

    let deployment = api::<Deployment>(&cluster).get("shop").await.unwrap();
    let spec = &deployment.spec;
    assert_eq!(spec.replicas, Some(2));
    let container = &spec.template.spec.as_ref().unwrap().containers[0];
    assert_eq!(container.image.as_deref(), Some("shop:1"));
    let owner = &deployment.owner_references()[0];
    assert_eq!((&*owner.kind, &*owner.name), ("WebApp", "shop"));

    let map = api::<ConfigMap>(&cluster).get("shop").await.unwrap();
    assert_eq!(map.data.unwrap()["GREETING"], "hello");
    let service = api::<Service>(&cluster).get("shop").await.unwrap();
    assert_eq!(service.spec.unwrap().ports.unwrap()[0].port, 80);
    let ingress = api::<Ingress>(&cluster).get("shop").await.unwrap();
    let spec = ingress.spec.unwrap();
    assert_eq!(spec.ingress_class_name.as_deref(), Some("public"));
    let host = spec.rules.unwrap()[0].host.clone();
    assert_eq!(host.as_deref(), Some("shop.example.com"));
}

#[tokio::test(start_paused = true)]
async fn an_app_is_ready_when_its_pods_are() {
    let cluster = start_with_a_slow_node().await;
    run(&cluster, &app("shop")).await;
    let ready = ready_condition(&cluster, "shop").await;
    assert_eq!((&*ready.status, &*ready.reason), ("False", "Progressing"));

    cluster.time().advance(Duration::from_secs(60)).await;
    cluster.settled().await.unwrap();
    let app = api::<WebApp>(&cluster).get("shop").await.unwrap();
    let status = app.status.unwrap();
    assert!(status.conditions.is_true("Ready"));
    assert_eq!(status.ready_replicas, 2);
    assert_eq!(status.url.as_deref(), Some("http://shop.example.com"));
    let ready = status.conditions.find("Ready").unwrap();
    assert_eq!(ready.message, "2 of 2 replicas are ready");
    assert_eq!(ready.observed_generation, app.metadata.generation);
    let deployment = api::<Deployment>(&cluster).get("shop").await.unwrap();
    assert_eq!(deployment.status.unwrap().available_replicas, Some(2));

    let events = api::<Event>(&cluster)
        .list(&ListParams::default())
        .await
        .unwrap();
    let about_apps = events.iter().filter(|event| {
        let about = event.regarding.as_ref();
        about.is_some_and(|about| about.kind.as_deref() == Some("WebApp"))
    });
    let mut reasons: Vec<_> = about_apps.filter_map(|e| e.reason.clone()).collect();
    reasons.sort();
    assert_eq!(reasons, ["Available", "Progressing"]);
}

#[tokio::test(start_paused = true)]
async fn an_app_whose_pods_crash_is_not_ready() {
    let cluster = start_with_a_slow_node().await;
    run(&cluster, &app("shop")).await;
    cluster.time().advance(Duration::from_secs(60)).await;
    cluster.settled().await.unwrap();
    assert_eq!(ready_condition(&cluster, "shop").await.status, "True");

    // The new image crashes, and a rollout keeps the old pods.
    let images = cluster.nodes().unwrap().images();
    images.register("broken", Behavior::exits(1));
    change(&cluster, "shop", json!({"image": "broken:2"})).await;
    assert_eq!(ready_condition(&cluster, "shop").await.status, "True");

    // Without pods that run, it is not ready.
    change(&cluster, "shop", json!({"replicas": 4})).await;
    let ready = ready_condition(&cluster, "shop").await;
    assert_eq!((&*ready.status, &*ready.reason), ("False", "Progressing"));
}

#[tokio::test(start_paused = true)]
async fn an_app_that_loses_its_host_loses_its_ingress_and_its_record() {
    let (cluster, dns) = start().await;
    run(&cluster, &app("shop")).await;
    assert_eq!(
        dns.host("default/shop").as_deref(),
        Some("shop.example.com")
    );

    change(&cluster, "shop", json!({"host": "store.example.com"})).await;
    assert_eq!(
        dns.host("default/shop").as_deref(),
        Some("store.example.com")
    );
    change(&cluster, "shop", json!({"host": null})).await;
    assert_eq!(dns.host("default/shop"), None);
    let ingresses = api::<Ingress>(&cluster);
    assert!(ingresses.get_opt("shop").await.unwrap().is_none());
    let app = api::<WebApp>(&cluster).get("shop").await.unwrap();
    assert_eq!(app.status.unwrap().url, None);

    let metrics = cluster.manager().registry().encode();
    assert!(
        metrics.contains("webapp_dns_changes_total{namespace=\"default\"} 3"),
        "{metrics}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_changed_secret_rolls_the_apps_that_use_it_and_no_others() {
    let (cluster, _) = start().await;
    create(&cluster, &secret("keys", "old")).await;
    let mut user = app("shop");
    user.spec.secret = Some("keys".to_owned());
    run(&cluster, &user).await;
    run(&cluster, &app("blog")).await;
    let before = (
        checksum(&cluster, "shop").await,
        checksum(&cluster, "blog").await,
    );
    let runs = || {
        cluster
            .manager()
            .controller("webapp")
            .unwrap()
            .status()
            .runs
    };
    let runs_before = runs();

    let patch = Patch::Merge(json!({"stringData": {"PASSWORD": "new"}}));
    api::<Secret>(&cluster)
        .patch("keys", &Default::default(), &patch)
        .await
        .unwrap();
    cluster.settled().await.unwrap();
    assert_ne!(checksum(&cluster, "shop").await, before.0);
    assert_eq!(checksum(&cluster, "blog").await, before.1);
    // One run for the Secret, and one for the Deployment that it changed.
    assert_eq!(runs() - runs_before, 2);
}

#[tokio::test(start_paused = true)]
async fn a_missing_secret_is_reported_and_waited_for() {
    let cluster = operator().start_test_with_nodes(1).await.unwrap();
    let mut user = app("shop");
    user.spec.secret = Some("keys".to_owned());
    run(&cluster, &user).await;
    assert_eq!(
        ready_condition(&cluster, "shop").await.reason,
        "SecretMissing"
    );

    create(&cluster, &secret("keys", "new")).await;
    cluster.settled().await.unwrap();
    assert_eq!(ready_condition(&cluster, "shop").await.reason, "Available");
}

#[tokio::test(start_paused = true)]
async fn changes_of_others_are_reverted() {
    let (cluster, _) = start().await;
    run(&cluster, &app("shop")).await;
    let services = api::<Service>(&cluster);
    services
        .delete("shop", &DeleteParams::default())
        .await
        .unwrap();
    let patch = Patch::Merge(json!({"spec": {"replicas": 7}}));
    let deployments = api::<Deployment>(&cluster);
    deployments
        .patch("shop", &Default::default(), &patch)
        .await
        .unwrap();
    cluster.settled().await.unwrap();
    assert!(services.get_opt("shop").await.unwrap().is_some());
    let deployment = deployments.get("shop").await.unwrap();
    assert_eq!(deployment.spec.replicas, Some(2));
}

#[tokio::test(start_paused = true)]
async fn a_deleted_app_gives_up_its_host_and_its_objects() {
    let (cluster, dns) = start().await;
    run(&cluster, &app("shop")).await;
    let apps = api::<WebApp>(&cluster);
    let stored = apps.get("shop").await.unwrap();
    assert_eq!(stored.finalizers(), ["apps.example.com/dns"]);

    apps.delete("shop", &DeleteParams::default()).await.unwrap();
    cluster.settled().await.unwrap();
    assert!(apps.get_opt("shop").await.unwrap().is_none());
    assert_eq!(dns.host("default/shop"), None);
    let deployments = api::<Deployment>(&cluster);
    assert!(deployments.get_opt("shop").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_second_replica_takes_over_when_the_first_one_dies() {
    let cluster = TestCluster::start().await;
    operator().install_on(&cluster).await.unwrap();
    let replica = |identity: &str| {
        let election = ElectionConfig::new("webapp", "default").identity(identity);
        let manager = Manager::builder(cluster.client()).leader_election(election);
        operator().build(manager).unwrap()
    };
    let (first, second) = (replica("first"), replica("second"));
    let leading = cluster.run(&first);
    cluster.settled().await.unwrap();
    let _waiting = cluster.run(&second);
    run(&cluster, &app("shop")).await;
    leading.kill();
    run(&cluster, &app("blog")).await;
    assert!(second.is_leading());
    let deployments = api::<Deployment>(&cluster);
    assert!(deployments.get_opt("blog").await.unwrap().is_some());
}

#[test]
fn the_operator_may_read_secrets_and_not_write_them() {
    let model = operator().model().unwrap();
    let about_secrets = |rule: &&kubewright::operator::PolicyRule| {
        rule.resources.iter().any(|resource| resource == "secrets")
    };
    let rules: Vec<_> = model.rules.iter().filter(about_secrets).collect();
    assert_eq!(rules.len(), 1);
    assert_eq!(rules[0].verbs, ["get", "list", "watch"]);
}
