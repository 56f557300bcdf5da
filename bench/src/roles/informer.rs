//! Our informer on the replayed pods.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::ensure;
use k8s_openapi::api::core::v1::Pod;
use kube::core::ApiResource;
use kubewright_informer::{
    Compression, Event, IndexFn, InformerConfig, KubeListerWatcher, ReflectorConfig, Selection,
    SharedInformer,
};
use serde::{Deserialize, Serialize};

use super::go;
use crate::{
    contest::Sample,
    proc,
    replay::{LISTED, corpus::Digest},
};

/// The time limit of a sync, and of the changes.
const PATIENCE: Duration = Duration::from_secs(300);

/// A piece of work.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Work {
    pub(crate) url: String,
    pub(crate) pods: u64,
    pub(crate) events: u64,
    pub(crate) handlers: usize,
    pub(crate) compressed: bool,
    pub(crate) watch_list: bool,
    /// Reads every object once as a typed value.
    pub(crate) typed: bool,
    /// Lists everything again.
    pub(crate) relist: bool,
}

pub(super) fn run(work: &str) -> anyhow::Result<Sample> {
    let work: Work = serde_json::from_str(work)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async { tokio::time::timeout(PATIENCE, measure(&work)).await })?
}

async fn measure(work: &Work) -> anyhow::Result<Sample> {
    let me = [std::process::id()];
    let mut sample = Sample::default();
    let pods = work.pods as f64;
    let informer = informer(work)?;
    let before = proc::resident(&me)?;
    let cpu = proc::processor_time(&me)?;
    let used = |since: Duration| anyhow::Ok((proc::processor_time(&me)? - since).as_secs_f64());
    let updates = Arc::new(AtomicU64::new(0));
    let handlers: Vec<_> = (0..work.handlers)
        .map(|_| {
            let updates = updates.clone();
            informer.add_handler(move |event: Event<Pod>| {
                if matches!(event, Event::Updated { .. }) {
                    updates.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    informer.start();
    informer.wait_for_sync(PATIENCE).await?;
    for handler in &handlers {
        handler.synced().await;
    }
    let sync = used(cpu)?.max(0.01);
    let peak = proc::peak(&me)?;
    let mut note = |key: &str, figure: f64| sample.figures.insert(key.to_owned(), figure);
    note("sync_cpu_seconds", sync);
    note("sync_cpu_micros_per_pod", sync * 1e6 / pods);
    note("sync_peak_bytes", peak as f64);
    // Memory of the sync has been released by now.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let steady = proc::resident(&me)?.saturating_sub(before).max(1) as f64;
    let json = informer.metrics().bytes as f64;
    note("resident_per_pod", steady / pods);
    note("heap_per_pod", steady / pods);
    note("json_per_pod", json / pods);
    note("over_json_per_pod", (steady - json) / pods);
    note(
        "peak_to_steady",
        peak.saturating_sub(before) as f64 / steady,
    );
    let synced = digest(&informer);

    if work.events > 0 {
        let cpu = proc::processor_time(&me)?;
        go(&work.url)?;
        let all = work.events * work.handlers as u64;
        while updates.load(Ordering::Relaxed) < all {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // The time has a resolution of 10 ms.
        let seconds = used(cpu)?.max(0.01);
        note("events_per_cpu_second", work.events as f64 / seconds);
        note("cpu_micros_per_event", seconds * 1e6 / work.events as f64);
    }
    if work.relist {
        proc::forget_peak(&me)?;
        go(&work.url)?;
        // The second list is one version later.
        informer.wait_for(&(LISTED + 1).to_string()).await?;
        let peak = proc::peak(&me)?.saturating_sub(before) as f64;
        note("relist_peak_to_steady", peak / steady);
    }
    let changed = digest(&informer);
    note("lookup_micros", lookups(&informer)?);
    if work.typed {
        let cpu = proc::processor_time(&me)?;
        let mut containers = 0;
        for object in informer.indexer().snapshot().iter() {
            let pod = object.decode::<Pod>()?;
            containers += pod.spec.as_ref().map_or(0, |spec| spec.containers.len());
        }
        ensure!(containers as u64 == 2 * work.pods, "a container is missing");
        note("typed_cpu_seconds", sync + used(cpu)?);
    }
    sample.digests.insert("sync".to_owned(), synced);
    sample.digests.insert("watch".to_owned(), changed);
    Ok(sample)
}

fn informer(work: &Work) -> anyhow::Result<SharedInformer<Pod>> {
    let client = kube::Client::try_from(kube::Config::new(work.url.parse()?))?;
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
            stall: PATIENCE,
            ..ReflectorConfig::default()
        },
        ..InformerConfig::default()
    };
    Ok(SharedInformer::new(
        resource,
        vec![Arc::new(source)],
        config,
    ))
}

/// Returns the digest of the cache.
fn digest(informer: &SharedInformer<Pod>) -> String {
    let mut digest = Digest::default();
    for object in informer.indexer().snapshot().iter() {
        digest.add(
            object.key().as_str(),
            object.uid(),
            object.resource_version(),
        );
    }
    digest.text()
}

/// Returns the microseconds to find one pod by an index other than its key.
fn lookups(informer: &SharedInformer<Pod>) -> anyhow::Result<f64> {
    const COUNT: usize = 100_000;
    informer.add_index("uid", IndexFn::field("metadata.uid"))?;
    let state = informer.indexer().snapshot();
    let uids = state.index_values("uid")?;
    let begin = Instant::now();
    let mut found = 0;
    for uid in uids.iter().cycle().take(COUNT) {
        found += state.by_index("uid", uid)?.len();
    }
    let passed = begin.elapsed().as_secs_f64();
    ensure!(found == COUNT, "a pod was not found");
    Ok(passed * 1e6 / COUNT as f64)
}
