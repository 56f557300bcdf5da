//! Validation of objects by the server. No controller runs.

use kube::{Api, api::PostParams, core::DynamicObject};
use kubewright::{prelude::*, testing::TestCluster};
use serde_json::{Value, json};
use webapp_operator::api::v1::WebApp;

use crate::operator;

async fn cluster() -> TestCluster {
    let cluster = TestCluster::start().await;
    operator().install_on(&cluster).await.unwrap();
    cluster
}

/// Creates an app with that spec, and returns it, or the message of the server.
async fn submit(cluster: &TestCluster, spec: Value) -> Result<DynamicObject, String> {
    let manifest = json!({
        "apiVersion": "apps.example.com/v1",
        "kind": "WebApp",
        "metadata": {"generateName": "app-"},
        "spec": spec,
    });
    let object: DynamicObject = serde_json::from_value(manifest).unwrap();
    let resource = kube::core::ApiResource::erase::<WebApp>(&());
    let apps: Api<DynamicObject> = Api::default_namespaced_with(cluster.client(), &resource);
    let created = apps.create(&PostParams::default(), &object).await;
    created.map_err(|error| match error {
        kube::Error::Api(status) => status.message,
        other => other.to_string(),
    })
}

#[tokio::test]
async fn an_image_is_enough() {
    let app = submit(&cluster().await, json!({"image": "shop:1"})).await;
    assert_eq!(app.unwrap().data["spec"]["replicas"], 1);
}

#[tokio::test]
async fn invalid_apps_are_rejected_with_the_field() {
    let cluster = cluster().await;
    for (spec, field) in [
        (json!({}), "spec.image"),
        (json!({"image": ""}), "spec.image"),
        (json!({"image": "a", "replicas": -1}), "spec.replicas"),
        (json!({"image": "a", "host": "Not A Host"}), "spec.host"),
        (
            json!({"image": "a", "config": {"NOT-A-NAME": "x"}}),
            "spec.config: Invalid value: keys must be names of environment variables",
        ),
    ] {
        let message = submit(&cluster, spec).await.unwrap_err();
        assert!(message.contains(field), "{message}");
    }
}

#[tokio::test]
async fn an_app_can_be_scaled() {
    let cluster = cluster().await;
    submit(&cluster, json!({"image": "a"})).await.unwrap();
    let apps: Api<WebApp> = Api::default_namespaced(cluster.client());
    let name = apps.list(&Default::default()).await.unwrap().items[0]
        .metadata
        .name
        .clone()
        .unwrap();
    let patch = kube::api::Patch::Merge(json!({"spec": {"replicas": 5}}));
    apps.patch_scale(&name, &Default::default(), &patch)
        .await
        .unwrap();
    assert_eq!(apps.get(&name).await.unwrap().spec.replicas, 5);
}
