//! Many writers at once: nothing that was acknowledged is lost.

use kubewright_testing::TestCluster;
use serde_json::json;

use crate::http_client::{Http, MAPS, map, map_with};

const WRITERS: usize = 16;
const INCREMENTS: usize = 5;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_increment_of_sixteen_writers_survives() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let before = http.post(MAPS, map_with("counter", "0")).await.revision();
    let path = format!("{MAPS}/counter");
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| {
            let (http, path) = (http.clone(), path.clone());
            tokio::spawn(async move {
                let mut conflicts = 0;
                for _ in 0..INCREMENTS {
                    loop {
                        let mut counter = http.get(&path).await.ok();
                        let value: usize =
                            counter["data"]["value"].as_str().unwrap().parse().unwrap();
                        counter["data"]["value"] = json!((value + 1).to_string());
                        let answer = http.put(&path, counter).await;
                        if answer.code == 200 {
                            break;
                        }
                        answer.refused(409);
                        conflicts += 1;
                    }
                }
                conflicts
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let counter = http.get(&path).await;
    assert_eq!(
        counter.ok()["data"]["value"],
        (WRITERS * INCREMENTS).to_string()
    );
    assert_eq!(counter.revision(), before + (WRITERS * INCREMENTS) as u64);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_patches_are_applied_in_sequence() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    http.post(MAPS, map("a")).await.ok();
    let writers: Vec<_> = (0..WRITERS)
        .map(|i| {
            let http = http.clone();
            tokio::spawn(async move {
                let patch = json!({"data": {format!("key-{i}"): "x"}});
                // The server tries again a few times; a client may have to as well.
                while http.patch(&format!("{MAPS}/a"), patch.clone()).await.code == 409 {}
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let data = http.get(&format!("{MAPS}/a")).await.ok()["data"].clone();
    assert_eq!(data.as_object().map(serde_json::Map::len), Some(WRITERS));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_creators_one_wins() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let before = cluster.revision().await;
    let creators: Vec<_> = (0..WRITERS)
        .map(|i| {
            let http = http.clone();
            tokio::spawn(async move { http.post(MAPS, map_with("a", &i.to_string())).await })
        })
        .collect();
    let mut winners = Vec::new();
    for creator in creators {
        let answer = creator.await.unwrap();
        match answer.code {
            201 => winners.push(answer.ok()),
            _ => assert_eq!(answer.refused(409)["reason"], "AlreadyExists"),
        }
    }
    assert_eq!(winners.len(), 1);
    assert_eq!(http.get(&format!("{MAPS}/a")).await.ok(), winners[0]);
    assert_eq!(cluster.revision().await, before + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_deleters_one_finds_it() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    http.post(MAPS, map("a")).await.ok();
    let deleters: Vec<_> = (0..WRITERS)
        .map(|_| {
            let http = http.clone();
            tokio::spawn(async move { http.delete(&format!("{MAPS}/a")).await.code })
        })
        .collect();
    let mut codes = Vec::new();
    for deleter in deleters {
        codes.push(deleter.await.unwrap());
    }
    codes.sort_unstable();
    assert_eq!((codes[0], codes[1], codes[WRITERS - 1]), (200, 404, 404));
}
