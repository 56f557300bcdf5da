//! `kube::runtime`: watchers and reflectors, with both list strategies, in process and over TLS, and after compaction.

use std::{collections::BTreeSet, pin::Pin};

use futures_util::{Stream, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt,
    api::DeleteParams,
    runtime::{
        WatchStreamExt, reflector,
        watcher::{self, Event, watcher},
    },
};
use kubewright_apiserver::request::Verb;
use kubewright_testing::{Fault, Match, TestCluster};

use super::{create, map, maps, over_tls};

type Events = Pin<Box<dyn Stream<Item = watcher::Result<Event<ConfigMap>>> + Send>>;

fn strategies() -> [watcher::Config; 3] {
    [
        watcher::Config::default(),
        watcher::Config::default().page_size(2).any_semantic(),
        watcher::Config::default().streaming_lists(),
    ]
}

fn watching(maps: &Api<ConfigMap>, config: watcher::Config) -> Events {
    Box::pin(watcher(maps.clone(), config))
}

/// Reads up to the end of the initial list.
async fn initial(events: &mut Events) -> BTreeSet<String> {
    assert!(matches!(events.next().await, Some(Ok(Event::Init))));
    let mut names = BTreeSet::new();
    loop {
        match events.next().await.unwrap().unwrap() {
            Event::InitApply(map) => names.insert(map.name_any()),
            Event::InitDone => return names,
            other => panic!("{other:?}"),
        };
    }
}

async fn applied(events: &mut Events) -> ConfigMap {
    match events.next().await.unwrap().unwrap() {
        Event::Apply(map) => map,
        other => panic!("{other:?}"),
    }
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

async fn follow(client: Client) {
    for config in strategies() {
        let maps = maps(&client);
        for name in ["a", "b", "c"] {
            create(&maps, name).await;
        }
        let mut events = watching(&maps, config);
        assert_eq!(initial(&mut events).await, set(&["a", "b", "c"]));
        let created = create(&maps, "d").await;
        assert_eq!(applied(&mut events).await, created);
        let replaced = maps
            .replace("a", &Default::default(), &map("a", "2"))
            .await
            .unwrap();
        assert_eq!(applied(&mut events).await, replaced);
        for name in ["a", "b", "c", "d"] {
            maps.delete(name, &DeleteParams::default()).await.unwrap();
            let event = events.next().await.unwrap().unwrap();
            assert!(
                matches!(&event, Event::Delete(map) if map.name_any() == name),
                "{event:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_watcher_follows_in_process() {
    follow(TestCluster::start().await.client()).await;
}

#[tokio::test]
async fn a_watcher_follows_over_tls() {
    let cluster = TestCluster::start().await;
    let endpoint = cluster.listen().await.unwrap();
    follow(over_tls(&endpoint).await).await;
}

#[tokio::test]
async fn a_relist_of_many_pages_is_complete() {
    let cluster = TestCluster::start().await;
    let maps = maps(&cluster.client());
    let names: BTreeSet<String> = (0..25).map(|i| format!("m{i:02}")).collect();
    for name in &names {
        create(&maps, name).await;
    }
    for page_size in [1, 2, 7, 25, 100] {
        let mut events = watching(&maps, watcher::Config::default().page_size(page_size));
        assert_eq!(initial(&mut events).await, names);
    }
}

#[tokio::test(start_paused = true)]
async fn a_reflector_mirrors_the_cluster() {
    for config in strategies() {
        let cluster = TestCluster::start().await;
        let maps = maps(&cluster.client());
        create(&maps, "a").await;
        create(&maps, "b").await;
        let (store, writer) = reflector::store();
        let mut touched = Box::pin(
            reflector(writer, watcher(maps.clone(), config))
                .default_backoff()
                .touched_objects(),
        );
        let keeping = tokio::spawn(async move { while touched.next().await.is_some() {} });
        store.wait_until_ready().await.unwrap();
        assert_eq!(store.len(), 2);
        create(&maps, "c").await;
        maps.replace("a", &Default::default(), &map("a", "2"))
            .await
            .unwrap();
        maps.delete("b", &DeleteParams::default()).await.unwrap();
        let mut truth: Vec<ConfigMap> = maps.list(&Default::default()).await.unwrap().items;
        truth.sort_by_key(ResourceExt::name_any);
        let settled = async {
            loop {
                let mut held: Vec<ConfigMap> =
                    store.state().iter().map(|map| (**map).clone()).collect();
                held.sort_by_key(ResourceExt::name_any);
                if held == truth {
                    return;
                }
                // With virtual time, the reflector runs in the meantime.
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(60), settled)
            .await
            .expect("the same state");
        keeping.abort();
    }
}

/// Reads up to the next initial list, skipping errors, and returns the number of events and that list.
async fn relisted(events: &mut Events) -> (usize, BTreeSet<String>) {
    let mut errors = 0;
    loop {
        match events.next().await.unwrap() {
            Err(_) => errors += 1,
            Ok(Event::Init) => break,
            Ok(other) => panic!("{other:?}"),
        }
    }
    let mut names = BTreeSet::new();
    loop {
        match events.next().await.unwrap() {
            Err(_) => errors += 1,
            Ok(Event::InitApply(map)) => {
                names.insert(map.name_any());
            }
            Ok(Event::InitDone) => return (errors, names),
            Ok(other) => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_watcher_relists_after_compaction() {
    let [whole, paged, _] = strategies();
    for config in [whole, paged] {
        let cluster = TestCluster::start().await;
        let maps = maps(&cluster.client());
        create(&maps, "a").await;
        cluster
            .faults()
            .inject(Fault::DropWatch { after: 1 }, Match::verb(Verb::Watch), 1);
        let mut events = watching(&maps, config);
        assert_eq!(initial(&mut events).await, set(&["a"]));
        create(&maps, "b").await;
        assert_eq!(applied(&mut events).await.name_any(), "b");
        // The stream is broken. Changes before the next one are compacted.
        maps.delete("a", &DeleteParams::default()).await.unwrap();
        create(&maps, "c").await;
        cluster.compact_now().await;
        let (errors, names) = relisted(&mut events).await;
        assert!(errors > 0);
        assert_eq!(names, set(&["b", "c"]));
        create(&maps, "d").await;
        assert_eq!(applied(&mut events).await.name_any(), "d");
    }
}

#[tokio::test]
async fn a_rejected_streaming_watcher_starts_over() {
    let cluster = TestCluster::start().await;
    let maps = maps(&cluster.client());
    create(&maps, "a").await;
    cluster
        .faults()
        .inject(Fault::Gone, Match::verb(Verb::Watch), 2);
    let mut events = watching(&maps, watcher::Config::default().streaming_lists());
    let (errors, names) = relisted(&mut events).await;
    assert_eq!((errors, names), (2, set(&["a"])));
    create(&maps, "b").await;
    assert_eq!(applied(&mut events).await.name_any(), "b");
}

#[tokio::test]
async fn a_watcher_resumes_after_a_broken_stream() {
    let cluster = TestCluster::start().await;
    let maps = maps(&cluster.client());
    create(&maps, "a").await;
    cluster.faults().inject(
        Fault::DropWatch { after: 1 },
        Match::verb(Verb::Watch).resource("configmaps"),
        2,
    );
    let mut events = watching(&maps, watcher::Config::default());
    assert_eq!(initial(&mut events).await, set(&["a"]));
    for name in ["b", "c", "d"] {
        create(&maps, name).await;
        loop {
            match events.next().await.unwrap() {
                Ok(Event::Apply(map)) => {
                    assert_eq!(map.name_any(), name);
                    break;
                }
                Ok(other) => panic!("{other:?}"),
                Err(_) => {}
            }
        }
    }
    assert_eq!(cluster.faults().pending(), 0);
}

#[tokio::test]
async fn a_watcher_starts_over_if_its_list_expires() {
    let cluster = TestCluster::start().await;
    let maps = maps(&cluster.client());
    for name in ["a", "b", "c", "d", "e"] {
        create(&maps, name).await;
    }
    let mut events = watching(&maps, watcher::Config::default().page_size(2));
    assert!(matches!(events.next().await, Some(Ok(Event::Init))));
    assert!(matches!(events.next().await, Some(Ok(Event::InitApply(_)))));
    // The token of the first page expires before the second is read.
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    create(&maps, "f").await;
    cluster.compact_now().await;
    let mut errors = 0;
    let mut names = BTreeSet::new();
    loop {
        match events.next().await.unwrap() {
            Ok(Event::Init) => names.clear(),
            Ok(Event::InitApply(map)) => {
                names.insert(map.name_any());
            }
            Ok(Event::InitDone) => break,
            Ok(other) => panic!("{other:?}"),
            Err(_) => errors += 1,
        }
    }
    assert_eq!(errors, 1);
    assert_eq!(names, set(&["b", "c", "d", "e", "f"]));
}
