//! Writes whose response is lost, and whose request arrives late: after the client has found nothing, and before its second
//! attempt.

use std::sync::Arc;

use kubewright_store::{
    Entry, Failure, FailureKind, Key, MemoryStore, Payload, ReadError, Revision, Snapshot, Store,
    Updated, Watch, WriteError,
};
use kubewright_store_etcd::EtcdStore;
use parking_lot::Mutex;

use crate::{door, empty, open};

/// A write.
#[derive(Clone)]
enum Request {
    Create(Key, Payload),
    Update(Key, Revision, Payload),
    Delete(Key, Revision),
}

/// A store that loses the next write, and carries it out just before the one after.
#[derive(Clone)]
struct Late {
    store: MemoryStore,
    state: Arc<Mutex<State>>,
}

enum State {
    /// Every write is carried out.
    Punctual,
    /// The next write is lost. The write of another client is carried out first.
    LosesNext(Option<Request>),
    Lost(Vec<Request>),
}

impl Late {
    fn new() -> Self {
        Self {
            store: empty(),
            state: Arc::new(Mutex::new(State::Punctual)),
        }
    }

    fn lose_next(&self, after: Option<Request>) {
        *self.state.lock() = State::LosesNext(after);
    }

    /// Fails if the write is lost. Otherwise, carries out the lost ones.
    async fn pass(&self, request: Request) -> Result<(), WriteError> {
        let lost = {
            let mut state = self.state.lock();
            match std::mem::replace(&mut *state, State::Punctual) {
                State::Punctual => Vec::new(),
                State::Lost(lost) => lost,
                State::LosesNext(first) => {
                    *state = State::Lost(first.into_iter().chain([request]).collect());
                    let lost = Failure::new(FailureKind::Unavailable, "the response is lost");
                    return Err(WriteError::Backend(Box::new(lost)));
                }
            }
        };
        for request in lost {
            // A late request may find another object.
            let _ = match request {
                Request::Create(key, payload) => self.store.create(key, payload).await.map(drop),
                Request::Update(key, expected, payload) => {
                    let updated = self.store.update(key, expected, payload).await;
                    updated.map(drop)
                }
                Request::Delete(key, expected) => self.store.delete(key, expected).await.map(drop),
            };
        }
        Ok(())
    }
}

#[async_trait::async_trait]
impl Store for Late {
    async fn current(&self) -> Result<Revision, ReadError> {
        self.store.current().await
    }

    async fn snapshot(&self, at: Option<Revision>) -> Result<Arc<dyn Snapshot>, ReadError> {
        self.store.snapshot(at).await
    }

    async fn get(&self, key: &Key) -> Result<Option<Entry>, ReadError> {
        self.store.get(key).await
    }

    async fn create(&self, key: Key, payload: Payload) -> Result<Entry, WriteError> {
        let request = Request::Create(key.clone(), payload.clone());
        self.pass(request).await?;
        self.store.create(key, payload).await
    }

    async fn update(
        &self,
        key: Key,
        expected: Revision,
        payload: Payload,
    ) -> Result<Updated, WriteError> {
        let request = Request::Update(key.clone(), expected, payload.clone());
        self.pass(request).await?;
        self.store.update(key, expected, payload).await
    }

    async fn delete(&self, key: Key, expected: Revision) -> Result<Entry, WriteError> {
        self.pass(Request::Delete(key.clone(), expected)).await?;
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

    async fn compact(&self, floor: Revision) -> Result<(), ReadError> {
        self.store.compact(floor).await
    }
}

fn key() -> Key {
    Key::new("things", "a")
}

async fn object(store: &EtcdStore, text: &str) -> Entry {
    let payload = Payload::plain(text.to_owned());
    store.create(key(), payload).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_arrives_late_is_no_conflict() {
    let late = Late::new();
    let (_door, options) = door(&late).await;
    let store = open(&options).await;

    late.lose_next(None);
    let created = object(&store, "1").await;
    let there = store.get(&key()).await.unwrap().unwrap();
    assert_eq!(
        (created.revision, &*created.bytes),
        (there.revision, &b"1"[..])
    );

    late.lose_next(None);
    let payload = Payload::plain("2");
    let updated = store.update(key(), created.revision, payload).await;
    let updated = updated.unwrap().entry;
    let there = store.get(&key()).await.unwrap().unwrap();
    assert_eq!(
        (updated.revision, &*there.bytes),
        (there.revision, &b"2"[..])
    );

    late.lose_next(None);
    let deleted = store.delete(key(), updated.revision).await.unwrap();
    assert_eq!(
        (deleted.revision > updated.revision, &*deleted.bytes),
        (true, &b"2"[..])
    );
    assert!(store.get(&key()).await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_write_after_that_of_another_client_is_a_conflict() {
    let late = Late::new();
    let (_door, options) = door(&late).await;
    let store = open(&options).await;
    let created = object(&store, "1").await;
    // The key and the value as the door stores them.
    let stored = late.store.snapshot(None).await.unwrap();
    let all = stored
        .range("etcd", kubewright_store::Range::default())
        .await
        .unwrap();
    let there = all
        .entries
        .iter()
        .find(|entry| entry.path.ends_with("things/a"))
        .unwrap();
    let mut others = there.bytes.to_vec();
    *others.last_mut().unwrap() = b'9';
    let first = Request::Update(
        Key::new("etcd", Arc::clone(&there.path)),
        there.revision,
        Payload::plain(others),
    );
    late.lose_next(Some(first));
    let updated = store
        .update(key(), created.revision, Payload::plain("2"))
        .await;
    let Err(WriteError::Conflict(Some(winner))) = updated.map(|updated| updated.entry) else {
        panic!("another client has written the object");
    };
    assert_eq!(&*winner.bytes, b"9");
}
