//! Maintenance of a test cluster: events expire, history is compacted.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Event, ObjectReference};
use kube::{
    Api,
    api::{ListParams, ObjectMeta, PostParams},
};
use kubewright_testing::TestCluster;

fn event(name: &str) -> Event {
    Event {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        involved_object: ObjectReference {
            namespace: Some("default".to_owned()),
            ..ObjectReference::default()
        },
        ..Event::default()
    }
}

#[tokio::test(start_paused = true)]
async fn events_expire_after_an_hour() {
    let cluster = TestCluster::start().await;
    let events: Api<Event> = Api::default_namespaced(cluster.client());
    let options = PostParams::default();
    events.create(&options, &event("old")).await.unwrap();
    cluster.time().advance(Duration::from_secs(59 * 60)).await;
    events.create(&options, &event("new")).await.unwrap();
    assert_eq!(
        events
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .len(),
        2
    );

    cluster.time().advance(Duration::from_secs(2 * 60)).await;
    let left = events.list(&ListParams::default()).await.unwrap().items;
    let names: Vec<_> = left.iter().map(|e| e.metadata.name.as_deref()).collect();
    assert_eq!(names, [Some("new")]);
}

#[tokio::test(start_paused = true)]
async fn forks_expire_events_too() {
    let cluster = TestCluster::start().await;
    let events: Api<Event> = Api::default_namespaced(cluster.client());
    let options = PostParams::default();
    events.create(&options, &event("old")).await.unwrap();
    let fork = cluster.fork().await;
    drop(cluster);
    fork.time().advance(Duration::from_secs(61 * 60)).await;
    let events: Api<Event> = Api::default_namespaced(fork.client());
    let left = events.list(&ListParams::default()).await.unwrap().items;
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test(start_paused = true)]
async fn objects_without_a_lifetime_stay() {
    let cluster = TestCluster::start().await;
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    let mut map = ConfigMap::default();
    map.metadata.name = Some("colours".to_owned());
    maps.create(&PostParams::default(), &map).await.unwrap();
    cluster.time().advance(Duration::from_secs(48 * 3600)).await;
    assert!(maps.get_opt("colours").await.unwrap().is_some());
}
