//! Workers that wait: one add wakes one of them, and no wake-up is lost.

use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Wake, Waker},
    time::Duration,
};

use kubewright_workqueue::{Get, WorkQueue};

/// Counts how often it is woken.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Bell {
    fn rung(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// Looks once whether there is a key.
    fn look(self: &Arc<Self>, get: &mut Get<'_, u32>) -> Option<Option<u32>> {
        let waker = Waker::from(self.clone());
        match pin!(get).poll(&mut Context::from_waker(&waker)) {
            std::task::Poll::Ready(item) => Some(item.map(|item| *item)),
            std::task::Poll::Pending => None,
        }
    }
}

#[test]
fn one_add_wakes_one_of_a_thousand_workers() {
    let queue = WorkQueue::new();
    let bell = Arc::new(Bell::default());
    let mut workers: Vec<_> = (0..1000).map(|_| queue.get()).collect();
    for worker in &mut workers {
        assert!(bell.look(worker).is_none());
    }
    assert_eq!(queue.status().waiting_workers, 1000);
    queue.add(1);
    assert_eq!(bell.rung(), 1);
    queue.add(1);
    assert_eq!(bell.rung(), 1);
    queue.add(2);
    assert_eq!(bell.rung(), 2);
    // Those that waited longest.
    assert_eq!(bell.look(&mut workers[0]), Some(Some(1)));
    assert_eq!(bell.look(&mut workers[1]), Some(Some(2)));
    drop(workers);
    assert_eq!(queue.status().waiting_workers, 0);
}

#[test]
fn a_woken_worker_that_leaves_passes_the_call_on() {
    let queue = WorkQueue::new();
    let (first, second) = (Arc::new(Bell::default()), Arc::new(Bell::default()));
    let (mut leaving, mut staying) = (queue.get(), queue.get());
    assert!(first.look(&mut leaving).is_none());
    assert!(second.look(&mut staying).is_none());
    queue.add(1);
    assert_eq!((first.rung(), second.rung()), (1, 0));
    drop(leaving);
    assert_eq!(second.rung(), 1);
    assert_eq!(second.look(&mut staying), Some(Some(1)));
}

#[test]
fn a_worker_whose_key_was_taken_waits_on() {
    let queue = WorkQueue::new();
    let bell = Arc::new(Bell::default());
    let mut waiting = queue.get();
    assert!(bell.look(&mut waiting).is_none());
    queue.add(1);
    drop(queue.try_get().expect("queued"));
    assert!(bell.look(&mut waiting).is_none());
    queue.add(2);
    assert_eq!(bell.rung(), 2);
    assert_eq!(bell.look(&mut waiting), Some(Some(2)));
}

#[tokio::test(start_paused = true)]
async fn one_worker_keeps_the_time_for_all() {
    let queue = WorkQueue::new();
    let (keeper, other) = (Arc::new(Bell::default()), Arc::new(Bell::default()));
    queue.add_after(1, Duration::from_secs(1));
    let (mut first, mut second) = (queue.get(), queue.get());
    assert!(keeper.look(&mut first).is_none());
    assert!(other.look(&mut second).is_none());
    // A key that is there now is for the one that does not keep the time.
    queue.add(2);
    assert_eq!((keeper.rung(), other.rung()), (0, 1));
    assert_eq!(other.look(&mut second), Some(Some(2)));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((keeper.rung(), other.rung()), (1, 1));
    assert_eq!(keeper.look(&mut first), Some(Some(1)));
}
