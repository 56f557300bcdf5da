//! Clusters with the objects of a snapshot file of etcd.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::{
    Api, ResourceExt,
    api::{DynamicObject, ListParams, PostParams},
    core::GroupVersionKind,
    discovery::ApiResource,
};
use kubewright_testing::TestCluster;

/// Written by `etcdctl snapshot save`: a namespace with ConfigMaps in JSON and in protobuf, of which one was deleted, a custom
/// resource with its definition, and a value that is encrypted.
const SNAPSHOT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../store-etcd/tests/snapshot.db"
);

#[tokio::test]
async fn a_snapshot_is_served_as_a_cluster() {
    let cluster = TestCluster::from_snapshot(SNAPSHOT).await.unwrap();
    let shop: Api<Namespace> = Api::all(cluster.client());
    assert!(shop.get("shop").await.unwrap().metadata.uid.is_some());
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client(), "shop");
    let list = maps.list(&ListParams::default()).await.unwrap();
    let colours: BTreeMap<String, String> = list
        .iter()
        .map(|map| (map.name_any(), map.data.as_ref().unwrap()["colour"].clone()))
        .collect();
    let expected = [("json", "blue"), ("protobuf", "green")];
    let expected = expected.map(|(name, colour)| (name.to_owned(), colour.to_owned()));
    assert_eq!(colours, expected.into());
    let star = GroupVersionKind::gvk("sky.example.com", "v1", "Star");
    let stars = ApiResource::from_gvk_with_plural(&star, "stars");
    let stars: Api<DynamicObject> = Api::namespaced_with(cluster.client(), "shop", &stars);
    assert_eq!(stars.get("sun").await.unwrap().data["spec"]["size"], 7);
    // Encrypted values are skipped.
    let secrets: Api<Secret> = Api::namespaced(cluster.client(), "shop");
    assert!(secrets.get_opt("sealed").await.unwrap().is_none());

    // The cluster takes writes, which follow those of the snapshot.
    let mut map = maps.get("json").await.unwrap();
    let before: u64 = map.resource_version().unwrap().parse().unwrap();
    map.data = Some([("colour".to_owned(), "grey".to_owned())].into());
    let changed = maps
        .replace("json", &PostParams::default(), &map)
        .await
        .unwrap();
    assert!(changed.resource_version().unwrap().parse::<u64>().unwrap() > before);
}

#[tokio::test]
async fn other_files_are_no_snapshots() {
    let this = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let error = TestCluster::from_snapshot(this)
        .await
        .err()
        .expect("an error");
    let text = error.to_string();
    assert!(text.contains("etcdctl snapshot save"), "{text}");
    let error = TestCluster::from_snapshot("missing.db")
        .await
        .err()
        .expect("an error");
    assert!(error.to_string().contains("missing.db"), "{error}");
}
