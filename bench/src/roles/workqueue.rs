//! Our work queue: the same rows as `bench/peers/go/workqueue`.

use std::{
    hint::black_box,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Context;
use kubewright_workqueue::WorkQueue;
use serde::{Deserialize, Serialize};
use tokio::runtime::Builder;

use crate::contest::Sample;

/// The number of short rounds, of which the best one counts.
const SHORT_ROUNDS: usize = 20;
const WORKERS: usize = 1000;

/// The number of items.
#[derive(Serialize, Deserialize)]
pub(crate) struct Work {
    /// The number in rounds where the size does not matter.
    pub(crate) short: u64,
    /// The number in rounds where it does.
    pub(crate) many: u64,
}

/// The duration of a round, and the sum of the items taken from the queue.
type Found = (Duration, u64);

pub(super) fn run(work: &str) -> anyhow::Result<Sample> {
    let Work { short, many } = serde_json::from_str(work)?;
    let mut sample = Sample::default();
    let mut row = |key: &str, operations: u64, rounds: usize, round: &dyn Fn() -> Found| {
        let (time, sum) = (0..rounds).map(|_| round()).min().unwrap_or_default();
        let nanos = time.as_nanos() as f64 / operations as f64;
        sample.figures.insert(key.to_owned(), nanos);
        sample.digests.insert(key.to_owned(), format!("{sum:016x}"));
    };
    row("one_by_one", short, SHORT_ROUNDS, &|| one_by_one(short));
    row("by_hundreds", short, SHORT_ROUNDS, &|| by_hundreds(short));
    row("fill_and_empty", many, 1, &|| fill_and_empty(many));
    row("with_many_queued", many, 1, &|| with_many_queued(many));
    let workers = many_workers(many)?;
    row("many_workers", many, 1, &|| workers);
    row("delayed_due", short, SHORT_ROUNDS, &|| delayed(short, true));
    row("delayed_add", short, SHORT_ROUNDS, &|| {
        delayed(short, false)
    });
    Ok(sample)
}

fn timed(work: impl FnOnce() -> u64) -> Found {
    let start = Instant::now();
    let sum = work();
    (start.elapsed(), sum)
}

/// Takes an item, which is there, and marks it as done.
fn take(queue: &WorkQueue<u64>) -> u64 {
    queue.try_get().map_or(0, |item| *black_box(item.key()))
}

/// Measures as client-go's own benchmark does: one hundred keys, each added and taken before the next.
fn one_by_one(short: u64) -> Found {
    let queue = WorkQueue::new();
    timed(|| {
        let one = |n| {
            queue.add(n % 100);
            take(&queue)
        };
        (0..short).map(one).sum()
    })
}

fn by_hundreds(short: u64) -> Found {
    let queue = WorkQueue::new();
    timed(|| {
        let mut sum = 0;
        for batch in 0..short / 100 {
            for n in 0..100 {
                queue.add(batch * 100 + n);
            }
            sum += (0..100).map(|_| take(&queue)).sum::<u64>();
        }
        sum
    })
}

fn fill_and_empty(many: u64) -> Found {
    let queue = WorkQueue::new();
    timed(|| {
        for n in 0..many {
            queue.add(n);
        }
        (0..many).map(|_| take(&queue)).sum()
    })
}

fn with_many_queued(many: u64) -> Found {
    let queue = WorkQueue::new();
    for n in 0..many {
        queue.add(n);
    }
    timed(|| {
        let one = |n| {
            queue.add(many + n);
            take(&queue)
        };
        (0..many).map(one).sum()
    })
}

/// Measures from the first add until the last of the waiting workers is done with the last item, on as many threads as
/// there are processors.
fn many_workers(many: u64) -> anyhow::Result<Found> {
    let runtime = Builder::new_multi_thread().enable_time().build();
    let queue = WorkQueue::<u64>::new();
    let sum = Arc::new(AtomicU64::new(0));
    runtime.context("no runtime")?.block_on(async {
        let workers: Vec<_> = (0..WORKERS)
            .map(|_| {
                let (queue, sum) = (queue.clone(), sum.clone());
                tokio::spawn(async move {
                    while let Some(item) = queue.get().await {
                        sum.fetch_add(*black_box(item.key()), Ordering::Relaxed);
                    }
                })
            })
            .collect();
        while queue.status().waiting_workers < WORKERS {
            tokio::task::yield_now().await;
        }
        let start = Instant::now();
        for n in 0..many {
            queue.add(n);
        }
        queue.shut_down_with_drain().await;
        let took = start.elapsed();
        for worker in workers {
            worker.await?;
        }
        Ok((took, sum.load(Ordering::Relaxed)))
    })
}

fn delayed(short: u64, due: bool) -> Found {
    let queue = WorkQueue::new();
    timed(|| {
        for n in 0..short {
            let delay = Duration::from_nanos(1 + scatter(n) % 1_000_000);
            queue.add_after(n, if due { delay } else { delay * 1_000_000 });
        }
        let mut sum = 0;
        while due && queue.status().delayed + queue.len() > 0 {
            while let Ok(item) = queue.try_get() {
                sum += *black_box(item.key());
            }
        }
        sum
    })
}

/// Returns numbers in random order.
fn scatter(n: u64) -> u64 {
    n.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31)
}
