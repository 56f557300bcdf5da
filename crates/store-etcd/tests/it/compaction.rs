//! Compaction that servers of an etcd share by a key.

use std::time::Duration;

use base64::{Engine, prelude::BASE64_STANDARD};
use kubewright_store::{Key, Payload, ReadError, Revision, Store};
use kubewright_store_etcd::Options;
use serde_json::json;

use crate::etcd::{Etcd, open};

/// The interval of compaction.
const INTERVAL: Duration = Duration::from_millis(300);

/// Returns the version of the shared key, and its value: the compacted revision.
async fn shared_key(etcd: &Etcd) -> (u64, u64) {
    let key = BASE64_STANDARD.encode("compact_rev_key");
    let found = etcd
        .gateway("kv/range", &json!({"key": key}).to_string())
        .await;
    let kv = &found["kvs"][0];
    let number = |text: &str| text.parse().unwrap_or_default();
    let value = BASE64_STANDARD.decode(kv["value"].as_str().unwrap_or_default());
    let value = String::from_utf8(value.unwrap()).unwrap();
    (
        number(kv["version"].as_str().unwrap_or_default()),
        number(&value),
    )
}

/// Returns whether etcd has compacted a revision.
async fn is_compacted(etcd: &Etcd, revision: Revision) -> bool {
    let key = BASE64_STANDARD.encode("x");
    let request = json!({"key": key, "revision": revision.0.to_string()});
    let read = etcd.gateway("kv/range", &request.to_string()).await;
    let message = read["message"].as_str().unwrap_or_default();
    message.contains("required revision has been compacted")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_compact_in_turns_by_the_shared_key() {
    let name = "servers_compact_in_turns_by_the_shared_key";
    let Some(etcd) = Etcd::start(name, &[]).await else {
        return;
    };
    let options = Options {
        compaction_interval: Some(INTERVAL),
        ..etcd.options()
    };
    let stores = [open(&options).await, open(&options).await];
    let mut last = Revision(0);
    let key = Key::new("things", "a");
    let mut written = vec![
        stores[0]
            .create(key.clone(), Payload::plain("0"))
            .await
            .unwrap()
            .revision,
    ];
    // Writes go on until the first of them is compacted.
    while !is_compacted(&etcd, written[0]).await {
        last = *written.last().unwrap();
        let payload = Payload::plain(written.len().to_string());
        let updated = stores[1].update(key.clone(), last, payload).await;
        written.push(updated.unwrap().entry.revision);
    }
    let (version, compacted) = shared_key(&etcd).await;
    assert!(version >= 2, "{version}");
    assert!(
        compacted > written[0].0 && compacted <= last.0 + 2 * version,
        "{compacted}"
    );
    // Both servers answer for past states as etcd does, at the latest after their next turn.
    for store in &stores {
        let refused = loop {
            match store.snapshot(Some(written[0])).await {
                Ok(_) => tokio::task::yield_now().await,
                Err(error) => break error,
            }
        };
        assert!(matches!(refused, ReadError::Compacted { .. }), "{refused}");
        let now = store.get(&key).await.unwrap().unwrap();
        assert_eq!(now.revision, *written.last().unwrap());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_server_that_compacts_is_left_to_it() {
    let name = "another_server_that_compacts_is_left_to_it";
    let Some(etcd) = Etcd::start(name, &[]).await else {
        return;
    };
    let ours = open(&Options {
        compaction_interval: Some(INTERVAL),
        ..etcd.options()
    })
    .await;
    let first = ours
        .create(Key::new("things", "a"), Payload::plain("0"))
        .await;
    let first = first.unwrap().revision;
    // kube-apiserver writes the key more often than our server takes a turn, but compacts nothing here.
    let key = BASE64_STANDARD.encode("compact_rev_key");
    let value = BASE64_STANDARD.encode("1");
    let put = json!({"key": key, "value": value}).to_string();
    let began = tokio::time::Instant::now();
    let mut version = 0;
    while began.elapsed() < 5 * INTERVAL {
        let written = etcd.gateway("kv/put", &put).await;
        assert!(written["code"].is_null(), "{written}");
        let (now, value) = shared_key(&etcd).await;
        assert_eq!(value, 1, "our server has taken the turn of the other");
        assert!(now > version);
        version = now;
    }
    assert!(!is_compacted(&etcd, first).await);
}
