//! Measures the durable store: acknowledged creates per second by the number of writers, and the time to reopen it. Run with
//! `cargo run --profile dist --example durable_throughput -p kubewright-store-durable -- DIR [ADDED-SYNC-MILLISECONDS]`.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use kubewright_store::{Key, Payload, Store};
use kubewright_store_durable::{DurableStore, Options};

const OBJECT: usize = 1200;
const SECONDS: u64 = 3;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let root = arguments.next().expect("a directory");
    let added: Option<f64> = arguments.next().and_then(|text| text.parse().ok());
    let options = Options {
        added_sync_latency: added.map(|ms| Duration::from_secs_f64(ms / 1000.0)),
        ..Options::default()
    };
    for writers in [1, 32, 64, 128, 256] {
        let path = Path::new(&root).join(writers.to_string());
        creates(&path, writers, options.clone()).await;
        let _ = std::fs::remove_dir_all(path);
    }
    let path = Path::new(&root).join("large");
    reopen(&path, options).await;
    let _ = std::fs::remove_dir_all(path);
}

async fn creates(path: &Path, writers: usize, options: Options) {
    let store = DurableStore::open(path, options).expect("a store");
    let end = Instant::now() + Duration::from_secs(SECONDS);
    let tasks: Vec<_> = (0..writers)
        .map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut done = 0_u64;
                while Instant::now() < end {
                    let key = Key::new("pods", format!("ns-{writer:03}/object-{done:09}"));
                    let payload = Payload::plain(vec![b'x'; OBJECT]);
                    store.create(key, payload).await.expect("a write");
                    done += 1;
                }
                done
            })
        })
        .collect();
    let mut total = 0;
    for task in tasks {
        total += task.await.expect("a writer");
    }
    let stats = store.stats();
    println!(
        "{writers:>4} writers: {:>7}/s, {:.1} writes a sync, {:.2} ms a sync",
        total / SECONDS,
        stats.records as f64 / stats.groups.max(1) as f64,
        stats.sync_time.as_secs_f64() * 1000.0 / stats.syncs.max(1) as f64,
    );
}

async fn reopen(path: &Path, options: Options) {
    const OBJECTS: usize = 150_000;
    let store = DurableStore::open(path, options.clone()).expect("a store");
    let mut tasks = Vec::new();
    for writer in 0..256 {
        let store = store.clone();
        tasks.push(tokio::spawn(async move {
            for n in (writer..OBJECTS).step_by(256) {
                let key = Key::new("pods", format!("ns-{:03}/object-{n:09}", n % 100));
                // Text similar to that of objects, which compresses to about a third.
                let line = format!(r#"{{"name":"object-{n}","value":"{:032x}"}},"#, n * 7919);
                let payload = Payload::plain(line.repeat(10_000 / line.len()));
                store.create(key, payload).await.expect("a write");
            }
        }));
    }
    for task in tasks {
        task.await.expect("a writer");
    }
    let began = Instant::now();
    store.checkpoint().expect("a checkpoint");
    println!(
        "checkpoint of {OBJECTS} objects of 10 KB: {:.2} s",
        began.elapsed().as_secs_f64()
    );
    store.close();
    drop(store);
    let began = Instant::now();
    let store = DurableStore::open(path, options).expect("a store");
    println!(
        "opened at revision {} in {:.2} s",
        store.open_report().revision.0,
        began.elapsed().as_secs_f64()
    );
}
