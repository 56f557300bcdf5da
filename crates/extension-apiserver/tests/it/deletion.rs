//! Graceful deletion.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use http::Method;
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use kubewright_apiserver::{TokioClock, registry::payload, rfc3339};
use kubewright_extension_apiserver::{ExtensionServer, GracefulDeletion, Kind};
use kubewright_store::{Key, MemoryStore, Store};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};

use crate::sky::{COMETS, Comet, comet, delete, get, post, send};

/// Reports the start of each termination, and completes it when the test allows it.
struct Landing {
    began: mpsc::UnboundedSender<String>,
    allowed: Arc<Semaphore>,
}

#[async_trait]
impl GracefulDeletion<Comet> for Landing {
    async fn terminate(&self, comet: Comet) {
        let name = comet.name_any();
        self.began.send(name.clone()).expect("the test listens");
        if name == "panics" {
            panic!("a comet that panics");
        }
        self.allowed.acquire().await.expect("open").forget();
    }
}

struct Scene {
    server: ExtensionServer,
    began: mpsc::UnboundedReceiver<String>,
    allowed: Arc<Semaphore>,
}

async fn scene(names: &[&str]) -> Scene {
    scene_over(Arc::new(MemoryStore::new()), names).await
}

/// Returns a server over a store, and creates comets.
async fn scene_over(store: Arc<dyn Store>, names: &[&str]) -> Scene {
    let (sender, began) = mpsc::unbounded_channel();
    let allowed = Arc::new(Semaphore::new(0));
    let landing = Landing {
        began: sender,
        allowed: allowed.clone(),
    };
    let kind = Kind::stored(store).clock(Arc::new(TokioClock::new()));
    let kind = kind.graceful_deletion(landing);
    let server = ExtensionServer::builder().kind(kind).build().unwrap();
    for name in names {
        let (code, made) = post(&server, COMETS, &comet(name, 76)).await;
        assert_eq!(code, 201, "{made}");
    }
    Scene {
        server,
        began,
        allowed,
    }
}

fn path(name: &str) -> String {
    format!("{COMETS}/{name}")
}

/// Waits until an object is gone, while time passes.
async fn gone_in_time(server: &ExtensionServer, name: &str) {
    while get(server, &path(name)).await.0 != 404 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn gone(server: &ExtensionServer, name: &str) {
    while get(server, &path(name)).await.0 != 404 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn objects_are_removed_after_termination() {
    let mut scene = scene(&["halley"]).await;
    let (code, marked) = delete(&scene.server, &path("halley")).await;
    assert_eq!(code, 200, "{marked}");
    let marked = &marked["metadata"];
    assert_eq!(marked["deletionGracePeriodSeconds"], 30);
    assert!(marked["deletionTimestamp"].is_string());
    assert_eq!(scene.began.recv().await.unwrap(), "halley");
    // A second delete has no effect.
    delete(&scene.server, &path("halley")).await;
    assert_eq!(get(&scene.server, &path("halley")).await.0, 200);
    scene.allowed.add_permits(1);
    gone(&scene.server, "halley").await;
    assert!(scene.began.try_recv().is_err(), "it ends once");
}

#[tokio::test(start_paused = true)]
async fn the_grace_period_limits_termination() {
    let mut scene = scene(&["halley"]).await;
    let start = tokio::time::Instant::now();
    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 5});
    let json = [("content-type", "application/json")];
    let path = path("halley");
    send(&scene.server, Method::DELETE, &path, &json, &options).await;
    assert_eq!(scene.began.recv().await.unwrap(), "halley");
    tokio::time::sleep(Duration::from_millis(4900)).await;
    assert_eq!(get(&scene.server, &path).await.0, 200);
    tokio::time::sleep(Duration::from_millis(200)).await;
    gone(&scene.server, "halley").await;
    assert!(start.elapsed() < Duration::from_secs(6));
}

#[tokio::test(start_paused = true)]
async fn a_shorter_period_limits_a_termination_that_runs() {
    let mut scene = scene(&["halley"]).await;
    let start = tokio::time::Instant::now();
    let json = [("content-type", "application/json")];
    let path = path("halley");
    for (seconds, expected) in [(1000, 1000), (5, 5), (500, 5)] {
        let options =
            json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": seconds});
        let (_, marked) = send(&scene.server, Method::DELETE, &path, &json, &options).await;
        assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], expected);
    }
    assert_eq!(scene.began.recv().await.unwrap(), "halley");
    tokio::time::sleep(Duration::from_millis(4900)).await;
    assert_eq!(get(&scene.server, &path).await.0, 200);
    tokio::time::sleep(Duration::from_millis(200)).await;
    gone(&scene.server, "halley").await;
    assert!(start.elapsed() < Duration::from_secs(6));
    assert!(scene.began.try_recv().is_err(), "it ends once");
}

/// Stores a comet that another server was deleting when it stopped, with a grace period of 30 s.
async fn interrupted(store: &Arc<dyn Store>) {
    let due = Timestamp::now() + SignedDuration::from_secs(20);
    let mut halley = comet("halley", 76);
    halley["metadata"] = json!({
        "name": "halley", "namespace": "sky", "uid": "7b1b6c3e-0000-4000-8000-000000000001",
        "creationTimestamp": "2026-01-31T11:00:00Z",
        "deletionTimestamp": rfc3339(due), "deletionGracePeriodSeconds": 30,
    });
    let key = Key::new("sky.example.com/comets", "sky/halley");
    store.create(key, payload(&halley)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn interrupted_deletions_continue_when_a_server_starts() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    interrupted(&store).await;
    let mut scene = scene_over(store, &["encke"]).await;
    assert_eq!(get(&scene.server, &path("halley")).await.0, 200);
    let server = scene.server.clone();
    tokio::spawn(async move { server.maintain().await });
    let start = tokio::time::Instant::now();
    assert_eq!(scene.began.recv().await.unwrap(), "halley");
    assert!(start.elapsed() < Duration::from_secs(1));
    // Nobody allows it to complete, so it lasts for the rest of its period.
    gone_in_time(&scene.server, "halley").await;
    let took = start.elapsed().as_secs();
    assert!((19..=21).contains(&took), "{took} s");
    assert_eq!(get(&scene.server, &path("encke")).await.0, 200);
    assert!(scene.began.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_replica_continues_deletions_that_are_overdue() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let mut scene = scene_over(store.clone(), &["encke"]).await;
    let server = scene.server.clone();
    tokio::spawn(async move { server.maintain().await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    // Another replica marks an object, and is lost.
    interrupted(&store).await;
    let start = tokio::time::Instant::now();
    assert_eq!(scene.began.recv().await.unwrap(), "halley");
    let took = start.elapsed().as_secs();
    assert!((24..=60).contains(&took), "{took} s");
    scene.allowed.add_permits(1);
    gone_in_time(&scene.server, "halley").await;
}

#[tokio::test]
async fn a_zero_period_removes_immediately() {
    let mut scene = scene(&["halley", "panics"]).await;
    let json = [("content-type", "application/json")];
    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0});
    let path = path("halley");
    send(&scene.server, Method::DELETE, &path, &json, &options).await;
    assert_eq!(get(&scene.server, &path).await.0, 404);
    assert_eq!(scene.began.recv().await.unwrap(), "halley");
    // A panic of the hook does not prevent the removal.
    delete(&scene.server, &self::path("panics")).await;
    assert_eq!(scene.began.recv().await.unwrap(), "panics");
    gone(&scene.server, "panics").await;
}

#[tokio::test]
async fn collections_cannot_be_deleted() {
    let scene = scene(&[]).await;
    let (code, _) = send(&scene.server, Method::DELETE, COMETS, &[], &Value::Null).await;
    assert_eq!(code, 405);
}
