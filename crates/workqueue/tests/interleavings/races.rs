//! The races.

use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use shuttle::{future::block_on, thread};

use crate::{AddOptions, DelayPolicy, TryGetError, WorkQueue, sync};

const SCHEDULES: usize = 1000;

fn races(test: impl Fn() + Send + Sync + 'static) {
    let begun = move || {
        sync::reset();
        test();
    };
    let begun = Arc::new(begun);
    let again = begun.clone();
    shuttle::check_random(move || begun(), SCHEDULES);
    // Few switches, at the worst moments.
    shuttle::check_pct(move || again(), SCHEDULES, 3);
}

/// A worker that counts its runs, and that nobody else runs the same key meanwhile.
fn worker(
    queue: &WorkQueue<usize>,
    running: &Arc<[AtomicUsize; 2]>,
    runs: &Arc<AtomicUsize>,
) -> thread::JoinHandle<()> {
    let (queue, running, runs) = (queue.clone(), running.clone(), runs.clone());
    thread::spawn(move || {
        while let Some(item) = block_on(queue.get()) {
            assert_eq!(
                running[*item].fetch_add(1, Ordering::SeqCst),
                0,
                "two at once"
            );
            thread::yield_now();
            running[*item].fetch_sub(1, Ordering::SeqCst);
            runs.fetch_add(1, Ordering::SeqCst);
        }
    })
}

#[test]
fn a_key_is_never_with_two_workers_and_none_is_lost() {
    races(|| {
        let queue = WorkQueue::<usize>::new();
        let (running, runs) = (Arc::default(), Arc::default());
        let workers: Vec<_> = (0..2).map(|_| worker(&queue, &running, &runs)).collect();
        let producer = thread::spawn({
            let queue = queue.clone();
            move || [0, 1, 0].into_iter().for_each(|key| queue.add(key))
        });
        queue.add(0);
        producer.join().expect("ended");
        block_on(queue.shut_down_with_drain());
        let runs = runs.load(Ordering::SeqCst);
        assert!((2..=4).contains(&runs), "{runs} runs");
        for worker in workers {
            worker.join().expect("ended");
        }
        assert!(queue.status().is_idle());
    });
}

#[test]
fn an_add_while_a_key_is_handed_back_leads_to_one_run() {
    races(|| {
        let queue = WorkQueue::new();
        queue.add(7);
        let item = queue.try_get().expect("queued");
        let adding = thread::spawn({
            let queue = queue.clone();
            move || queue.add(7)
        });
        drop(item);
        adding.join().expect("ended");
        assert_eq!(queue.len(), 1);
        assert_eq!(*queue.try_get().expect("queued"), 7);
        assert_eq!(queue.try_get().err(), Some(TryGetError::Empty));
    });
}

#[test]
fn a_worker_never_sleeps_through_a_shutdown() {
    // As in controller-runtime#3243, #3250 and #3337.
    races(|| {
        let queue = WorkQueue::<u8>::new();
        let workers: Vec<_> = (0..3)
            .map(|_| {
                let queue = queue.clone();
                thread::spawn(move || while block_on(queue.get()).is_some() {})
            })
            .collect();
        let producer = thread::spawn({
            let queue = queue.clone();
            move || queue.add(1)
        });
        queue.shut_down();
        for thread in workers.into_iter().chain([producer]) {
            thread.join().expect("ended");
        }
    });
}

#[test]
fn a_drain_ends_only_when_everything_was_worked_on() {
    races(|| {
        let queue = WorkQueue::<usize>::new();
        let (running, runs) = (Arc::default(), Arc::default());
        queue.add(0);
        queue.add(1);
        let workers: Vec<_> = (0..2).map(|_| worker(&queue, &running, &runs)).collect();
        block_on(queue.shut_down_with_drain());
        assert_eq!(runs.load(Ordering::SeqCst), 2);
        for worker in workers {
            worker.join().expect("ended");
        }
    });
}

#[test]
fn keys_that_must_run_again_do_so_before_the_drain_ends() {
    races(|| {
        let queue = WorkQueue::<usize>::new();
        let (running, runs) = (Arc::default(), Arc::default());
        queue.add(0);
        let item = queue.try_get().expect("queued").into_owned();
        queue.add(0);
        let worker = worker(&queue, &running, &runs);
        let holder = thread::spawn(move || drop(item));
        block_on(queue.shut_down_with_drain());
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        holder.join().expect("ended");
        worker.join().expect("ended");
    });
}

#[test]
fn a_shutdown_always_ends_a_drain() {
    races(|| {
        let queue = WorkQueue::new();
        queue.add(0);
        let item = queue.try_get().expect("queued");
        let drain = thread::spawn({
            let queue = queue.clone();
            move || block_on(queue.shut_down_with_drain())
        });
        while !queue.shutting_down() {
            thread::yield_now();
        }
        queue.shut_down();
        drain.join().expect("ended");
        drop(item);
    });
}

#[test]
fn a_worker_that_leaves_when_woken_loses_no_key() {
    races(|| {
        let queue = WorkQueue::new();
        let leaving = thread::spawn({
            let queue = queue.clone();
            move || {
                let mut get = pin!(queue.get());
                let looked = get.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                matches!(looked, Poll::Ready(Some(_)))
            }
        });
        let staying = thread::spawn({
            let queue = queue.clone();
            move || block_on(queue.get()).is_some()
        });
        queue.add(1);
        if leaving.join().expect("ended") {
            queue.add(2);
        }
        assert!(staying.join().expect("ended"));
    });
}

#[test]
fn two_adds_wake_two_workers() {
    // controller-runtime#3363, #3368
    races(|| {
        let queue = WorkQueue::new();
        let workers: Vec<_> = (0..2)
            .map(|_| {
                let queue = queue.clone();
                // Each keeps what it has.
                thread::spawn(move || {
                    let item = block_on(queue.get()).expect("a key");
                    let key = *item;
                    std::mem::forget(item);
                    key
                })
            })
            .collect();
        queue.add(1);
        queue.add(2);
        let mut keys: Vec<_> = workers
            .into_iter()
            .map(|one| one.join().expect("ended"))
            .collect();
        keys.sort_unstable();
        assert_eq!(keys, [1, 2]);
    });
}

#[test]
fn a_delayed_key_is_queued_by_any_timekeeper() {
    races(|| {
        let queue = WorkQueue::new();
        let workers: Vec<_> = (0..2)
            .map(|_| {
                let queue = queue.clone();
                thread::spawn(move || block_on(queue.get()).map(|item| *item))
            })
            .collect();
        queue.add_after(2, Duration::from_secs(2));
        queue.add_after(1, Duration::from_secs(1));
        let time = thread::spawn(|| {
            sync::advance(Duration::from_secs(1));
            sync::advance(Duration::from_secs(1));
        });
        time.join().expect("ended");
        let mut keys: Vec<_> = workers
            .into_iter()
            .map(|one| one.join().expect("ended"))
            .collect();
        keys.sort_unstable();
        assert_eq!(keys, [Some(1), Some(2)]);
    });
}

#[test]
fn when_the_keeper_of_the_time_gets_a_key_another_keeps_it() {
    races(|| {
        let queue = WorkQueue::new();
        queue.add_after(2, Duration::from_secs(2));
        let workers: Vec<_> = (0..2)
            .map(|_| {
                let queue = queue.clone();
                thread::spawn(move || block_on(queue.get()).map(|item| *item))
            })
            .collect();
        let adding = thread::spawn({
            let queue = queue.clone();
            move || queue.add(1)
        });
        sync::advance(Duration::from_secs(2));
        adding.join().expect("ended");
        let mut keys: Vec<_> = workers
            .into_iter()
            .map(|one| one.join().expect("ended"))
            .collect();
        keys.sort_unstable();
        assert_eq!(keys, [Some(1), Some(2)]);
    });
}

#[test]
fn a_key_is_cancelled_or_it_comes_and_never_both() {
    races(|| {
        let queue = WorkQueue::new();
        queue.add_after(1, Duration::from_secs(1));
        let cancelling = thread::spawn({
            let queue = queue.clone();
            move || queue.cancel_delayed(&1)
        });
        sync::advance(Duration::from_secs(1));
        let came = queue.try_get().is_ok();
        let cancelled = cancelling.join().expect("ended");
        assert!(came != cancelled);
    });
}

#[test]
fn an_earlier_delay_is_noticed_by_the_one_that_sleeps() {
    races(|| {
        let queue = WorkQueue::new();
        queue.add_after(1, Duration::from_secs(10));
        let worker = thread::spawn({
            let queue = queue.clone();
            move || block_on(queue.get()).is_some()
        });
        let options = AddOptions::new().after(Duration::from_secs(1));
        queue.add_with(1, options.policy(DelayPolicy::Replace));
        sync::advance(Duration::from_secs(1));
        assert!(worker.join().expect("ended"));
    });
}

#[test]
fn delayed_adds_and_a_shutdown_do_not_hold_each_other_up() {
    // The deadlock of send and shutdown in controller-runtime.
    races(|| {
        let queue = WorkQueue::new();
        let adding = thread::spawn({
            let queue = queue.clone();
            move || {
                for key in 0..3 {
                    queue.add_after(key, Duration::from_secs(1));
                }
            }
        });
        let worker = thread::spawn({
            let queue = queue.clone();
            move || while block_on(queue.get()).is_some() {}
        });
        let time = thread::spawn(|| sync::advance(Duration::from_secs(1)));
        queue.shut_down();
        for thread in [adding, worker, time] {
            thread.join().expect("ended");
        }
        assert_eq!(queue.status().delayed, 0);
    });
}

#[test]
fn metrics_add_up_in_every_order() {
    // As in controller-runtime#3060.
    races(|| {
        let queue = WorkQueue::builder().name("q").build();
        queue.add_after(5, Duration::from_secs(1));
        let worker = thread::spawn({
            let queue = queue.clone();
            move || while block_on(queue.get()).is_some() {}
        });
        let adding = thread::spawn({
            let queue = queue.clone();
            move || [1, 2, 1].into_iter().for_each(|key| queue.add(key))
        });
        let seen = queue.snapshot().expect("it has a name");
        assert!(seen.depth as u64 + seen.queue_duration.count() == seen.adds);
        adding.join().expect("ended");
        block_on(queue.shut_down_with_drain());
        worker.join().expect("ended");
        let end = queue.snapshot().expect("it has a name");
        assert_eq!((end.depth, end.unfinished_work), (0, Duration::ZERO));
        assert_eq!(end.work_duration.count(), end.adds);
        assert!((2..=3).contains(&end.adds));
    });
}
