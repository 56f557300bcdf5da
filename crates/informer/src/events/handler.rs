//! [`EventHandler`]: a function that is called for every event.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::event::Event;
use super::progress::{Progress, SubscriberState};
use super::subscription::Subscription;
use crate::informer::core::Lease;

/// Handles the events of an informer, one after the other. Closures are handlers.
///
/// A handler runs in a task of its own and should return quickly, for example after adding a key to a work queue. A
/// panic is reported, and the handler continues with the next event. To wait for something, read a [`Subscription`]
/// instead.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use std::sync::{Arc, atomic::{AtomicUsize, Ordering}};
/// use k8s_openapi::api::core::v1::Namespace;
/// use kubewright_informer::{Event, EventHandler, SharedInformerFactory};
///
/// struct Count(Arc<AtomicUsize>);
///
/// impl EventHandler<Namespace> for Count {
///     fn on_event(&mut self, event: Event<Namespace>) {
///         if let Event::Added { .. } = event {
///             self.0.fetch_add(1, Ordering::Relaxed);
///         }
///     }
/// }
///
/// let count = Arc::new(AtomicUsize::new(0));
/// let factory = SharedInformerFactory::new(client);
/// let handler = factory.informer::<Namespace>().add_handler(Count(count.clone()));
/// factory.start();
/// assert!(handler.synced().await);
/// assert!(count.load(Ordering::Relaxed) > 0);
/// # });
/// ```
pub trait EventHandler<K>: Send + 'static {
    /// Handles one event.
    fn on_event(&mut self, event: Event<K>);
}

impl<K, F: FnMut(Event<K>) + Send + 'static> EventHandler<K> for F {
    fn on_event(&mut self, event: Event<K>) {
        self(event);
    }
}

/// The registration of a handler. Dropping it does not end the handler; [`remove`](Self::remove) does.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use std::sync::{Arc, atomic::{AtomicUsize, Ordering}};
/// use k8s_openapi::api::core::v1::Namespace;
/// use kubewright_informer::{Event, SharedInformerFactory};
///
/// let factory = SharedInformerFactory::new(client);
/// let seen = Arc::new(AtomicUsize::new(0));
/// let count = seen.clone();
/// let handler = factory.informer::<Namespace>().add_handler(move |_: Event<Namespace>| {
///     count.fetch_add(1, Ordering::Relaxed);
/// });
/// factory.start();
/// assert!(handler.synced().await);
/// assert!(seen.load(Ordering::Relaxed) > 0);
/// handler.shut_down().await;
/// # });
/// ```
pub struct Registration {
    pub(crate) state: Arc<SubscriberState>,
    lease: std::sync::Weak<Lease>,
    task: Mutex<Option<JoinHandle<()>>>,
    progress: watch::Receiver<Progress>,
}

/// A panic of a handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandlerPanic {
    /// The name of the handler.
    pub handler: String,
    /// The key of the object.
    pub key: String,
    /// The message of the panic.
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

    /// Reports whether the cache has been filled, and the handler has dealt with everything that filled it.
    pub fn has_synced(&self) -> bool {
        self.progress.borrow().synced
    }

    /// Waits until [`has_synced`](Self::has_synced), or until the handler has ended. Returns whether it has synced.
    pub async fn synced(&self) -> bool {
        let mut progress = self.progress.clone();
        let reached = progress.wait_for(|p| p.synced || p.ended).await;
        reached.is_ok_and(|progress| progress.synced)
    }

    /// Returns the number of events that wait for the handler.
    pub fn depth(&self) -> u64 {
        self.lease
            .upgrade()
            .map_or(0, |lease| self.state.depth(lease.processor()))
    }

    /// Removes the handler and drops the events that wait for it, without waiting for a call in progress. Does nothing
    /// if it has ended already.
    pub fn remove(&self) {
        // Without a lease the handler has ended.
        if let Some(lease) = self.lease.upgrade() {
            self.state.remove(lease.processor());
        }
    }

    /// Waits until the handler has ended: after it was removed, or after the informer has stopped and the handler has
    /// dealt with all its events. Must not be called by the handler itself.
    pub async fn finished(&self) {
        let task = self.task.lock().take();
        if let Some(task) = task {
            let _ = task.await;
        }
    }

    /// Removes the handler and waits for it. Must not be called by the handler itself, which would wait for itself.
    pub async fn shut_down(&self) {
        self.remove();
        self.finished().await;
    }
}

/// The number of events after which other tasks get a turn.
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
        // Events that are available already need no waiting.
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
