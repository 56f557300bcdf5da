//! Watchers that fall behind: they lose their place, and nobody else loses anything.

use std::sync::Arc;

use kubewright_kube_apiserver::KubeApiServer;
use kubewright_store::{Limits, MemoryStore, Revision};
use kubewright_testing::{Faults, FaultyServer, TestCluster};
use serde_json::json;

use crate::http_client::{Http, MAPS, event, map_with, revision_of};

/// A control server whose watchers may be no more than a few changes behind.
async fn impatient(max_lag: u64) -> Http {
    let limits = Limits {
        max_lag,
        ..Limits::default()
    };
    let store = MemoryStore::with_limits(Revision(0), limits);
    let server = KubeApiServer::builder()
        .store(Arc::new(store))
        .build()
        .await
        .expect("a control server");
    Http::on(FaultyServer::new(
        server.server().clone(),
        Faults::default(),
    ))
}

#[tokio::test]
async fn a_slow_watcher_loses_only_itself() {
    let http = impatient(8).await;
    let mut last = revision_of(&http.post(MAPS, map_with("a", "0")).await.ok());
    let from = format!("resourceVersion={last}");
    let mut slow = http.watch(MAPS, &from).await;
    let mut quick = http.watch(MAPS, &from).await;
    for i in 1..=100 {
        http.put(&format!("{MAPS}/a"), map_with("a", &i.to_string()))
            .await
            .ok();
        let event = quick.next().await.expect("an event");
        assert_eq!(event["object"]["data"]["value"], i.to_string());
        assert!(revision_of(&event["object"]) > last);
        last = revision_of(&event["object"]);
    }
    // What it was late for is gone: the watch ends with that error.
    let events = slow.rest().await;
    assert!(events.len() <= 9, "{} events", events.len());
    let error = events.last().expect("an error");
    assert_eq!(error["type"], "ERROR");
    assert_eq!(
        (&error["object"]["code"], &error["object"]["reason"]),
        (&json!(410), &json!("Expired"))
    );
    // The quick one goes on.
    http.delete(&format!("{MAPS}/a")).await.ok();
    assert_eq!(quick.step().await, event("DELETED", "a"));
}

#[tokio::test]
async fn watchers_that_never_read_delay_no_others() {
    let http = impatient(50).await;
    let mut never: Vec<_> = Vec::new();
    for _ in 0..200 {
        never.push(http.watch(MAPS, "").await);
    }
    let mut reader = http.watch(MAPS, "").await;
    let big = "x".repeat(10_000);
    http.post(MAPS, map_with("a", &big)).await.ok();
    assert_eq!(reader.step().await, event("ADDED", "a"));
    for i in 0..100 {
        http.put(&format!("{MAPS}/a"), map_with("a", &format!("{big}{i}")))
            .await
            .ok();
        assert_eq!(reader.step().await, event("MODIFIED", "a"));
    }
    for mut watch in never {
        let events = watch.rest().await;
        assert_eq!(
            events.last().map(|e| e["object"]["code"].clone()),
            Some(json!(410))
        );
    }
}

#[tokio::test]
async fn a_reader_in_bursts_misses_nothing() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let mut watch = http.watch(MAPS, "").await;
    for burst in 0..4 {
        for i in 0..50 {
            http.post(MAPS, map_with(&format!("m{burst}-{i}"), "x"))
                .await
                .ok();
        }
        for i in 0..50 {
            assert_eq!(watch.step().await, event("ADDED", &format!("m{burst}-{i}")));
        }
    }
}
