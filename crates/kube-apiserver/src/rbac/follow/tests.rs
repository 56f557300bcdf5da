use std::sync::atomic::{AtomicBool, Ordering};

use kubewright_store::{Key, Limits, MemoryStore, Payload, Revision, Store};
use serde_json::{Value, json};

use super::*;

const ROLES: &str = "rbac.authorization.k8s.io/clusterroles";
const BINDINGS: &str = "rbac.authorization.k8s.io/clusterrolebindings";

fn me() -> UserInfo {
    UserInfo {
        name: "me".into(),
        ..UserInfo::default()
    }
}

fn role(verb: &str) -> Value {
    json!({"rules": [{"verbs": [verb], "apiGroups": [""], "resources": ["pods"]}]})
}

fn binding(user: &str) -> Value {
    json!({
        "roleRef": {"kind": "ClusterRole", "name": "r"},
        "subjects": [{"kind": "User", "name": user}],
    })
}

async fn put(store: &dyn Store, collection: &str, name: &str, object: Value) {
    let key = Key::new(collection, name);
    let payload = Payload::plain(object.to_string());
    match store.get(&key).await.unwrap() {
        None => drop(store.create(key, payload).await.unwrap()),
        Some(entry) => drop(store.update(key, entry.revision, payload).await.unwrap()),
    }
}

async fn remove(store: &dyn Store, collection: &str, name: &str) {
    let key = Key::new(collection, name);
    let entry = store.get(&key).await.unwrap().expect("an object");
    store.delete(key, entry.revision).await.unwrap();
}

async fn verbs(policy: &Policy) -> String {
    let (rules, _) = policy.rules_for(&me(), "").await.unwrap();
    let rules = rules.iter().flat_map(|rules| rules.iter());
    rules
        .flat_map(|rule| rule.verbs.clone())
        .collect::<Vec<_>>()
        .join(" ")
}

#[tokio::test]
async fn every_decision_sees_the_writes_before_it() {
    let store = MemoryStore::new();
    put(&store, ROLES, "r", role("get")).await;
    let policy = Policy::new(Arc::new(store.clone()));
    assert_eq!(verbs(&policy).await, "");
    put(&store, BINDINGS, "b", binding("me")).await;
    assert_eq!(verbs(&policy).await, "get");
    put(&store, ROLES, "r", role("list")).await;
    assert_eq!(verbs(&policy).await, "list");
    remove(&store, ROLES, "r").await;
    assert_eq!(verbs(&policy).await, "");
    put(&store, ROLES, "r", role("watch")).await;
    put(&store, BINDINGS, "b", binding("you")).await;
    assert_eq!(verbs(&policy).await, "");
    put(&store, BINDINGS, "c", binding("me")).await;
    assert_eq!(verbs(&policy).await, "watch");
}

#[tokio::test]
async fn without_writes_nothing_is_read() {
    let store = MemoryStore::new();
    let policy = Policy::new(Arc::new(store.clone()));
    assert_eq!(verbs(&policy).await, "");
    assert!(policy.is_current());
    put(&store, "pods", "p", json!({})).await;
    assert!(policy.is_current(), "other collections do not matter");
    put(&store, ROLES, "r", role("get")).await;
    assert!(!policy.is_current());
    assert_eq!(verbs(&policy).await, "");
    assert!(policy.is_current());
}

#[tokio::test]
async fn an_index_that_was_unused_for_long_is_rebuilt() {
    let limits = Limits {
        max_lag: 4,
        max_changes: 4,
        ..Limits::default()
    };
    let store = MemoryStore::with_limits(Revision(0), limits);
    put(&store, BINDINGS, "b", binding("me")).await;
    let policy = Policy::new(Arc::new(store.clone()));
    assert_eq!(verbs(&policy).await, "");
    for i in 0..100 {
        put(&store, ROLES, "r", role(&format!("v{i}"))).await;
    }
    assert_eq!(verbs(&policy).await, "v99");
    put(&store, ROLES, "r", role("get")).await;
    assert_eq!(verbs(&policy).await, "get");
}

#[tokio::test]
async fn a_store_that_is_closing_is_still_read() {
    let store = MemoryStore::new();
    put(&store, BINDINGS, "b", binding("me")).await;
    let policy = Policy::new(Arc::new(store.clone()));
    store.close();
    put(&store, ROLES, "r", role("get")).await;
    assert_eq!(verbs(&policy).await, "get");
    put(&store, ROLES, "r", role("list")).await;
    assert_eq!(verbs(&policy).await, "list");
}

/// A reader never sees a permission together with a binding that was removed before it was granted.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_decision_sees_a_later_write_without_an_earlier_one() {
    let store = MemoryStore::new();
    put(&store, ROLES, "r", role("harmless")).await;
    let policy = Arc::new(Policy::new(Arc::new(store.clone())));
    let done = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (policy, done) = (policy.clone(), done.clone());
            tokio::spawn(async move {
                while !done.load(Ordering::SeqCst) {
                    assert_ne!(verbs(&policy).await, "secret");
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for _ in 0..300 {
        put(&store, BINDINGS, "b", binding("me")).await;
        assert_eq!(verbs(&policy).await, "harmless");
        remove(&store, BINDINGS, "b").await;
        put(&store, ROLES, "r", role("secret")).await;
        put(&store, ROLES, "r", role("harmless")).await;
    }
    done.store(true, Ordering::SeqCst);
    for reader in readers {
        reader.await.expect("no reader saw both");
    }
}
