//! Clusters that are kept in a directory: what is there after a restart, and what is refused.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use k8s_openapi::{
    api::{authentication::v1::TokenReview, core::v1::ConfigMap},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, ResourceExt,
    api::{DynamicObject, PostParams, WatchEvent, WatchParams},
    discovery::ApiResource,
};
use kubewright_cluster::{Cluster, Controllers, Credential, DataDir, Error, OpenError, SyncMode};
use serde_json::{Value, json};

/// A directory that goes away with its owner.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("data-{}-{number}", std::process::id());
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

async fn start(folder: &Folder) -> Cluster {
    // The tests are about what is kept, and share a disk with others.
    let directory = DataDir::new(&folder.0).sync(SyncMode::Process);
    let started = Cluster::builder().data_dir(directory).start().await;
    started.unwrap()
}

fn typed<K: serde::de::DeserializeOwned>(object: Value) -> K {
    serde_json::from_value(object).unwrap()
}

fn map(name: &str, colour: &str) -> ConfigMap {
    typed(json!({"metadata": {"name": name}, "data": {"colour": colour}}))
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_have_the_same_versions_after_a_restart() {
    let folder = Folder::new();
    let cluster = start(&folder).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    let post = PostParams::default();
    let kept = maps.create(&post, &map("kept", "red")).await.unwrap();
    maps.create(&post, &map("gone", "red")).await.unwrap();
    maps.delete("gone", &Default::default()).await.unwrap();
    cluster.stop().await.unwrap();

    let cluster = start(&folder).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    assert_eq!(maps.get("kept").await.unwrap(), kept);
    assert!(maps.get_opt("gone").await.unwrap().is_none());
    let created = maps.create(&post, &map("new", "red")).await.unwrap();
    let version = |map: &ConfigMap| map.resource_version().unwrap().parse::<u64>().unwrap();
    assert!(version(&created) > version(&kept));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_resumes_by_resource_version_after_a_restart() {
    let folder = Folder::new();
    let cluster = start(&folder).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    let post = PostParams::default();
    let first = maps.create(&post, &map("first", "red")).await.unwrap();
    maps.create(&post, &map("second", "red")).await.unwrap();
    // Dropped without a stop, as if the process had been killed.
    drop(cluster);

    let cluster = start(&folder).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    maps.create(&post, &map("third", "red")).await.unwrap();
    let version = first.resource_version().unwrap();
    let watch = maps.watch(&WatchParams::default(), &version).await.unwrap();
    let mut watch = std::pin::pin!(watch);
    let mut seen = Vec::new();
    while seen.len() < 2 {
        let next = futures_util::StreamExt::next(&mut watch);
        let event = tokio::time::timeout(Duration::from_secs(60), next).await;
        match event.expect("an event in time").unwrap().unwrap() {
            WatchEvent::Added(map) => seen.push(map.name_any()),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(seen, ["second", "third"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_and_kubeconfigs_outlive_a_restart() {
    let folder = Folder::new();
    let listening = || {
        let directory = DataDir::new(&folder.0).sync(SyncMode::Process);
        Cluster::builder()
            .data_dir(directory)
            .controllers(Controllers::default())
            .listen("127.0.0.1:0".parse().unwrap())
    };
    let cluster = listening().start().await.unwrap();
    let web = "system:serviceaccount:default:web".parse().unwrap();
    let user = cluster.credential(&web).await.unwrap();
    let Credential::Token(token) = user.credential else {
        panic!("no token");
    };
    let before = cluster.endpoint().unwrap().kubeconfig();
    let authority = cluster.front_proxy_authority().certificate_pem().to_owned();
    cluster.stop().await.unwrap();

    let cluster = listening().start().await.unwrap();
    let after = cluster.endpoint().unwrap().kubeconfig();
    let without_port = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.contains("server:"));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(without_port(&after), without_port(&before));
    let proxies = cluster.front_proxy_authority().certificate_pem();
    assert_eq!(proxies, authority);
    let reviews: Api<TokenReview> = Api::all(cluster.client());
    let review = typed(json!({"metadata": {}, "spec": {"token": token}}));
    let review = reviews.create(&PostParams::default(), &review).await;
    let status = review.unwrap().status.unwrap();
    assert_eq!(status.authenticated, Some(true), "{status:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn custom_resources_are_served_after_a_restart() {
    let folder = Folder::new();
    let cluster = start(&folder).await;
    let crds: Api<CustomResourceDefinition> = Api::all(cluster.client());
    let crd = typed(json!({
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}}}]},
    }));
    let post = PostParams::default();
    crds.create(&post, &crd).await.unwrap();
    let resource = ApiResource {
        group: "example.com".into(),
        version: "v1".into(),
        api_version: "example.com/v1".into(),
        kind: "Widget".into(),
        plural: "widgets".into(),
    };
    let widgets = |cluster: &Cluster| -> Api<DynamicObject> {
        Api::default_namespaced_with(cluster.client(), &resource)
    };
    let widget = typed(json!({
        "apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": "w"}, "spec": {"size": 3},
    }));
    let before = widgets(&cluster).create(&post, &widget).await.unwrap();
    cluster.stop().await.unwrap();

    let cluster = start(&folder).await;
    assert_eq!(widgets(&cluster).get("w").await.unwrap(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_is_used_by_one_cluster_at_a_time() {
    let folder = Folder::new();
    let first = start(&folder).await;
    let second = Cluster::builder().data_dir(&folder.0).start().await;
    let Err(Error::DataDir(OpenError::Locked { holder, .. })) = second else {
        panic!("the directory was opened twice");
    };
    let own = format!("process {}", std::process::id());
    assert!(holder.starts_with(&own), "{holder}");
    drop(first);
    start(&folder).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_cannot_be_read_is_named() {
    let folder = Folder::new();
    drop(start(&folder).await);
    fs::write(folder.0.join("keys/sa.key"), "nonsense").unwrap();
    let started = Cluster::builder().data_dir(&folder.0).start().await;
    let error = started.err().expect("an error").to_string();
    assert!(error.contains("keys/sa.key: "), "{error}");
    assert!(error.contains("remove the file"), "{error}");
}
