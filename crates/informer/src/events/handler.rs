//! [`EventHandler`]: a function that is called for every event.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::event::Event;
use super::subscription::{Progress, SubscriberState, Subscription};
use crate::informer::core::Lease;

/// Is called for every event, one after the other. Closures are handlers.
///
/// A handler runs in a task of its own and should be quick: put a key into a work queue. One that panics is reported, and
/// goes on with the next event. One that has to wait for something reads a [`Subscription`] instead.
pub trait EventHandler<K>: Send + 'static {
    /// Deals with one event.
    fn on_event(&mut self, event: Event<K>);
}

impl<K, F: FnMut(Event<K>) + Send + 'static> EventHandler<K> for F {
    fn on_event(&mut self, event: Event<K>) {
        self(event);
    }
}

/// A handler that is being called. It stays when this is dropped; [`remove`](Self::remove) ends it.
pub struct Registration {
    pub(crate) state: Arc<SubscriberState>,
    lease: std::sync::Weak<Lease>,
    task: Mutex<Option<JoinHandle<()>>>,
    progress: watch::Receiver<Progress>,
}

/// A handler that panicked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandlerPanic {
    /// The handler.
    pub handler: String,
    /// The object of the event.
    pub key: String,
    /// What it said.
    pub message: String,
}

impl fmt::Display for HandlerPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} panicked at {}: {}",
            self.handler, self.key, self.message
        )
    }
}

impl Registration {
    pub(crate) fn start<K: 'static>(
        subscription: Subscription<K>,
        lease: &Arc<Lease>,
        handler: impl EventHandler<K>,
    ) -> Self {
        let state = subscription.state().clone();
        let progress = state.progress();
        let task = lease
            .runtime()
            .spawn(run(subscription, lease.clone(), handler));
        Self {
            state,
            lease: Arc::downgrade(lease),
            task: Mutex::new(Some(task)),
            progress,
        }
    }

    /// Whether the cache has been filled, and the handler has dealt with all that filled it.
    pub fn has_synced(&self) -> bool {
        self.progress.borrow().synced
    }

    /// Waits until [`has_synced`](Self::has_synced), or until the handler has ended.
    pub async fn synced(&self) -> bool {
        let mut progress = self.progress.clone();
        let reached = progress.wait_for(|p| p.synced || p.ended).await;
        reached.is_ok_and(|progress| progress.synced)
    }

    /// How many events wait for the handler.
    pub fn depth(&self) -> u64 {
        self.lease
            .upgrade()
            .map_or(0, |lease| self.state.depth(lease.processor()))
    }

    /// Ends the handler; events that wait for it are dropped. A call that is under way is not waited for. Harmless when it
    /// has ended already.
    pub fn remove(&self) {
        // Without a lease there is no handler any more.
        if let Some(lease) = self.lease.upgrade() {
            self.state.remove(lease.processor());
        }
    }

    /// Waits until the handler has ended: when it was removed, or when the informer has stopped and the handler has dealt
    /// with all that it was told. Not from within the handler.
    pub async fn finished(&self) {
        let task = self.task.lock().take();
        if let Some(task) = task {
            let _ = task.await;
        }
    }

    /// Ends the handler and waits for it. Not from within the handler: it would wait for itself.
    pub async fn shut_down(&self) {
        self.remove();
        self.finished().await;
    }
}

/// After so many events other tasks get their turn.
const TURN: usize = 256;

async fn run<K>(
    mut subscription: Subscription<K>,
    lease: Arc<Lease>,
    mut handler: impl EventHandler<K>,
) {
    let name = subscription.state().name.clone();
    while let Some(first) = subscription.next().await {
        let mut next = Some(first);
        let mut left = TURN;
        // What is there already costs no waiting.
        while let Some(event) = next {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| handler.on_event(event))) {
                lease.processor().report_panic(HandlerPanic {
                    handler: name.clone(),
                    key: subscription
                        .last_key()
                        .map_or_else(String::new, |key| key.to_string()),
                    message: message(&*panic),
                });
            }
            left -= 1;
            next = if left > 0 {
                subscription.try_next_event()
            } else {
                None
            };
        }
        tokio::task::consume_budget().await;
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}
