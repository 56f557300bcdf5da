//! The informer under measurement.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;
use k8s_openapi::api::core::v1::Pod;
use kube::core::ApiResource;
use kubewright_informer::lister_watcher::Selection;
use kubewright_informer::{
    Compression, Event, IndexFn, InformerConfig, KubeListerWatcher, ReflectorConfig, SharedInformer,
};

use super::{Found, Work};
use crate::proc;

/// Does the work and prints what it found.
pub(super) fn run(work: &str) -> anyhow::Result<()> {
    let work: Work = serde_json::from_str(work)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let found = runtime.block_on(measure(&work))?;
    println!("{}", serde_json::to_string(&found)?);
    Ok(())
}

async fn measure(work: &Work) -> anyhow::Result<Found> {
    let me = std::process::id();
    let url = format!(
        "{}/pods-{}/events-{}/relist-{}",
        work.url,
        work.pods,
        work.events,
        u8::from(work.relist)
    );
    let client = kube::Client::try_from(kube::Config::new(url.parse()?))?;
    let resource = ApiResource::erase::<Pod>(&());
    let source = KubeListerWatcher::new(client, &resource, None, Selection::default());
    let config = InformerConfig {
        compression: if work.compressed {
            Compression::Lz4
        } else {
            Compression::None
        },
        reflector: ReflectorConfig {
            watch_list: work.watch_list,
            stall: Duration::from_secs(300),
            ..ReflectorConfig::default()
        },
        ..InformerConfig::default()
    };
    let informer = SharedInformer::<Pod>::new(resource, vec![Arc::new(source)], config);
    let before = proc::resident(me)?;
    let (cpu, wall) = (proc::processor_time(me)?, Instant::now());
    let seen = Arc::new(AtomicU64::new(0));
    let handlers: Vec<_> = (0..work.handlers)
        .map(|_| {
            let seen = seen.clone();
            informer.add_handler(move |event: Event<Pod>| {
                if !event.key().as_str().is_empty() {
                    seen.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    informer.start();
    informer.wait_for_sync(Duration::from_secs(600)).await?;
    let mut found = Found {
        sync_cpu_seconds: (proc::processor_time(me)? - cpu).as_secs_f64(),
        sync_wall_seconds: wall.elapsed().as_secs_f64(),
        ..Found::default()
    };
    check(&informer, work)?;
    // What the sync needed for itself is given back by now.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let steady = proc::resident(me)? - before;
    found.bytes_per_pod = steady as f64 / work.pods as f64;
    found.json_per_pod = informer.metrics().bytes as f64 / work.pods as f64;
    found.peak_to_steady = (proc::peak(me)? - before) as f64 / steady as f64;
    if work.events > 0 {
        let cpu = proc::processor_time(me)?;
        informer.wait_for("3000000").await?;
        let all = (work.pods + work.events) * work.handlers as u64;
        while seen.load(Ordering::Relaxed) < all {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let used = (proc::processor_time(me)? - cpu).as_secs_f64();
        found.events_per_cpu_second = work.events as f64 / used;
    }
    if work.relist {
        proc::forget_peak(me)?;
        while informer.metrics().total_relists() == 0 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        found.relist_peak_to_steady = (proc::peak(me)? - before) as f64 / steady as f64;
        check(&informer, work)?;
    }
    found.lookup_micros = lookups(&informer)?;
    if work.typed {
        let cpu = proc::processor_time(me)?;
        let mut containers = 0;
        for object in informer.indexer().snapshot().iter() {
            let pod = object.decode::<Pod>()?;
            containers += pod.spec.as_ref().map_or(0, |spec| spec.containers.len());
        }
        ensure!(containers as u64 == 2 * work.pods, "a container is missing");
        found.typed_cpu_seconds =
            found.sync_cpu_seconds + (proc::processor_time(me)? - cpu).as_secs_f64();
    }
    drop(handlers);
    Ok(found)
}

/// Every pod is there, in its right version.
fn check(informer: &SharedInformer<Pod>, work: &Work) -> anyhow::Result<()> {
    let state = informer.indexer().snapshot();
    ensure!(
        state.len() as u64 == work.pods,
        "{} pods of {}",
        state.len(),
        work.pods
    );
    if work.events == 0 {
        let sum: u64 = state
            .iter()
            .filter_map(|o| o.resource_version().parse::<u64>().ok())
            .sum();
        let expected: u64 = (0..work.pods).map(|i| 1000 + i).sum();
        ensure!(sum == expected, "a pod is not in its right version");
    }
    Ok(())
}

/// Microseconds to find one pod by an index that is not its key.
fn lookups(informer: &SharedInformer<Pod>) -> anyhow::Result<f64> {
    informer.add_index("uid", IndexFn::field("metadata.uid"))?;
    let state = informer.indexer().snapshot();
    let uids = state.index_values("uid")?;
    let begin = Instant::now();
    let mut found = 0;
    for uid in uids.iter().cycle().take(100_000) {
        found += state.by_index("uid", uid)?.len();
    }
    let passed = begin.elapsed().as_secs_f64();
    ensure!(found == 100_000, "a pod was not found");
    Ok(passed * 1e6 / 1e5)
}
