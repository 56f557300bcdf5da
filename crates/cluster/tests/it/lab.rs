//! Experiments on a cluster: faults for some clients, its clock, and forks.

use std::pin::pin;

use futures_util::{StreamExt, TryStreamExt};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client,
    api::{ListParams, WatchParams},
};
use kubewright_apiserver::request::Verb;
use kubewright_cluster::{Cluster, Fault, Lab, Match};
use serde_json::json;

use crate::data_dir::Folder;

async fn cluster() -> (Lab, Cluster) {
    let lab = Lab::new();
    let cluster = Cluster::builder().lab(lab.clone()).start().await.unwrap();
    (lab, cluster)
}

fn maps(client: Client) -> Api<ConfigMap> {
    Api::default_namespaced(client)
}

async fn create(client: Client, name: &str) -> ConfigMap {
    let map = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    maps(client)
        .create(&Default::default(), &map)
        .await
        .unwrap()
}

#[tokio::test]
async fn faults_spare_the_direct_client() {
    let (lab, cluster) = cluster().await;
    lab.faults().go_down();
    assert!(lab.faults().is_down());
    let everything = ListParams::default();
    assert!(maps(cluster.client()).list(&everything).await.is_err());
    assert!(
        maps(cluster.direct_client())
            .list(&everything)
            .await
            .is_ok()
    );
    lab.faults().come_back();
    assert!(maps(cluster.client()).list(&everything).await.is_ok());
}

#[tokio::test]
async fn a_fault_selects_clients_by_their_user_agent() {
    let (lab, cluster) = cluster().await;
    let on = Match::verb(Verb::List).client("crew/");
    lab.faults().inject(Fault::Gone, on, 1);
    let list = async |agent: &str| {
        let request = http::Request::get("/api/v1/namespaces/default/configmaps");
        let request = request.header("user-agent", agent).body(Vec::new());
        let client = cluster.client();
        let list = client.request::<serde_json::Value>(request.unwrap());
        list.await.is_ok()
    };
    assert!(list("kubectl/v1.36").await);
    assert!(!list("crew/0.1.0").await);
    assert!(list("crew/0.1.0").await);
}

#[tokio::test]
async fn a_planned_fault_can_be_removed() {
    let (lab, cluster) = cluster().await;
    lab.faults().inject(Fault::Conflict, Match::default(), 3);
    lab.faults().inject(Fault::Gone, Match::verb(Verb::List), 1);
    let planned = lab.faults().planned();
    assert_eq!(planned.len(), 2);
    assert_eq!(
        (planned[0].fault.clone(), planned[0].times),
        (Fault::Conflict, 3)
    );
    assert!(lab.faults().remove(planned[0].id));
    assert!(!lab.faults().remove(planned[0].id));
    create(cluster.client(), "sky").await;
    assert_eq!(lab.faults().pending(), 1);
}

#[tokio::test]
async fn open_watches_can_be_closed() {
    let (lab, cluster) = cluster().await;
    let maps = maps(cluster.client());
    let watch = maps.watch(&WatchParams::default(), "0").await.unwrap();
    let mut watch = pin!(watch);
    create(cluster.client(), "sky").await;
    assert!(watch.try_next().await.unwrap().is_some());
    lab.faults().close_watches();
    // What was sent before still arrives; then the watch ends.
    while let Some(Ok(_)) = watch.next().await {}
    // New watches are not affected.
    let again = maps.watch(&WatchParams::default(), "0").await.unwrap();
    assert!(pin!(again).try_next().await.unwrap().is_some());
}

#[tokio::test]
async fn the_clock_sets_the_times_that_the_server_writes() {
    let (lab, cluster) = cluster().await;
    lab.clock().set_rate(0.0);
    lab.clock().advance(SignedDuration::from_hours(24 * 365));
    let created = async |name| {
        let created = create(cluster.client(), name).await.metadata;
        let text = serde_json::to_value(created.creation_timestamp).unwrap();
        text.as_str().unwrap().parse::<Timestamp>().unwrap()
    };
    let first = created("sky").await;
    let ahead = first.duration_since(Timestamp::now());
    assert!(ahead > SignedDuration::from_hours(24 * 364), "{ahead}");
    assert_eq!(created("sea").await, first);
    lab.clock().set_rate(1.0);
    assert!(lab.clock().offset() > SignedDuration::from_hours(24 * 364));
}

#[tokio::test]
async fn a_fork_is_independent() {
    let (lab, cluster) = cluster().await;
    create(cluster.client(), "sky").await;
    let fork = lab.fork().await.unwrap().expect("it is in memory");
    let copies = maps(fork.client());
    assert!(copies.get_opt("sky").await.unwrap().is_some());
    copies.delete("sky", &Default::default()).await.unwrap();
    create(fork.client(), "sea").await;
    let maps = maps(cluster.client());
    assert!(maps.get_opt("sky").await.unwrap().is_some());
    assert!(maps.get_opt("sea").await.unwrap().is_none());
}

#[tokio::test]
async fn compaction_ends_the_history() {
    let (lab, cluster) = cluster().await;
    create(cluster.client(), "sky").await;
    assert!(lab.compact_now().is_some());
    let old = ListParams::default()
        .at("1")
        .matching(kube::api::VersionMatch::Exact);
    let error = maps(cluster.client()).list(&old).await.unwrap_err();
    let kube::Error::Api(status) = error else {
        panic!("{error}")
    };
    assert_eq!(status.code, 410);
}

#[tokio::test]
async fn objects_on_disk_are_not_forked() {
    let folder = Folder::new();
    let lab = Lab::new();
    let cluster = Cluster::builder()
        .data_dir(kubewright_cluster::DataDir::new(&folder.0))
        .lab(lab.clone())
        .start()
        .await
        .unwrap();
    assert!(!lab.is_in_memory());
    assert!(lab.fork().await.unwrap().is_none());
    assert!(lab.compact_now().is_none());
    cluster.stop().await.unwrap();
}
