//! Faults of the queue's users: panics, storms, many threads.

use std::{
    collections::HashSet,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use kubewright_workqueue::{ItemExponentialFailureRateLimiter, WorkQueue};

use crate::drained;

#[tokio::test(start_paused = true)]
async fn a_panic_hands_the_key_back() {
    let queue = WorkQueue::new();
    queue.add("a");
    let worker = tokio::spawn({
        let queue = queue.clone();
        async move {
            let _item = queue.get().await.expect("a key");
            queue.add("a");
            panic!("a reconciler gone wrong");
        }
    });
    assert!(worker.await.expect_err("it panicked").is_panic());
    assert_eq!(queue.status().processing, 0);
    assert_eq!(drained(&queue), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn an_item_can_be_sent_to_a_task_of_its_own() {
    let queue = WorkQueue::new();
    queue.add("a");
    let item = queue.get().await.expect("a key").into_owned();
    assert_eq!(queue.status().processing, 1);
    let task = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        *item
    });
    assert_eq!(task.await.expect("ended"), "a");
    assert!(queue.status().is_idle());
}

#[tokio::test(start_paused = true)]
async fn an_aborted_worker_hands_the_key_back() {
    let queue = WorkQueue::new();
    queue.add("a");
    let worker = tokio::spawn({
        let queue = queue.clone();
        async move {
            let _item = queue.get().await;
            std::future::pending::<()>().await;
        }
    });
    tokio::task::yield_now().await;
    assert_eq!(queue.status().processing, 1);
    worker.abort();
    assert!(worker.await.is_err());
    assert!(queue.status().is_idle());
}

#[tokio::test(start_paused = true)]
async fn a_million_requeued_keys_each_come_back_once() {
    const KEYS: usize = 1_000_000;
    let delay = Duration::from_millis(5);
    let queue = WorkQueue::builder()
        .rate_limiter(ItemExponentialFailureRateLimiter::new(delay, delay))
        .build();
    for key in 0..KEYS {
        queue.add_rate_limited(key);
    }
    assert_eq!(queue.status().delayed, KEYS);
    let mut seen = vec![false; KEYS];
    for _ in 0..KEYS {
        let item = queue.get().await.expect("a key");
        assert!(!std::mem::replace(&mut seen[*item], true));
    }
    assert!(queue.status().is_idle());
}

#[test]
fn many_threads_never_have_the_same_key_and_lose_none() {
    // client-go's TestBasic.
    const KEYS: usize = 50;
    const ADDS: usize = 4000;
    let queue = WorkQueue::<usize>::new();
    let at_work = Mutex::new(HashSet::new());
    let added: Vec<_> = (0..KEYS).map(|_| AtomicUsize::new(0)).collect();
    let seen: Vec<_> = (0..KEYS).map(|_| AtomicUsize::new(0)).collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let runtime = runtime.expect("a runtime");
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let handle = runtime.handle();
                while let Some(item) = handle.block_on(queue.get()) {
                    assert!(at_work.lock().expect("not poisoned").insert(*item));
                    let now = added[*item].load(Ordering::SeqCst);
                    std::thread::yield_now();
                    seen[*item].fetch_max(now, Ordering::SeqCst);
                    assert!(at_work.lock().expect("not poisoned").remove(&*item));
                }
            });
        }
        let producers: Vec<_> = (0..2)
            .map(|producer| {
                let (queue, added) = (&queue, &added);
                scope.spawn(move || {
                    for n in 0..ADDS {
                        let key = (n * 7 + producer) % KEYS;
                        added[key].fetch_add(1, Ordering::SeqCst);
                        queue.add(key);
                    }
                })
            })
            .collect();
        for producer in producers {
            producer.join().expect("ended");
        }
        runtime.block_on(queue.shut_down_with_drain());
    });
    // Every key was worked on after its last add.
    for key in 0..KEYS {
        assert_eq!(
            seen[key].load(Ordering::SeqCst),
            added[key].load(Ordering::SeqCst)
        );
    }
}

#[test]
fn memory_is_released_after_a_burst() {
    let queue = WorkQueue::new();
    for round in 0..2 {
        for key in 0..200_000u32 {
            queue.add(key);
        }
        assert_eq!(queue.len(), 200_000, "round {round}");
        assert_eq!(drained(&queue).len(), 200_000);
    }
    // What is used after is not confused with what was before.
    queue.add(7);
    queue.add_after(8, Duration::from_secs(100));
    assert_eq!(drained(&queue), [7]);
    assert!(queue.cancel_delayed(&8));
}
