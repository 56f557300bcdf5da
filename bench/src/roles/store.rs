//! The durable store without a server: fills a data directory, or opens one.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use kubewright_store::{Key, Payload, Store};
use kubewright_store_durable::{DurableStore, Options};
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use crate::contest::Sample;

/// The size of an object.
const BYTES: usize = 10_000;
/// The number of concurrent writers.
const WRITERS: u64 = 128;

/// The work on a directory.
#[derive(Serialize, Deserialize)]
pub(crate) struct Work {
    pub(crate) directory: PathBuf,
    /// The number of objects.
    pub(crate) objects: u64,
    pub(crate) phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Phase {
    Fill,
    OpenCold,
    OpenWarm,
}

pub(super) fn run(work: &str) -> anyhow::Result<Sample> {
    let work: Work = serde_json::from_str(work)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_time()
        .build()?;
    match work.phase {
        Phase::Fill => runtime.block_on(fill(&work)),
        Phase::OpenCold => runtime.block_on(open(&work, "open_cold")),
        Phase::OpenWarm => runtime.block_on(open(&work, "open_warm")),
    }
}

async fn open(work: &Work, row: &str) -> anyhow::Result<Sample> {
    let began = Instant::now();
    let store = DurableStore::open(&work.directory, Options::default())?;
    let took = began.elapsed();
    let there = store.snapshot(None).await?.count("configmaps", "").await?;
    ensure!(
        there == work.objects,
        "{there} of {} objects are there",
        work.objects
    );
    store.close();
    let mut sample = Sample::default();
    sample.figures.insert(row.to_owned(), took.as_secs_f64());
    Ok(sample)
}

async fn fill(work: &Work) -> anyhow::Result<Sample> {
    let before = written()?;
    let store = DurableStore::open(&work.directory, Options::default())?;
    let first = work.objects * 2 / 3;
    let began = Instant::now();
    let quiet = create(&store, 0, first).await?;
    let rate = first as f64 / began.elapsed().as_secs_f64();
    let checkpointed = store.clone();
    let checkpoint = tokio::task::spawn_blocking(move || {
        let began = Instant::now();
        checkpointed.checkpoint().map(|_| began.elapsed())
    });
    let busy = create(&store, first, work.objects).await?;
    let checkpoint = checkpoint.await?;
    let checkpoint = checkpoint.map_err(|error| anyhow::anyhow!("{error}"))?;
    store.close();
    let payload = (work.objects * BYTES as u64) as f64;
    let (quiet, busy) = (p99(quiet), p99(busy));
    let mut sample = Sample::default();
    for (key, figure) in [
        ("created", rate),
        ("p99", quiet * 1e3),
        ("p99_checkpoint", busy * 1e3),
        ("p99_times", busy / quiet),
        ("checkpoint", checkpoint.as_secs_f64()),
        ("written", (written()? - before) as f64 / payload),
        ("occupied", occupied(&work.directory)? as f64 / payload),
    ] {
        sample.figures.insert(key.to_owned(), figure);
    }
    Ok(sample)
}

/// Creates the objects of these numbers, and returns the times of the creates.
async fn create(store: &DurableStore, from: u64, to: u64) -> anyhow::Result<Vec<Duration>> {
    let next = Arc::new(AtomicU64::new(from));
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        let (store, next) = (store.clone(), next.clone());
        writers.spawn(async move {
            let mut times = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= to {
                    return anyhow::Ok(times);
                }
                let key = Key::new("configmaps", format!("default/m-{number:07}"));
                let payload = object(number);
                let began = Instant::now();
                store.create(key, payload).await?;
                times.push(began.elapsed());
            }
        });
    }
    let mut times = Vec::new();
    while let Some(writer) = writers.join_next().await {
        times.append(&mut writer??);
    }
    Ok(times)
}

/// Returns an object of about the compressibility of a Kubernetes object: words, and hexadecimal digits.
fn object(number: u64) -> Payload {
    let before = r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":""#;
    let mut text = format!(r#"{before}","name":"m-{number}"}},"data":{{"a":""#);
    let mut seed = number | 1;
    while text.len() < BYTES - 3 {
        seed = seed
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        text += &format!("spec.template.containers: {:012x}, ", seed >> 16);
    }
    text.truncate(BYTES - 3);
    text += "\"}}";
    Payload {
        revision_at: u32::try_from(before.len()).ok(),
        ..Payload::plain(text)
    }
}

fn p99(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    let at = times.len() * 99 / 100;
    times.get(at).copied().unwrap_or_default().as_secs_f64()
}

/// Returns the bytes that this process has caused to be written to disk.
fn written() -> anyhow::Result<u64> {
    let text = fs::read_to_string("/proc/self/io")?;
    let bytes = text
        .lines()
        .find_map(|line| line.strip_prefix("write_bytes: "));
    bytes
        .and_then(|bytes| bytes.parse().ok())
        .context("/proc/self/io has no write_bytes")
}

/// Returns the size of all files of a directory.
fn occupied(directory: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        bytes += match entry.file_type()?.is_dir() {
            true => occupied(&entry.path())?,
            false => entry.metadata()?.len(),
        };
    }
    Ok(bytes)
}
