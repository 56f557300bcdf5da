//! A server takes what was made.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, ResourceExt,
    api::PostParams,
    core::{ApiResource, DynamicObject, GroupVersionKind},
};
use kubewright_scaffold::generate::Target;
use kubewright_testing::TestCluster;
use serde_json::json;

use super::{golden_definitions, model, parsed, rendered};

#[tokio::test]
async fn samples_are_taken_by_the_server() {
    let definitions = golden_definitions().into_iter().map(|(_, it)| it).collect();
    let model = model(definitions, json!([]));
    let cluster = TestCluster::start().await;
    let api: Api<CustomResourceDefinition> = Api::all(cluster.client());
    for definition in parsed(&rendered(&model, Target::Crd)) {
        let definition = serde_json::from_value(definition).unwrap();
        api.create(&PostParams::default(), &definition)
            .await
            .unwrap();
    }
    let samples = parsed(&rendered(&model, Target::Samples));
    assert_eq!(samples.len(), 12);
    for sample in samples {
        let object: DynamicObject = serde_json::from_value(sample.clone()).unwrap();
        let types = object.types.clone().unwrap();
        let (group, version) = types.api_version.split_once('/').unwrap();
        let gvk = GroupVersionKind::gvk(group, version, &types.kind);
        let definition = model
            .crds
            .iter()
            .find(|it| it["spec"]["names"]["kind"] == types.kind)
            .unwrap();
        let plural = definition["spec"]["names"]["plural"].as_str().unwrap();
        let resource = ApiResource::from_gvk_with_plural(&gvk, plural);
        let api: Api<DynamicObject> = match definition["spec"]["scope"] == "Namespaced" {
            true => Api::default_namespaced_with(cluster.client(), &resource),
            false => Api::all_with(cluster.client(), &resource),
        };
        let strict = PostParams {
            field_manager: None,
            dry_run: true,
        };
        let taken = api.create(&strict, &object).await;
        assert!(taken.is_ok(), "{sample:#}: {:?}", taken.err());
    }
}

#[tokio::test]
async fn the_installer_is_taken_by_the_server_in_its_order() {
    let definitions = golden_definitions().into_iter().map(|(_, it)| it).collect();
    let rules =
        json!([{"apiGroups": ["golden.example.com"], "resources": ["caps"], "verbs": ["get"]}]);
    let model = model(definitions, rules);
    let cluster = TestCluster::start().await;
    let client = cluster.client();
    for value in parsed(&rendered(&model, Target::Yaml)) {
        let object: DynamicObject = serde_json::from_value(value).unwrap();
        let types = object.types.clone().unwrap();
        let (group, version) = types
            .api_version
            .split_once('/')
            .unwrap_or(("", &types.api_version));
        let gvk = GroupVersionKind::gvk(group, version, &types.kind);
        let resource = ApiResource::from_gvk(&gvk);
        let api: Api<DynamicObject> = match object.namespace() {
            Some(namespace) => Api::namespaced_with(client.clone(), &namespace, &resource),
            None => Api::all_with(client.clone(), &resource),
        };
        let taken = api.create(&PostParams::default(), &object).await;
        assert!(
            taken.is_ok(),
            "{} {}: {:?}",
            types.kind,
            object.name_any(),
            taken.err()
        );
    }
}
