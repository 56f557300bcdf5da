//! Several servers over one store.

use std::sync::Arc;

use async_trait::async_trait;
use http::Method;
use kubewright_extension_apiserver::{ExtensionServer, GracefulDeletion, Kind};
use kubewright_store::MemoryStore;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::sky::{COMETS, Comet, Watch, comet, delete, get, post, put, send};

/// Ends when it is asked to.
#[derive(Clone)]
struct Landing(Arc<Semaphore>);

#[async_trait]
impl GracefulDeletion<Comet> for Landing {
    async fn terminate(&self, _: Comet) {
        // The semaphore is never closed.
        let _ = self.0.acquire().await;
    }
}

fn replicas() -> ([ExtensionServer; 2], Arc<Semaphore>) {
    let (store, landed) = (Arc::new(MemoryStore::new()), Arc::new(Semaphore::new(0)));
    let replica = || {
        let kind = Kind::stored(store.clone()).graceful_deletion(Landing(landed.clone()));
        ExtensionServer::builder().kind(kind).build().unwrap()
    };
    ([replica(), replica()], landed)
}

#[tokio::test]
async fn replicas_see_and_respect_each_others_writes() {
    let ([one, other], _) = replicas();
    let mut watch = Watch::start(&other, &format!("{COMETS}?watch=true")).await;
    let (_, made) = post(&one, COMETS, &comet("halley", 76)).await;
    let (ty, seen) = watch.next().await.unwrap();
    assert_eq!((ty.as_str(), &seen), ("ADDED", &made));
    let path = format!("{COMETS}/halley");
    let mut changed = made.clone();
    changed["spec"]["colour"] = json!("green");
    assert_eq!(put(&other, &path, &changed).await.0, 200);
    // The version that was read at first is stale for both.
    changed["spec"]["colour"] = json!("blue");
    assert_eq!(put(&one, &path, &changed).await.0, 409);
    let json = [("content-type", "application/merge-patch+json")];
    let patch = json!({"spec": {"tails": 2}});
    let patched = |server| send(server, Method::PATCH, &path, &json, &patch);
    assert_eq!(patched(&one).await.0, 200);
    let (_, halley) = get(&other, &path).await;
    assert_eq!(
        (&halley["spec"]["colour"], &halley["spec"]["tails"]),
        (&json!("green"), &json!(2))
    );
}

#[tokio::test]
async fn a_deletion_is_finished_by_the_replica_that_began_it() {
    let ([one, other], landed) = replicas();
    post(&one, COMETS, &comet("halley", 76)).await;
    let path = format!("{COMETS}/halley");
    assert_eq!(delete(&one, &path).await.0, 200);
    let (_, ending) = get(&other, &path).await;
    assert_eq!(ending["metadata"]["deletionGracePeriodSeconds"], 30);
    let mut watch = Watch::start(&other, &format!("{COMETS}?watch=true")).await;
    assert_eq!(watch.next().await.unwrap().0, "ADDED");
    landed.add_permits(1);
    // The period is shortened to zero first.
    let (ty, last) = loop {
        match watch.next().await.unwrap() {
            (ty, _) if ty == "MODIFIED" => {}
            other => break other,
        }
    };
    assert_eq!(
        (ty.as_str(), &last["metadata"]["name"]),
        ("DELETED", &json!("halley"))
    );
    assert_eq!(get(&one, &path).await, get(&other, &path).await);
    assert_ne!(get(&one, &path).await.1, Value::Null);
}
