//! Several clusters in one process, and forks.

use std::time::Instant;

use futures_util::{StreamExt, future::join_all};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    ResourceExt,
    api::{DeleteParams, WatchEvent, WatchParams},
};
use kubewright_testing::TestCluster;

use super::{create, map, maps};

async fn names(cluster: &TestCluster) -> Vec<String> {
    let list = maps(&cluster.client())
        .list(&Default::default())
        .await
        .unwrap();
    list.items.iter().map(ResourceExt::name_any).collect()
}

#[tokio::test]
async fn forks_start_with_the_same_objects_and_diverge() {
    let cluster = TestCluster::start().await;
    let original = maps(&cluster.client());
    let a = create(&original, "a").await;
    create(&original, "b").await;
    let fork = cluster.fork().await;
    assert_eq!(fork.revision().await, cluster.revision().await);
    let copy = maps(&fork.client());
    assert_eq!(copy.get("a").await.unwrap(), a);

    copy.delete("a", &DeleteParams::default()).await.unwrap();
    copy.replace("b", &Default::default(), &map("b", "2"))
        .await
        .unwrap();
    create(&original, "c").await;
    assert_eq!(names(&cluster).await, ["a", "b", "c"]);
    assert_eq!(names(&fork).await, ["b"]);
    assert_eq!(original.get("b").await.unwrap().data.unwrap()["value"], "1");
    // A fork of a fork is a fork.
    let second = fork.fork().await;
    create(&maps(&second.client()), "d").await;
    assert_eq!(
        (names(&second).await, names(&fork).await),
        (vec!["b".into(), "d".into()], vec!["b".into()])
    );
}

#[tokio::test]
async fn a_fork_outlives_its_origin() {
    let cluster = TestCluster::start().await;
    create(&maps(&cluster.client()), "a").await;
    let fork = cluster.fork().await;
    drop(cluster);
    assert_eq!(names(&fork).await, ["a"]);
    create(&maps(&fork.client()), "b").await;
}

#[tokio::test]
async fn watches_and_compaction_do_not_affect_forks() {
    let cluster = TestCluster::start().await;
    let originals = maps(&cluster.client());
    create(&originals, "a").await;
    let before = cluster.revision().await.to_string();
    create(&originals, "b").await;
    let now = cluster.revision().await.to_string();
    let watch = originals.watch(&WatchParams::default(), &now).await;
    let mut watch = watch.expect("a watch").boxed();

    let fork = cluster.fork().await;
    create(&maps(&fork.client()), "elsewhere").await;
    fork.compact_now().await;
    create(&originals, "here").await;
    assert_eq!(added(watch.next().await), "here");
    // The original still has its history.
    let early = originals.watch(&WatchParams::default(), &before).await;
    assert_eq!(added(early.expect("a watch").boxed().next().await), "b");
}

/// Returns the name of the object that an event adds.
fn added(event: Option<kube::Result<WatchEvent<ConfigMap>>>) -> String {
    match event {
        Some(Ok(WatchEvent::Added(map))) => map.name_any(),
        other => panic!("no object was added: {other:?}"),
    }
}

#[tokio::test]
async fn faults_do_not_affect_forks() {
    use kubewright_apiserver::request::Verb;
    use kubewright_testing::{Fault, Match};
    let cluster = TestCluster::start().await;
    let fork = cluster.fork().await;
    cluster
        .faults()
        .inject(Fault::Gone, Match::verb(Verb::List), 1);
    assert_eq!(names(&fork).await, Vec::<String>::new());
    assert_eq!(cluster.faults().pending(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_clusters_in_one_process_share_nothing() {
    let began = Instant::now();
    let clusters = join_all((0..50).map(|_| TestCluster::start())).await;
    println!("50 clusters started in {:?}", began.elapsed());
    let began = Instant::now();
    join_all(clusters.iter().enumerate().map(async |(i, cluster)| {
        create(&maps(&cluster.client()), &format!("only-{i}")).await;
        cluster.client()
    }))
    .await;
    println!("and took a write each in {:?}", began.elapsed());
    for (i, cluster) in clusters.iter().enumerate() {
        assert_eq!(names(cluster).await, [format!("only-{i}")]);
    }
}
