//! Clusters with a data directory: their contents after a restart, and errors.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use k8s_openapi::{
    api::{
        authentication::v1::TokenReview,
        core::v1::{ConfigMap, Endpoints},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, ResourceExt,
    api::{DynamicObject, PostParams, WatchEvent, WatchParams},
    discovery::ApiResource,
};
use kubewright_cluster::{Cluster, Controllers, Credential, DataDir, Error, OpenError, SyncMode};
use kubewright_informer::SharedInformerFactory;
use serde_json::{Value, json};

use crate::start::client_of;

/// A directory that is removed when dropped.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
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
    // Syncs are disabled: the tests are not about power failures, and share a disk.
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
    // Dropped without a stop, like a process that is killed.
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
async fn a_restart_on_another_port_corrects_the_service_of_the_server() {
    let folder = Folder::new();
    let listening = || {
        let directory = DataDir::new(&folder.0).sync(SyncMode::Process);
        let builder = Cluster::builder().data_dir(directory);
        builder.listen("127.0.0.1:0".parse().unwrap()).start()
    };
    let own_port = async |cluster: &Cluster| {
        let port = i32::from(cluster.endpoint().unwrap().address().port());
        let endpoints: Api<Endpoints> = Api::default_namespaced(cluster.client());
        let endpoints = endpoints.get("kubernetes").await.unwrap();
        let subsets = endpoints.subsets.unwrap();
        assert_eq!(subsets[0].ports.as_ref().unwrap()[0].port, port);
        port as u16
    };
    let cluster = listening().await.unwrap();
    let port = own_port(&cluster).await;
    cluster.stop().await.unwrap();
    let _taken = std::net::TcpListener::bind(("127.0.0.1", port));
    let cluster = listening().await.unwrap();
    assert_ne!(own_port(&cluster).await, port);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_history_of_an_object_survives_a_restart() {
    let folder = Folder::new();
    let start = async || {
        let directory = DataDir::new(&folder.0).sync(SyncMode::Process);
        let directory = directory.history(Duration::from_secs(3600));
        let cluster = Cluster::builder()
            .data_dir(directory)
            .ledger(kubewright_ledger::Ledger::default());
        cluster.start().await.unwrap()
    };
    let cluster = start().await;
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    let post = PostParams::default();
    let created = maps.create(&post, &map("m", "red")).await.unwrap();
    let mut second = created.clone();
    second.data = map("m", "blue").data;
    let second = maps.replace("m", &post, &second).await.unwrap();
    maps.delete("m", &Default::default()).await.unwrap();
    let again = maps.create(&post, &map("m", "green")).await.unwrap();
    // A clean stop writes a checkpoint, and memory then begins with it.
    cluster.stop().await.unwrap();

    let cluster = start().await;
    let client = cluster.client();
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let mut last = again.clone();
    last.data = map("m", "grey").data;
    maps.replace("m", &post, &last).await.unwrap();
    let ask = async |endpoint: &str, more: &str| -> Value {
        let query = "resource=configmaps&namespace=default&name=m";
        let path = format!("/kubewright/v1/{endpoint}?{query}{more}");
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        client.request(request).await.unwrap()
    };
    let history = ask("history", "&objects=true").await;
    let versions: Vec<(&str, &str)> = history["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| {
            let colour = item["object"]["data"]["colour"].as_str();
            (item["change"].as_str().unwrap(), colour.unwrap_or_default())
        })
        .collect();
    let expected = [
        ("created", "red"),
        ("updated", "blue"),
        ("deleted", ""),
        ("created", "green"),
        ("updated", "grey"),
    ];
    assert_eq!(versions, expected, "{history}");
    let revision = second.resource_version().unwrap();
    let at = ask("history", &format!("&at={revision}")).await;
    assert_eq!(at["items"].as_array().unwrap().len(), 2, "{at}");
}

#[tokio::test(flavor = "multi_thread")]
async fn informers_resume_without_a_list_after_a_restart() {
    let folder = Folder::new();
    let start = async |address: &str| {
        let directory = DataDir::new(&folder.0).sync(SyncMode::Process);
        let cluster = Cluster::builder()
            .data_dir(directory)
            .controllers(Controllers::none())
            .listen(address.parse().unwrap());
        cluster.start().await.unwrap()
    };
    let cluster = start("127.0.0.1:0").await;
    let endpoint = cluster.endpoint().unwrap();
    let address = endpoint.address().to_string();
    let client = client_of(endpoint).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let post = PostParams::default();
    maps.create(&post, &map("first", "red")).await.unwrap();
    let factory = SharedInformerFactory::new(client.clone());
    let informer = factory.informer::<ConfigMap>();
    factory.start();
    let synced = factory.wait_for_sync(Duration::from_secs(60)).await;
    assert!(synced.is_synced(), "{synced}");
    let before = informer.metrics();
    // A write that the informer may not have seen when the server stops.
    maps.create(&post, &map("second", "red")).await.unwrap();
    cluster.stop().await.unwrap();

    let cluster = start(&address).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    let third = maps.create(&post, &map("third", "red")).await.unwrap();
    let version = third.resource_version().unwrap();
    let seen = tokio::time::timeout(Duration::from_secs(60), informer.wait_for(&version)).await;
    seen.expect("the change in time").expect("a version");
    for name in ["first", "second", "third"] {
        let lister = informer.lister().namespace("default");
        assert!(lister.get(name).unwrap().is_some(), "{name}");
    }
    let after = informer.metrics();
    assert!(after.watches > before.watches, "{after:?}");
    assert_eq!(
        (after.lists, after.watch_lists),
        (before.lists, before.watch_lists),
        "{after:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_and_kubeconfigs_survive_a_restart() {
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
async fn a_directory_is_locked_by_one_cluster() {
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
async fn errors_name_the_unreadable_key() {
    let folder = Folder::new();
    drop(start(&folder).await);
    fs::write(folder.0.join("keys/sa.key"), "nonsense").unwrap();
    let started = Cluster::builder().data_dir(&folder.0).start().await;
    let error = started.err().expect("an error").to_string();
    assert!(error.contains("keys/sa.key: "), "{error}");
    assert!(error.contains("remove the file"), "{error}");
}
