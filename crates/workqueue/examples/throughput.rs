//! What the queue costs: nanoseconds per operation, the best of several rounds.
//!
//! Run with `cargo run --release --example throughput -p kubewright-workqueue`. `bench/peers/go/workqueue` prints the same
//! rows for the queues of client-go and controller-runtime.

use std::{
    hint::black_box,
    sync::{
        Arc, Barrier,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use kubewright_workqueue::{
    AddOptions, ItemExponentialFailureRateLimiter, Key, Tenant, WorkQueue,
    default_controller_rate_limiter,
};
use tokio::runtime;

/// Short rounds, and many: the best of them is one that nothing else disturbed.
const ROUNDS: usize = 200;
const SHORT: u64 = 20_000;
/// Where the size is the point.
const MANY_ROUNDS: usize = 7;
const MANY: u64 = 1_000_000;
const WORKERS: u64 = 1000;

fn main() {
    println!("{:<44} {:>10}", "kubewright-workqueue", "ns/op");
    row("add+get+done", SHORT, || {
        one_by_one(&WorkQueue::new(), |n| n)
    });
    row("add+get+done, 100 at a time", SHORT, by_hundreds);
    row("add+get+done, async get", SHORT, async_one_by_one);
    row("add+get+done, string keys", SHORT, || {
        one_by_one(&WorkQueue::new(), |n| {
            Arc::<str>::from(format!("namespace/{n}"))
        })
    });
    row("add+get+done, metrics", SHORT, || {
        one_by_one(&WorkQueue::builder().name("bench").build(), |n| n)
    });
    row("add+get+done, fair by tenant", SHORT, || {
        let tenant = |n: &u64| Tenant::number(n % 16);
        one_by_one(&WorkQueue::builder().fair_by(tenant).build(), |n| n)
    });
    row("fill 1M, then empty it", MANY, fill_and_empty);
    row("add+get+done with 1M queued", MANY, with_many_queued);
    row("1,000 workers, 1M items, 2 threads", MANY, || {
        many_workers(2)
    });
    row("1,000 workers, 1M items, 1 thread", MANY, || {
        many_workers(1)
    });
    row("add alone, 1,000 workers wait", WORKERS / 2, add_to_waiting);
    row("add+get+done, 2 threads contend", SHORT, contended);
    row("add_after, then due, get, done", SHORT, || delayed(true));
    row("add_after alone", SHORT, || delayed(false));
    row("add_rate_limited, exponential", SHORT, || {
        let (base, max) = (Duration::from_secs(100), Duration::from_secs(1000));
        rate_limited(
            &WorkQueue::builder()
                .rate_limiter(ItemExponentialFailureRateLimiter::new(base, max))
                .build(),
        )
    });
    row("add_rate_limited, default of controllers", SHORT, || {
        rate_limited(
            &WorkQueue::builder()
                .rate_limiter(default_controller_rate_limiter())
                .build(),
        )
    });
    row("two priorities, add+get+done", SHORT, two_priorities);
}

/// Prints the best of several rounds.
fn row(what: &str, operations: u64, round: impl Fn() -> Duration) {
    let rounds = if operations == MANY {
        MANY_ROUNDS
    } else {
        ROUNDS
    };
    let best = (0..rounds).map(|_| round()).min().unwrap_or_default();
    let each = best.as_nanos() as f64 / operations as f64;
    println!("{what:<44} {each:>10.1}");
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// As client-go's own benchmark does it: one hundred keys, each added and taken before the next.
fn one_by_one<K: Key>(queue: &WorkQueue<K>, key: impl Fn(u64) -> K) -> Duration {
    let keys: Vec<K> = (0..100).map(key).collect();
    timed(|| {
        for _ in 0..SHORT / 100 {
            for key in &keys {
                queue.add(key.clone());
                black_box(queue.try_get().expect("queued").key());
            }
        }
    })
}

fn by_hundreds() -> Duration {
    let queue = WorkQueue::new();
    timed(|| {
        for batch in 0..SHORT / 100 {
            for n in 0..100 {
                queue.add(batch * 100 + n);
            }
            for _ in 0..100 {
                black_box(queue.try_get().expect("queued").key());
            }
        }
    })
}

fn async_one_by_one() -> Duration {
    let runtime = threads(1);
    let queue = WorkQueue::new();
    runtime.block_on(async {
        let start = Instant::now();
        for n in 0..SHORT {
            queue.add(n % 100);
            black_box(queue.get().await.expect("queued").key());
        }
        start.elapsed()
    })
}

fn fill_and_empty() -> Duration {
    let queue = WorkQueue::new();
    timed(|| {
        for n in 0..MANY {
            queue.add(n);
        }
        while let Ok(item) = queue.try_get() {
            black_box(item.key());
        }
    })
}

fn with_many_queued() -> Duration {
    let queue = WorkQueue::new();
    for n in 0..MANY {
        queue.add(n);
    }
    timed(|| {
        for n in MANY..2 * MANY {
            queue.add(n);
            black_box(queue.try_get().expect("queued").key());
        }
    })
}

/// From the first add until the last of the waiting workers is done with the last item.
fn many_workers(on: usize) -> Duration {
    let runtime = threads(on);
    let queue = WorkQueue::<u64>::new();
    let done = Arc::new(AtomicUsize::new(0));
    runtime.block_on(async {
        let workers: Vec<_> = (0..WORKERS)
            .map(|_| {
                let (queue, done) = (queue.clone(), done.clone());
                tokio::spawn(async move {
                    while let Some(item) = queue.get().await {
                        black_box(item.key());
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        while queue.status().waiting_workers < WORKERS as usize {
            tokio::task::yield_now().await;
        }
        let start = Instant::now();
        for n in 0..MANY {
            queue.add(n);
        }
        queue.shut_down_with_drain().await;
        let took = start.elapsed();
        for worker in workers {
            worker.await.expect("ended");
        }
        assert_eq!(done.load(Ordering::Relaxed) as u64, MANY);
        took
    })
}

fn add_to_waiting() -> Duration {
    let runtime = threads(1);
    let queue = WorkQueue::new();
    runtime.block_on(async {
        for _ in 0..WORKERS {
            let queue = queue.clone();
            tokio::spawn(async move { while queue.get().await.is_some() {} });
        }
        while queue.status().waiting_workers < WORKERS as usize {
            tokio::task::yield_now().await;
        }
        // Nobody runs in between: every add finds and wakes a worker that waits.
        let took = timed(|| {
            for n in 0..WORKERS / 2 {
                queue.add(n);
            }
        });
        queue.shut_down();
        took
    })
}

/// Two threads, each with half of the keys, on one queue.
fn contended() -> Duration {
    let queue = WorkQueue::new();
    let ready = Barrier::new(2);
    let halves = [0, 1];
    std::thread::scope(|scope| {
        let workers = halves.map(|half| {
            let (queue, ready) = (&queue, &ready);
            scope.spawn(move || {
                ready.wait();
                let start = Instant::now();
                for n in 0..SHORT / 2 {
                    queue.add(n * 2 + half);
                    black_box(queue.try_get().map(|item| *item)).ok();
                }
                (start, Instant::now())
            })
        });
        let [first, second] = workers.map(|worker| worker.join().expect("ended"));
        first.1.max(second.1) - first.0.min(second.0)
    })
}

fn delayed(taken: bool) -> Duration {
    let queue = WorkQueue::new();
    timed(|| {
        for n in 0..SHORT {
            let delay = Duration::from_nanos(1 + scatter(n) % 1_000_000);
            queue.add_after(n, if taken { delay } else { delay * 1_000_000 });
        }
        while taken && queue.status().delayed + queue.len() > 0 {
            while let Ok(item) = queue.try_get() {
                black_box(item.key());
            }
        }
    })
}

fn rate_limited(queue: &WorkQueue<u64>) -> Duration {
    timed(|| {
        for n in 0..SHORT {
            queue.add_rate_limited(n);
        }
    })
}

fn two_priorities() -> Duration {
    let queue = WorkQueue::new();
    timed(|| {
        for batch in 0..SHORT / 100 {
            for n in 0..100 {
                let priority = if n % 2 == 0 { 0 } else { -100 };
                queue.add_with(batch * 100 + n, AddOptions::new().priority(priority));
            }
            for _ in 0..100 {
                black_box(queue.try_get().expect("queued").key());
            }
        }
    })
}

fn threads(count: usize) -> runtime::Runtime {
    let mut builder = if count == 1 {
        runtime::Builder::new_current_thread()
    } else {
        runtime::Builder::new_multi_thread()
    };
    builder
        .worker_threads(count)
        .enable_time()
        .build()
        .expect("a runtime")
}

/// Numbers without an order.
fn scatter(n: u64) -> u64 {
    n.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31)
}
