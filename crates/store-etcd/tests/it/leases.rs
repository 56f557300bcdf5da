//! Lifetimes of objects, which are leases of etcd.

use std::time::Duration;

use kubewright_store::{ChangeKind, Key, Payload, Store};
use serde_json::{Value, json};

use crate::etcd::{Etcd, open};

fn key(path: &str) -> Key {
    Key::new("things", path)
}

fn mortal(seconds: u64) -> Payload {
    Payload {
        ttl: Some(Duration::from_secs(seconds)),
        ..Payload::plain("x")
    }
}

/// Returns the ids of all leases.
async fn leases(etcd: &Etcd) -> Vec<String> {
    let listed = etcd.gateway("lease/leases", "{}").await;
    let leases = listed["leases"].as_array().cloned().unwrap_or_default();
    let ids = leases.iter().filter_map(|lease| lease["ID"].as_str());
    ids.map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_are_deleted_when_their_lease_expires() {
    let name = "objects_are_deleted_when_their_lease_expires";
    let Some(etcd) = Etcd::start(name, &[]).await else {
        return;
    };
    let store = open(&etcd.options()).await;
    let now = store.current().await.unwrap();
    let mut watch = store.watch("things", "", now).await.unwrap();
    let mut created = Vec::new();
    for path in ["a", "b", "c"] {
        created.push(store.create(key(path), mortal(2)).await.unwrap());
    }
    store
        .create(key("stays"), Payload::plain("x"))
        .await
        .unwrap();
    // An update without a lifetime detaches the object from the lease.
    let kept = store
        .update(key("c"), created[2].revision, Payload::plain("y"))
        .await;
    kept.unwrap();
    let mut deleted = Vec::new();
    while deleted.len() < 2 {
        for change in watch.next().await.unwrap() {
            if change.kind == ChangeKind::Deleted {
                assert_eq!(&*change.entry.bytes, b"x");
                deleted.push(change.entry.path.to_string());
            }
        }
    }
    deleted.sort();
    assert_eq!(deleted, ["a", "b"]);
    let rest = store.snapshot(None).await.unwrap();
    assert_eq!(rest.count("things", "").await.unwrap(), 2);
    while !leases(&etcd).await.is_empty() {
        tokio::task::yield_now().await;
    }
    assert!(store.get(&key("c")).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_etcd_has_forgotten_is_renewed() {
    let name = "a_lease_that_etcd_has_forgotten_is_renewed";
    let Some(etcd) = Etcd::start(name, &[]).await else {
        return;
    };
    let store = open(&etcd.options()).await;
    store.create(key("a"), mortal(3600)).await.unwrap();
    store.create(key("a2"), mortal(3600)).await.unwrap();
    let before = leases(&etcd).await;
    assert_eq!(
        before.len(),
        1,
        "objects with the same lifetime share a lease"
    );
    let revoke: Value = json!({"ID": before[0]});
    let revoked = etcd.gateway("lease/revoke", &revoke.to_string()).await;
    assert!(revoked["code"].is_null(), "{revoked}");
    assert!(store.get(&key("a")).await.unwrap().is_none());

    store.create(key("b"), mortal(3600)).await.unwrap();
    let after = leases(&etcd).await;
    assert_eq!(after.len(), 1);
    assert_ne!(after, before);
    assert!(store.get(&key("b")).await.unwrap().is_some());
}
