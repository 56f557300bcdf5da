//! The cost of the in-memory store as it grows: a table of microseconds per operation at 1,000, 100,000 and 1,000,000
//! objects. Run with `cargo run --release --example throughput -p kubewright-store`.

use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use kubewright_store::{Key, MemoryStore, Payload, Range, Revision, Store};
use tokio::sync::mpsc;

const OPERATIONS: usize = 20_000;
const WATCHERS: usize = 1000;
const OBJECT: usize = 500;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    println!(
        "{:>9} {:>9} {:>9} {:>9} {:>9} {:>11} {:>11} {:>9} {:>9} {:>11} {:>11} {:>8}",
        "objects",
        "load",
        "create",
        "get",
        "update",
        "delete",
        "range(500)",
        "old(500)",
        "snapshot",
        "fork+write",
        "1000 watch",
        "B/object"
    );
    for objects in [1_000, 100_000, 1_000_000] {
        measure(objects).await;
    }
}

async fn measure(objects: usize) {
    let store = MemoryStore::new();
    let before = resident();
    let start = Instant::now();
    let mut kept = Vec::with_capacity(objects);
    for n in 0..objects {
        let created = store.create(key(n), payload(n)).await.expect("created");
        kept.push(created.revision);
    }
    let load = each(start, objects);
    store.compact_now();
    let footprint = resident().saturating_sub(before) - objects * 8;
    // The rest is at random places, so that caches do not flatter.
    let picks: Vec<usize> = (0..OPERATIONS).map(|n| scatter(n) % objects).collect();

    let news: Vec<_> = (0..OPERATIONS)
        .map(|n| {
            Key::new(
                "pods",
                format!("ns-{:03}/object-{:09}x", n % 100, scatter(n) % objects),
            )
        })
        .map(|key| (key, payload(0)))
        .collect();
    let start = Instant::now();
    for (key, payload) in news {
        let _ = store.create(key, payload).await;
    }
    let create = each(start, OPERATIONS);

    let keys: Vec<_> = picks.iter().map(|&n| key(n)).collect();
    let start = Instant::now();
    for key in &keys {
        assert!(store.get(key).await.expect("read").is_some());
    }
    let get = each(start, OPERATIONS);

    let middle = store.current().await.expect("read");
    let payloads: Vec<_> = (objects..).map(payload).take(OPERATIONS).collect();
    let start = Instant::now();
    for ((&n, key), payload) in picks.iter().zip(&keys).zip(payloads) {
        let updated = store.update(key.clone(), kept[n], payload).await;
        kept[n] = updated.expect("updated").entry.revision;
    }
    let update = each(start, OPERATIONS);

    let range = ranges(&store, None, &picks).await;
    let old = ranges(&store, Some(middle), &picks).await;

    let start = Instant::now();
    for _ in 0..OPERATIONS {
        store.snapshot(None).await.expect("snapshot");
    }
    let snapshot = each(start, OPERATIONS);

    let start = Instant::now();
    for n in 0..1000 {
        let fork = store.fork();
        let key = Key::new("pods", format!("forked-{n}"));
        fork.create(key, payload(n)).await.expect("created");
    }
    let fork = each(start, 1000);

    let mut once = HashSet::new();
    let doomed: Vec<_> = picks
        .iter()
        .zip(&keys)
        .filter(|(n, _)| once.insert(**n))
        .collect();
    let start = Instant::now();
    for (n, key) in &doomed {
        let deleted = store.delete((*key).clone(), kept[**n]).await;
        deleted.expect("deleted");
    }
    let delete = each(start, doomed.len());

    let fan_out = fan_out(&store).await;
    println!(
        "{objects:>9} {load:>9.2} {create:>9.2} {get:>9.2} {update:>9.2} {delete:>11.2} {range:>11.1} {old:>9.1} \
         {snapshot:>9.2} {fork:>11.2} {:>11.0} {:>8.0}",
        fan_out.as_secs_f64() * 1e6,
        (footprint as f64 / objects as f64) - OBJECT as f64,
    );
}

async fn ranges(store: &MemoryStore, at: Option<Revision>, picks: &[usize]) -> f64 {
    let start = Instant::now();
    let rounds = 500;
    for &n in &picks[..rounds] {
        let snapshot = store.snapshot(at).await.expect("snapshot");
        let range = Range {
            start: key(n).path.to_string(),
            limit: 500,
            ..Range::default()
        };
        let page = snapshot.range("pods", range).await.expect("range");
        std::hint::black_box(page.entries.len() + page.remaining as usize);
    }
    each(start, rounds)
}

/// From the moment a write has returned until the last of a thousand watchers has its change: the median of several.
async fn fan_out(store: &MemoryStore) -> Duration {
    let (sender, mut seen) = mpsc::unbounded_channel();
    let after = store.current().await.expect("read");
    for _ in 0..WATCHERS {
        let mut watch = store.watch("pods", "", after).await.expect("watch");
        let sender = sender.clone();
        tokio::spawn(async move {
            while watch.next().await.is_ok() {
                let _ = sender.send(());
            }
        });
    }
    let mut times = Vec::new();
    for n in 0..21 {
        tokio::time::sleep(Duration::from_millis(5)).await;
        let key = Key::new("pods", format!("watched-{n}"));
        store.create(key, payload(n)).await.expect("created");
        let start = Instant::now();
        for _ in 0..WATCHERS {
            seen.recv().await;
        }
        times.push(start.elapsed());
    }
    store.close();
    times.sort();
    times[times.len() / 2]
}

fn key(n: usize) -> Key {
    let path: Arc<str> = format!("ns-{:03}/object-{:09}", n % 100, n / 100).into();
    Key::new("pods", path)
}

fn payload(n: usize) -> Payload {
    let mut bytes = format!("{{\"resourceVersion\":\"\",\"n\":{n},\"pad\":\"").into_bytes();
    bytes.resize(OBJECT, b'x');
    Payload {
        revision_at: Some(20),
        ..Payload::plain(Bytes::from(bytes))
    }
}

/// A number that has little to do with the one before it.
fn scatter(n: usize) -> usize {
    (n.wrapping_add(1)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20
}

fn each(start: Instant, operations: usize) -> f64 {
    start.elapsed().as_secs_f64() * 1e6 / operations as f64
}

/// The memory of this process, where the system tells.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let resident = pages
        .split(' ')
        .nth(1)
        .and_then(|n| n.parse::<usize>().ok());
    resident.unwrap_or_default() * 4096
}
