//! Waiting until everything queued has been processed.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use crate::{Key, queue::Shared, sync::Arc};

/// The future of [`WorkQueue::shut_down_with_drain`](crate::WorkQueue::shut_down_with_drain). Dropping it ends the wait,
/// not the shutdown.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use kubewright_workqueue::WorkQueue;
///
/// let queue = WorkQueue::new();
/// queue.add(1);
/// let item = queue.get().await.unwrap();
/// let (_, ()) = tokio::join!(queue.shut_down_with_drain(), async { item.done() });
/// assert!(queue.get().await.is_none());
/// # });
/// ```
#[must_use = "the shutdown has begun, but only the future waits for its end"]
pub struct Drain<'a, K: Key> {
    shared: &'a Arc<Shared<K>>,
    id: Option<u64>,
}

impl<'a, K: Key> Drain<'a, K> {
    pub(crate) fn new(shared: &'a Arc<Shared<K>>) -> Self {
        Self { shared, id: None }
    }
}

impl<K: Key> Future for Drain<'_, K> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let id = &mut this.id;
        if this.shared.act(|state, _| state.drained(id, context)) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

impl<K: Key> Drop for Drain<'_, K> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.shared.act(|state, _| state.stop_waiting_for_drain(id));
        }
    }
}

impl<K: Key> fmt::Debug for Drain<'_, K> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Drain").finish_non_exhaustive()
    }
}
