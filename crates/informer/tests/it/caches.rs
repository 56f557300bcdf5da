//! The other caches and queues.

use std::sync::Arc;
use std::time::Duration;

use kubewright_informer::caches::{
    ConsistencyStore, ExpirationCache, Heap, HeapError, UndeltaStore,
};
use kubewright_informer::{Indexer, Key};
use parking_lot::Mutex;

// OC-1
#[tokio::test(start_paused = true)]
async fn values_expire_when_somebody_looks() {
    let cache = ExpirationCache::new(Duration::from_secs(10));
    cache.insert("a", 1);
    tokio::time::advance(Duration::from_secs(6)).await;
    cache.insert("a", 2);
    cache.insert("b", 3);
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!(cache.get(&"a"), Some(2));
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(cache.keys().len(), 2);
    assert_eq!(cache.get(&"a"), None);
    assert!(cache.list().is_empty());
    assert!(cache.keys().is_empty());
    cache.replace([("c", 4), ("d", 5)]);
    assert_eq!(cache.remove(&"c"), Some(4));
    assert_eq!(cache.list(), [5]);
    let forever = ExpirationCache::new(Duration::ZERO);
    forever.insert("a", 1);
    tokio::time::advance(Duration::from_secs(1 << 30)).await;
    assert_eq!(forever.get(&"a"), Some(1));
}

// OC-2
#[test]
fn every_change_tells_everything_and_reading_tells_nothing() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let noted = told.clone();
    let store = UndeltaStore::new(move |all| noted.lock().push(all));
    store.insert("b", 2);
    store.insert("a", 1);
    assert_eq!((store.get(&"a"), store.list()), (Some(1), vec![1, 2]));
    store.remove(&"b");
    store.remove(&"b");
    store.replace([("c", 3)]);
    assert_eq!(
        *told.lock(),
        [vec![2], vec![1, 2], vec![1], vec![1], vec![3]]
    );
}

// HP-1
#[tokio::test(start_paused = true)]
async fn a_heap_gives_the_least_first_and_waits() {
    let heap = Arc::new(Heap::new(|value: &i32| *value));
    heap.add_all([("a", 5), ("b", 1), ("c", 3)]).unwrap();
    heap.add("a", 0).unwrap();
    heap.add_if_absent("b", -9).unwrap();
    assert_eq!(heap.get(&"b"), Some(1));
    assert_eq!(heap.pop().await, Ok(0));
    assert_eq!(heap.delete(&"c"), Ok(3));
    assert_eq!(heap.delete(&"c"), Err(HeapError::NotFound));
    assert_eq!(heap.pop().await, Ok(1));
    let waiting = {
        let heap = heap.clone();
        tokio::spawn(async move { heap.pop().await })
    };
    tokio::time::sleep(Duration::from_secs(1)).await;
    heap.add("d", 7).unwrap();
    assert_eq!(waiting.await.unwrap(), Ok(7));
    heap.add("e", 8).unwrap();
    heap.close();
    assert_eq!(heap.add("f", 9), Err(HeapError::Closed));
    assert_eq!(heap.pop().await, Ok(8));
    assert_eq!(heap.pop().await, Err(HeapError::Closed));
}

// CO-1, CO-2, CO-3, CO-4
#[test]
fn a_controller_is_ready_when_its_caches_show_what_it_wrote() {
    let (pods, maps) = (Arc::new(Indexer::new()), Arc::new(Indexer::new()));
    let store = ConsistencyStore::new([("pods", pods.clone()), ("configmaps", maps.clone())]);
    let owner = Key::new(Some("ns"), "web");
    let behind = || {
        store
            .ensure_ready(&owner)
            .err()
            .map(|b| (b.resource, b.read, b.wrote))
    };
    let text = |r: &str, a: &str, b: &str| Some((r.to_owned(), a.to_owned(), b.to_owned()));
    assert_eq!(behind(), None);
    // A cache without a revision is not waited for, nor one that is not known.
    store.wrote_at(&owner, "u1", "pods", "7");
    store.wrote_at(&owner, "u1", "secrets", "99");
    assert_eq!(behind(), None);
    pods.bookmark("8");
    maps.bookmark("8");
    // Of several writes the newest counts.
    store.wrote_at(&owner, "u1", "pods", "10");
    store.wrote_at(&owner, "u1", "pods", "9");
    assert_eq!(behind(), text("pods", "8", "10"));
    pods.bookmark("10");
    assert_eq!(behind(), None);
    // What was seen is forgotten.
    pods.bookmark("5");
    assert_eq!(behind(), None);
    // Another uid is another owner.
    store.wrote_at(&owner, "u1", "pods", "50");
    store.wrote_at(&owner, "u2", "configmaps", "20");
    assert_eq!(behind(), text("configmaps", "8", "20"));
    store.clear(&owner, "u1");
    assert!(behind().is_some());
    store.clear(&owner, "u2");
    assert_eq!(behind(), None);
    store.wrote_at(&owner, "u3", "pods", "50");
    store.clear(&owner, "");
    assert_eq!(behind(), None);
}
