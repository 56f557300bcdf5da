//! [`EventHandler`]: a function that is called for every event.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::event::Event;
use super::subscription::{SubscriberState, Subscription};
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
    stop: watch::Sender<bool>,
    task: Mutex<Option<JoinHandle<()>>>,
    synced: watch::Receiver<bool>,
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
        let (stop, stopped) = watch::channel(false);
        let state = subscription.state().clone();
        let synced = state.synced();
        let task = lease
            .runtime()
            .spawn(run(subscription, lease.clone(), handler, stopped));
        Self {
            state,
            lease: Arc::downgrade(lease),
            stop,
            task: Mutex::new(Some(task)),
            synced,
        }
    }

    /// Whether the cache has been filled, and the handler has dealt with all that filled it.
    pub fn has_synced(&self) -> bool {
        *self.synced.borrow()
    }

    /// Waits until [`has_synced`](Self::has_synced), or until the handler has ended.
    pub async fn synced(&self) -> bool {
        self.synced.clone().wait_for(|synced| *synced).await.is_ok()
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
        self.stop.send_replace(true);
    }

    /// Ends the handler and waits for it. Not from within the handler: it would wait for itself.
    pub async fn shut_down(&self) {
        self.remove();
        let task = self.task.lock().take();
        if let Some(task) = task {
            let _ = task.await;
        }
    }
}

/// After so many events other tasks get their turn.
const TURN: usize = 256;

async fn run<K>(
    mut subscription: Subscription<K>,
    lease: Arc<Lease>,
    mut handler: impl EventHandler<K>,
    stopped: watch::Receiver<bool>,
) {
    let name = subscription.state().name.clone();
    let mut call = |event: Event<K>| {
        let key = event.key().clone();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| handler.on_event(event))) {
            lease.processor().report_panic(HandlerPanic {
                handler: name.clone(),
                key: key.to_string(),
                message: message(&*panic),
            });
        }
    };
    // A handler outlives its registration: without one, nobody stops it.
    let mut wait = stopped.clone();
    let mut stop = Box::pin(async move {
        if wait.wait_for(|stopped| *stopped).await.is_err() {
            std::future::pending::<()>().await;
        }
    });
    loop {
        let event = tokio::select! {
            biased;
            () = &mut stop => break,
            event = subscription.next() => event,
        };
        let Some(event) = event else {
            break;
        };
        call(event);
        // What is there already costs no waiting.
        for _ in 0..TURN {
            if *stopped.borrow() {
                break;
            }
            let Some(event) = subscription.try_next_event() else {
                break;
            };
            call(event);
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
