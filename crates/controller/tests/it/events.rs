//! Events on a server: both APIs, retries, bounds.

use std::{future::ready, time::Duration};

use k8s_openapi::api::{
    core::v1::{ConfigMap, Event as CoreEvent},
    events::v1::Event,
};
use kube::{
    Api,
    api::{DeleteParams, ListParams, PostParams},
};
use kubewright_apiserver::request::Verb;
use kubewright_controller::events::{EventApi, EventBroadcaster, EventOptions, EventType};
use kubewright_machinery::status;
use kubewright_testing::{Fault, Match, TestCluster};
use tokio::{sync::oneshot, time::sleep};

async fn object(cluster: &TestCluster) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some("m".into());
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    maps.create(&PostParams::default(), &map).await.unwrap()
}

fn core(cluster: &TestCluster) -> EventBroadcaster {
    EventBroadcaster::with_options(cluster.client(), EventOptions::new(EventApi::Core))
}

async fn core_events(cluster: &TestCluster) -> Vec<CoreEvent> {
    let api: Api<CoreEvent> = Api::default_namespaced(cluster.client());
    api.list(&ListParams::default()).await.unwrap().items
}

async fn events(cluster: &TestCluster) -> Vec<Event> {
    let api: Api<Event> = Api::default_namespaced(cluster.client());
    api.list(&ListParams::default()).await.unwrap().items
}

#[tokio::test(start_paused = true)]
async fn core_events_are_counted_and_limited() {
    let cluster = TestCluster::start().await;
    let map = object(&cluster).await;
    let broadcaster = core(&cluster);
    let (recorder, stats) = (broadcaster.recorder("shop"), broadcaster.stats());
    for _ in 0..30 {
        recorder.event(&map, EventType::Warning, "SoldOut", "no apples");
    }
    broadcaster.run(ready(())).await;
    let events = core_events(&cluster).await;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].count, Some(25));
    assert_eq!(events[0].message.as_deref(), Some("no apples"));
    assert_eq!(events[0].involved_object.uid, map.metadata.uid);
    assert_eq!((stats.sent.get(), stats.throttled.get()), (25, 5));
}

#[tokio::test(start_paused = true)]
async fn a_series_is_written_twice_and_a_last_time_when_it_is_over() {
    let cluster = TestCluster::start().await;
    let map = object(&cluster).await;
    let broadcaster = EventBroadcaster::new(cluster.client());
    let (recorder, stats) = (broadcaster.recorder("shop"), broadcaster.stats());
    let (stop, stopped) = oneshot::channel::<()>();
    let task = tokio::spawn(broadcaster.run(async {
        let _ = stopped.await;
    }));
    for n in 0..50 {
        recorder.event(&map, EventType::Normal, "Sold", format!("apple {n}"));
    }
    sleep(Duration::from_secs(1)).await;
    assert_eq!(stats.sent.get(), 2);
    let written = events(&cluster).await.remove(0);
    assert_eq!(written.series.unwrap().count, 2);
    assert_eq!(written.note.as_deref(), Some("apple 0"));
    assert!(written.reporting_instance.unwrap().starts_with("shop-"));
    sleep(Duration::from_secs(12 * 60)).await;
    assert_eq!(stats.sent.get(), 3);
    assert_eq!(events(&cluster).await[0].series.as_ref().unwrap().count, 50);
    // It is forgotten: the next is a new event.
    recorder.event(&map, EventType::Normal, "Sold", "another");
    sleep(Duration::from_secs(1)).await;
    assert_eq!(events(&cluster).await.len(), 2);
    stop.send(()).unwrap();
    task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn transient_failures_of_events_are_retried_and_rejections_are_not() {
    let cluster = TestCluster::start().await;
    let map = object(&cluster).await;
    let broadcaster = core(&cluster);
    let (recorder, stats) = (broadcaster.recorder("shop"), broadcaster.stats());
    let on = || Match::verb(Verb::Create).resource("events");
    let down = Fault::Refuse(Box::new(status::service_unavailable("down")));
    cluster.faults().inject(down.clone(), on(), 11);
    recorder.event(&map, EventType::Normal, "First", "a");
    let task = tokio::spawn(broadcaster.run(std::future::pending()));
    sleep(Duration::from_secs(200)).await;
    assert_eq!((stats.sent.get(), stats.failed.get()), (1, 0));
    cluster.faults().inject(down, on(), 12);
    recorder.event(&map, EventType::Normal, "Second", "a");
    sleep(Duration::from_secs(200)).await;
    assert_eq!((stats.sent.get(), stats.failed.get()), (1, 1));
    assert_eq!(cluster.faults().pending(), 0);
    let bad = Fault::Refuse(Box::new(status::bad_request("no")));
    cluster.faults().inject(bad, on(), 1);
    recorder.event(&map, EventType::Normal, "Third", "a");
    recorder.event(&map, EventType::Normal, "Fourth", "a");
    drop(recorder);
    task.await.unwrap();
    assert_eq!((stats.sent.get(), stats.failed.get()), (2, 2));
    let reasons: Vec<_> = core_events(&cluster)
        .await
        .into_iter()
        .map(|e| e.reason)
        .collect();
    assert_eq!(reasons, [Some("First".into()), Some("Fourth".into())]);
}

#[tokio::test(start_paused = true)]
async fn an_event_that_is_gone_is_made_again() {
    for api in [EventApi::Core, EventApi::Events] {
        let cluster = TestCluster::start().await;
        let map = object(&cluster).await;
        let options = EventOptions::new(api);
        let broadcaster = EventBroadcaster::with_options(cluster.client(), options);
        let recorder = broadcaster.recorder("shop");
        let task = tokio::spawn(broadcaster.run(std::future::pending()));
        recorder.event(&map, EventType::Normal, "Sold", "a");
        sleep(Duration::from_secs(1)).await;
        let stored: Api<CoreEvent> = Api::default_namespaced(cluster.client());
        let all = stored.list(&ListParams::default()).await.unwrap().items;
        let name = all[0].metadata.name.clone().unwrap();
        stored
            .delete(&name, &DeleteParams::default())
            .await
            .unwrap();
        recorder.event(&map, EventType::Normal, "Sold", "a");
        drop(recorder);
        task.await.unwrap();
        let again = core_events(&cluster).await;
        assert_eq!(again.len(), 1);
        assert_eq!(again[0].metadata.name, Some(name));
    }
}

#[tokio::test(start_paused = true)]
async fn recording_never_waits_and_what_does_not_fit_is_counted() {
    let cluster = TestCluster::start().await;
    let map = object(&cluster).await;
    let broadcaster = EventBroadcaster::new(cluster.client());
    let (recorder, stats) = (broadcaster.recorder("shop"), broadcaster.stats());
    for n in 0..1500 {
        recorder.event(&map, EventType::Normal, &format!("R{n}"), "a");
    }
    assert_eq!(stats.dropped.get(), 500);
    broadcaster.run(ready(())).await;
    assert_eq!(stats.sent.get(), 1000);
    recorder.event(&map, EventType::Normal, "Late", "a");
    assert_eq!(stats.dropped.get(), 501);
}

#[tokio::test(start_paused = true)]
async fn events_about_objects_without_a_namespace_are_in_default() {
    let cluster = TestCluster::start().await;
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(cluster.client());
    let namespace = namespaces.get("kube-system").await.unwrap();
    for api in [EventApi::Core, EventApi::Events] {
        let options = EventOptions::new(api);
        let broadcaster = EventBroadcaster::with_options(cluster.client(), options);
        broadcaster
            .recorder("shop")
            .event(&namespace, EventType::Normal, "Seen", "a");
        let stats = broadcaster.stats();
        broadcaster.run(ready(())).await;
        assert_eq!(stats.sent.get(), 1);
    }
    assert_eq!(core_events(&cluster).await.len(), 2);
}
