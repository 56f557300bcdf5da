//! Lists in chunks: one state however long it takes, tokens that expire, tokens that were never issued.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use kubewright_kube_apiserver::KubeApiServer;
use kubewright_store::{COMPACTION_INTERVAL, MemoryStore};
use kubewright_testing::{Faults, FaultyServer, TestCluster};
use serde_json::{Value, json};

use crate::http_client::{Answer, Http, MAPS, labelled, map, map_with};

const EXPIRED: &str = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";

/// A cluster with the ConfigMaps `a` to `e`.
async fn five() -> (TestCluster, Http) {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    for name in ["a", "b", "c", "d", "e"] {
        http.post(MAPS, map_with(name, "first")).await.ok();
    }
    (cluster, http)
}

async fn next(http: &Http, limit: usize, token: &str) -> Answer {
    http.get(&format!("{MAPS}?limit={limit}&continue={token}"))
        .await
}

fn token(value: Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

fn remaining(answer: &Answer) -> Value {
    answer.ok()["metadata"]["remainingItemCount"].clone()
}

#[tokio::test]
async fn chunks_show_one_state_despite_later_writes() {
    let (cluster, http) = five().await;
    let first = http.get(&format!("{MAPS}?limit=2")).await;
    let revision = cluster.revision().await;
    assert_eq!(
        (first.names(), first.revision()),
        (vec!["a".into(), "b".into()], revision)
    );
    assert_eq!(remaining(&first), 3);

    http.delete(&format!("{MAPS}/c")).await.ok();
    http.put(&format!("{MAPS}/d"), map_with("d", "second"))
        .await
        .ok();
    http.post(MAPS, map("cc")).await.ok();

    let second = next(&http, 2, &first.continue_token()).await;
    assert_eq!(
        (second.names(), second.revision()),
        (vec!["c".into(), "d".into()], revision)
    );
    assert_eq!(second.json()["items"][1]["data"]["value"], "first");
    assert_eq!(remaining(&second), 1);

    let last = next(&http, 2, &second.continue_token()).await;
    assert_eq!(
        (last.names(), last.revision()),
        (vec!["e".into()], revision)
    );
    assert_eq!(
        (last.continue_token(), remaining(&last)),
        (String::new(), Value::Null)
    );
    // The list's metadata has neither, not even empty.
    assert_eq!(
        last.json()["metadata"],
        json!({"resourceVersion": revision.to_string()})
    );
}

#[tokio::test]
async fn a_limit_that_is_not_reached_leaves_no_token() {
    let (_cluster, http) = five().await;
    for limit in [5, 6, 1000] {
        let all = http.get(&format!("{MAPS}?limit={limit}")).await;
        assert_eq!(all.names().len(), 5);
        assert_eq!(
            (all.continue_token(), remaining(&all)),
            (String::new(), Value::Null)
        );
    }
}

#[tokio::test]
async fn how_many_remain_is_only_said_without_selectors() {
    let (_cluster, http) = five().await;
    for selector in [
        "labelSelector=x%21%3Dy",
        "fieldSelector=metadata.name%21%3Dx",
    ] {
        let some = http.get(&format!("{MAPS}?limit=2&{selector}")).await;
        assert_eq!(some.names(), ["a", "b"]);
        assert_ne!(some.continue_token(), "");
        assert_eq!(remaining(&some), Value::Null);
    }
}

#[tokio::test]
async fn a_limit_counts_selected_objects() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    for i in 0..10 {
        let parity = if i % 2 == 0 { "even" } else { "odd" };
        http.post(MAPS, labelled(&format!("m{i}"), "parity", parity))
            .await
            .ok();
    }
    let query = format!("{MAPS}?limit=2&labelSelector=parity%3Dodd");
    let first = http.get(&query).await;
    assert_eq!(first.names(), ["m1", "m3"]);
    let second = http
        .get(&format!("{query}&continue={}", first.continue_token()))
        .await;
    assert_eq!(second.names(), ["m5", "m7"]);
    let third = http
        .get(&format!("{query}&continue={}", second.continue_token()))
        .await;
    assert_eq!(third.names(), ["m9"]);
    assert_eq!(third.continue_token(), "");
}

#[tokio::test]
async fn chunks_over_all_namespaces_are_ordered_by_namespace_and_name() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let mut wanted = Vec::new();
    for namespace in ["a", "a-b", "ab", "b"] {
        http.post("/api/v1/namespaces", map(namespace)).await.ok();
        for name in ["x", "x-y", "y"] {
            let path = format!("/api/v1/namespaces/{namespace}/secrets");
            http.post(&path, map(name)).await.ok();
            wanted.push(format!("{namespace}/{name}"));
        }
    }
    // Keys are compared as wholes: `-` comes before `/`.
    wanted.sort();
    let mut got = Vec::new();
    let mut token = String::new();
    loop {
        let chunk = http
            .get(&format!("/api/v1/secrets?limit=5&continue={token}"))
            .await;
        for item in chunk.ok()["items"].as_array().unwrap() {
            let text = |key: &str| {
                item["metadata"][key]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()
            };
            got.push(format!("{}/{}", text("namespace"), text("name")));
        }
        token = chunk.continue_token();
        if token.is_empty() {
            break;
        }
    }
    assert_eq!(got, wanted);
}

#[tokio::test]
async fn a_token_brings_its_own_revision() {
    let (_cluster, http) = five().await;
    let token = http.get(&format!("{MAPS}?limit=2")).await.continue_token();
    let path = format!("{MAPS}?limit=2&continue={token}");
    assert_eq!(
        http.get(&format!("{path}&resourceVersion=0")).await.names(),
        ["c", "d"]
    );
    http.get(&format!("{path}&resourceVersion=5"))
        .await
        .refused_with(
            400,
            "specifying resource version is not allowed when using continue",
        );
    // Without a limit a token still works, and takes all the rest.
    assert_eq!(
        http.get(&format!("{MAPS}?continue={token}")).await.names(),
        ["c", "d", "e"]
    );
}

#[tokio::test]
async fn an_expired_token_offers_one_for_the_newest_state() {
    let (cluster, http) = five().await;
    let first = http.get(&format!("{MAPS}?limit=2")).await;
    http.delete(&format!("{MAPS}/c")).await.ok();
    http.post(MAPS, map("cc")).await.ok();
    http.post(MAPS, map("aa")).await.ok();
    cluster.compact_now().await;

    let status = next(&http, 2, &first.continue_token())
        .await
        .refused_with(410, EXPIRED);
    assert_eq!(status["reason"], "Expired");
    let offered = status["metadata"]["continue"]
        .as_str()
        .expect("another token");
    let inside: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(offered).unwrap()).unwrap();
    assert_eq!(
        inside,
        json!({"v": "meta.k8s.io/v1", "rv": -1, "start": "b\u{0}"})
    );

    let now = cluster.revision().await;
    let second = next(&http, 2, offered).await;
    assert_eq!(
        (second.names(), second.revision()),
        (vec!["cc".into(), "d".into()], now)
    );
    assert_eq!(remaining(&second), 1);
    // From there on it is one state again.
    http.delete(&format!("{MAPS}/e")).await.ok();
    let last = next(&http, 2, &second.continue_token()).await;
    assert_eq!((last.names(), last.revision()), (vec!["e".into()], now));
}

/// Nobody asks for it: the store of a cluster forgets old states at each interval, even while nothing is written.
#[tokio::test(start_paused = true)]
async fn a_token_expires_with_the_periodic_compaction() {
    let store = MemoryStore::new();
    let compacted = store.clone();
    tokio::spawn(async move { compacted.run_compaction(COMPACTION_INTERVAL).await });
    let server = KubeApiServer::builder().store(Arc::new(store)).build();
    let server = server.await.expect("a server").server().clone();
    let http = Http::on(FaultyServer::new(server, Faults::default()));
    for name in ["a", "b", "c", "d", "e"] {
        http.post(MAPS, map(name)).await.ok();
    }
    let first = http.get(&format!("{MAPS}?limit=2")).await;
    let token = first.continue_token();

    tokio::time::sleep(COMPACTION_INTERVAL / 2).await;
    assert_eq!(next(&http, 2, &token).await.names(), ["c", "d"]);

    tokio::time::sleep(COMPACTION_INTERVAL * 2).await;
    let answer = next(&http, 2, &token).await;
    let status = answer.refused_with(410, EXPIRED);
    let offered = status["metadata"]["continue"].as_str().expect("a token");
    assert_eq!(
        status,
        json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {"continue": offered},
            "status": "Failure",
            "message": EXPIRED,
            "reason": "Expired",
            "code": 410,
        })
    );
    assert_ne!(offered, token);
    assert_eq!(next(&http, 2, offered).await.names(), ["c", "d"]);
}

#[tokio::test]
async fn tokens_that_were_never_issued_are_bad_requests() {
    let (cluster, http) = five().await;
    let before = cluster.revision().await;
    let v1 = "meta.k8s.io/v1";
    let cases = [
        (
            "abc".to_owned(),
            "invalid character 'i' looking for beginning of value".to_owned(),
        ),
        (
            token(json!({"v": "meta.k8s.io/v2", "rv": 5, "start": "a\0"})),
            "server does not recognize this encoded version meta.k8s.io/v2".to_owned(),
        ),
        (
            token(json!({"v": v1, "rv": 0, "start": "a\0"})),
            format!("incorrect encoded start resourceVersion (version {v1})"),
        ),
        (
            token(json!({"v": v1, "rv": 5, "start": ""})),
            format!("encoded start key empty (version {v1})"),
        ),
    ];
    for (token, why) in cases {
        next(&http, 1, &token).await.refused_with(
            400,
            &format!("invalid continue token: continue key is not valid: {why}"),
        );
    }
    assert_eq!(cluster.revision().await, before);
}

#[tokio::test]
async fn a_token_cannot_climb_out_of_its_list() {
    let (cluster, http) = five().await;
    http.post("/api/v1/namespaces/default/secrets", map("treasure"))
        .await
        .ok();
    let revision = cluster.revision().await;
    for start in [
        "../../secrets/x\0",
        "a/../b\0",
        "./a",
        "../default/a",
        "..",
        "a/../../../secrets/",
    ] {
        let token = token(json!({"v": "meta.k8s.io/v1", "rv": revision, "start": start}));
        next(&http, 10, &token).await.refused_with(
            400,
            &format!("invalid continue token: continue key is not valid: {start}"),
        );
    }
    // A start that is merely odd finds nothing that it should not.
    for start in ["zzz\0", "/zzz\0", "\u{10ffff}"] {
        let token = token(json!({"v": "meta.k8s.io/v1", "rv": revision, "start": start}));
        assert!(
            next(&http, 10, &token).await.names().is_empty(),
            "{start:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_of_the_future_times_out() {
    let (cluster, http) = five().await;
    let current = cluster.revision().await;
    let token = token(json!({"v": "meta.k8s.io/v1", "rv": 9_999_999, "start": "b\0"}));
    next(&http, 1, &token).await.refused_with(
        504,
        &format!("Timeout: Too large resource version: 9999999, current: {current}"),
    );
}
