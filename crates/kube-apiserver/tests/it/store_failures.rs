//! Responses to requests that the store rejects or cannot carry out.

use std::sync::Arc;

use async_trait::async_trait;
use kubewright_kube_apiserver::KubeApiServer;
use kubewright_store::{
    Entry, Failure, FailureKind, Key, MemoryStore, Payload, ReadError, Revision, Snapshot, Store,
    Updated, Watch, WriteError,
};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::client::Client;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A store that fails on request.
#[derive(Clone, Default)]
struct Troubled {
    store: MemoryStore,
    trouble: Arc<Mutex<Trouble>>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Trouble {
    #[default]
    None,
    /// Only writes for deletions succeed.
    Full,
    Writes(FailureKind),
    Reads(FailureKind),
}

const MESSAGE: &str = "what the store says";

impl Troubled {
    fn set(&self, trouble: Trouble) {
        *self.trouble.lock() = trouble;
    }

    async fn client(&self) -> Client {
        Client::of(KubeApiServer::builder().store(Arc::new(self.clone()))).await
    }

    fn check_write(&self, for_deletion: bool) -> Result<(), WriteError> {
        match *self.trouble.lock() {
            Trouble::Writes(kind) => Err(Failure::new(kind, MESSAGE).into()),
            Trouble::Full if !for_deletion => Err(WriteError::Backend("the disk is full".into())),
            _ => Ok(()),
        }
    }

    fn check_read(&self) -> Result<(), ReadError> {
        match *self.trouble.lock() {
            Trouble::Reads(kind) => Err(Failure::new(kind, MESSAGE).into()),
            _ => Ok(()),
        }
    }
}

#[async_trait]
impl Store for Troubled {
    async fn current(&self) -> Result<Revision, ReadError> {
        self.store.current().await
    }

    async fn snapshot(&self, at: Option<Revision>) -> Result<Arc<dyn Snapshot>, ReadError> {
        self.check_read()?;
        self.store.snapshot(at).await
    }

    async fn get(&self, key: &Key) -> Result<Option<Entry>, ReadError> {
        self.check_read()?;
        self.store.get(key).await
    }

    async fn create(&self, key: Key, payload: Payload) -> Result<Entry, WriteError> {
        self.check_write(false)?;
        self.store.create(key, payload).await
    }

    async fn update(
        &self,
        key: Key,
        expected: Revision,
        payload: Payload,
    ) -> Result<Updated, WriteError> {
        self.check_write(payload.for_deletion)?;
        self.store.update(key, expected, payload).await
    }

    async fn delete(&self, key: Key, expected: Revision) -> Result<Entry, WriteError> {
        self.check_write(true)?;
        self.store.delete(key, expected).await
    }

    async fn watch(
        &self,
        collection: &str,
        prefix: &str,
        after: Revision,
    ) -> Result<Box<dyn Watch>, ReadError> {
        self.store.watch(collection, prefix, after).await
    }

    fn limitation(&self) -> Option<String> {
        let is_full = *self.trouble.lock() == Trouble::Full;
        is_full.then(|| "the disk is full".to_owned())
    }

    async fn compact(&self, floor: Revision) -> Result<(), ReadError> {
        self.store.compact(floor).await
    }
}

fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

#[tokio::test]
async fn failures_of_the_store_have_their_own_status_codes() {
    let store = Troubled::default();
    let client = store.client().await;
    assert_eq!(client.post(MAPS, &map("there")).await.0, 201);
    let cases = [
        (
            FailureKind::Unavailable,
            503,
            "ServiceUnavailable",
            json!(1),
        ),
        (FailureKind::OutcomeUnknown, 504, "Timeout", Value::Null),
        (FailureKind::Busy, 429, "TooManyRequests", json!(1)),
        (
            FailureKind::TooLarge,
            413,
            "RequestEntityTooLarge",
            Value::Null,
        ),
        (FailureKind::Internal, 500, "InternalError", Value::Null),
    ];
    for (kind, code, reason, retry) in cases {
        store.set(Trouble::Writes(kind));
        let labels = json!({"metadata": {"labels": {"a": "b"}}});
        let there = format!("{MAPS}/there");
        for (got, status) in [
            client.post(MAPS, &map("new")).await,
            client.patch(&there, &labels).await,
            client.delete(&there).await,
        ] {
            assert_eq!((got, &status["reason"]), (code, &json!(reason)), "{status}");
            assert!(
                status["message"].as_str().unwrap().contains(MESSAGE),
                "{status}"
            );
            assert_eq!(status["details"]["retryAfterSeconds"], retry, "{status}");
        }
        store.set(Trouble::None);
        assert_eq!(client.get(&there).await["metadata"]["labels"], Value::Null);
    }
    store.set(Trouble::Reads(FailureKind::Unavailable));
    for path in [MAPS.to_owned(), format!("{MAPS}/there")] {
        let status = client.get(&path).await;
        assert_eq!(status["code"], 503, "{status}");
        assert_eq!(status["details"]["retryAfterSeconds"], 1, "{status}");
    }
}

#[tokio::test]
async fn a_full_store_accepts_graceful_deletions() {
    let store = Troubled::default();
    let client = store.client().await;
    let mut held = map("held");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    assert_eq!(client.post(MAPS, &held).await.0, 201);
    let path = format!("{MAPS}/held");
    store.set(Trouble::Full);
    let labels = json!({"metadata": {"labels": {"a": "b"}}});
    let (code, refused) = client.patch(&path, &labels).await;
    assert_eq!((code, &refused["reason"]), (500, &json!("InternalError")));
    let readyz = client.text("/readyz?verbose").await;
    assert!(
        readyz.contains("[+]etcd-readiness ok: the disk is full\n"),
        "{readyz}"
    );
    assert_eq!(client.text("/readyz").await, "ok");

    let (code, marked) = client.delete(&path).await;
    assert_eq!(code, 200, "{marked}");
    assert!(
        marked["metadata"]["deletionTimestamp"].is_string(),
        "{marked}"
    );
    let last = json!({"metadata": {"finalizers": null}});
    let (code, removed) = client.patch(&path, &last).await;
    assert_eq!(code, 200, "{removed}");
    assert_eq!(client.get(&path).await["code"], 404);
}
