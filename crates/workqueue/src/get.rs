//! Waiting for a key.
//!
//! One of the waiting workers sleeps until the next delayed add is due, on behalf of all. So the queue needs no task of
//! its own, and adding works outside a runtime too.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use crate::{
    Item, Key,
    queue::Shared,
    state::{Offer, WaiterId},
    sync::{Arc, Instant, Sleep, sleep_until},
};

/// The future of [`WorkQueue::get`](crate::WorkQueue::get).
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::time::Duration;
/// use kubewright_workqueue::WorkQueue;
///
/// let queue = WorkQueue::new();
/// // Dropping the future gives up waiting; no key is lost.
/// assert!(tokio::time::timeout(Duration::from_millis(1), queue.get()).await.is_err());
/// queue.add("shop/web");
/// assert_eq!(*queue.get().await.unwrap(), "shop/web");
/// queue.shut_down();
/// assert!(queue.get().await.is_none());
/// # });
/// ```
#[must_use = "futures do nothing unless polled"]
pub struct Get<'a, K: Key> {
    shared: &'a Arc<Shared<K>>,
    waiter: Option<WaiterId>,
    /// Present while this worker keeps the time for all.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl<'a, K: Key> Get<'a, K> {
    pub(crate) fn new(shared: &'a Arc<Shared<K>>) -> Self {
        Self {
            shared,
            waiter: None,
            sleep: None,
        }
    }

    /// Reports whether that time has come; if not, registers a wake-up for it.
    fn sleep(&mut self, until: Instant, context: &mut Context<'_>) -> bool {
        let sleep = match &mut self.sleep {
            Some(sleep) => {
                if sleep.deadline() != until {
                    sleep.as_mut().reset(until);
                }
                sleep
            }
            none => none.insert(Box::pin(sleep_until(until))),
        };
        sleep.as_mut().poll(context).is_ready()
    }
}

impl<'a, K: Key> Future for Get<'a, K> {
    type Output = Option<Item<'a, K>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        loop {
            let (shared, waiter) = (this.shared, &mut this.waiter);
            let (offer, until) = shared.act(|state, effects| {
                let now = shared.time(state);
                if state.has_delays() {
                    state.promote(now, effects);
                }
                state.offer_or_wait(waiter, context, now, effects)
            });
            match offer {
                Offer::Item(taken) => return Poll::Ready(Some(this.shared.item(taken))),
                Offer::Closed => return Poll::Ready(None),
                Offer::Nothing => {}
            }
            let Some(until) = until else {
                this.sleep = None;
                return Poll::Pending;
            };
            let until = this.shared.instant(until);
            if !this.sleep(until, context) {
                return Poll::Pending;
            }
            // The timer may have been set for an earlier moment; the next iteration asks again.
            this.sleep = None;
        }
    }
}

impl<K: Key> Drop for Get<'_, K> {
    fn drop(&mut self) {
        if self.waiter.is_some() {
            let waiter = &mut self.waiter;
            self.shared
                .act(|state, effects| state.leave(waiter, effects));
        }
    }
}

impl<K: Key> fmt::Debug for Get<'_, K> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Get").finish_non_exhaustive()
    }
}
