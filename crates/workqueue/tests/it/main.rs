//! The behaviours of the queue, by the names of their rules where they have one. Time is paused everywhere.

mod base;
mod delays;
mod faults;
mod limiters;
mod metrics;
mod model;
mod priorities;
mod shutdown;
mod tenants;
mod waiting;

use std::{
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
};

use kubewright_workqueue::{Key, WorkQueue};

/// Takes everything there is to take now, each done before the next.
fn drained<K: Key>(queue: &WorkQueue<K>) -> Vec<K> {
    std::iter::from_fn(|| Some(queue.try_get().ok()?.key().clone())).collect()
}

/// Looks once whether a future is ready.
fn look<F: Future>(future: F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}
