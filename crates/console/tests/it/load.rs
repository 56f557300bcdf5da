//! Many objects and many changes, watched in a browser.
//!
//! `KUBEWRIGHT_CONSOLE_OBJECTS` and `KUBEWRIGHT_CONSOLE_SECONDS` set their number and how long there are a thousand changes per second
//! (default: 5,000 and 5 s).

use std::{env, str::FromStr, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
};
use kubewright_testing::TestCluster;
use serde_json::{Value, json};
use tokio::time::{Instant, MissedTickBehavior};

use crate::{chromium::Chromium, scene::Scene};

/// The interval between two changes.
const INTERVAL: Duration = Duration::from_millis(1);

/// The number of objects that change.
const CHANGING: u64 = 100;

fn setting<T: FromStr>(name: &str, default: T) -> T {
    let text = env::var(name).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn named(name: &str, data: Value) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": data})).unwrap()
}

/// Waits for the object that asks for it, then changes objects for a while and says how many.
async fn storm(client: Client) {
    let maps: Api<ConfigMap> = Api::namespaced(client, "crowd");
    let begin = loop {
        if let Some(begin) = maps.get_opt("storm-begin").await.unwrap() {
            break begin;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let seconds: u64 = begin.data.unwrap()["seconds"].parse().unwrap();
    let (began, mut changes) = (Instant::now(), 0_u64);
    let mut ticks = tokio::time::interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    while began.elapsed() < Duration::from_secs(seconds) {
        ticks.tick().await;
        let name = format!("one-{:06}", changes % CHANGING);
        let patch = Patch::Merge(json!({"data": {"change": changes.to_string()}}));
        let patched = maps.patch(&name, &PatchParams::default(), &patch).await;
        patched.unwrap();
        changes += 1;
    }
    let took = began.elapsed().as_secs().to_string();
    let data = json!({"changes": changes.to_string(), "seconds": took});
    let end = named("storm-end", data);
    maps.create(&Default::default(), &end).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tab_stays_small_under_load() {
    let Some(chromium) = Chromium::find() else {
        return;
    };
    let objects: usize = setting("KUBEWRIGHT_CONSOLE_OBJECTS", 5_000);
    let seconds: u64 = setting("KUBEWRIGHT_CONSOLE_SECONDS", 5);
    let scene = Scene::start().await;
    let cluster: &TestCluster = scene.cluster();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "crowd"}});
    scene.create("/api/v1/namespaces", namespace).await;
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client(), "crowd");
    for n in 0..objects {
        let map = named(&format!("one-{n:06}"), json!({"n": n.to_string()}));
        maps.create(&Default::default(), &map).await.unwrap();
    }
    let storm = tokio::spawn(storm(cluster.client()));
    let (objects, seconds) = (objects.to_string(), seconds.to_string());
    let variables = [("OBJECTS", objects.as_str()), ("SECONDS", seconds.as_str())];
    tokio::task::block_in_place(|| chromium.play("load.mjs", scene.url(), &variables));
    storm.await.unwrap();
}
