//! [`Subscription`]: the events of one reader, at its own pace.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::coalesced::Popped;
use super::event::{AnyEvent, Cause, Event};
use super::log::{Cursor, Entry};
use super::progress::{SubscriberState, SubscriptionProgress};
use crate::informer::core::Lease;
use crate::key::Key;
use crate::object::{Cached, StoredObject};

/// The behaviour towards a reader that does not keep up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Buffer {
    /// Every event waits for the reader; memory grows with the number of unread events.
    #[default]
    Unbounded,
    /// That many events wait for the reader; then the watch is not read any further until the reader has caught up.
    Bounded(usize),
    /// One event for each object waits for the reader; later ones are merged into it.
    Coalesce,
}

/// The options of a subscription or a handler.
///
/// ```
/// use std::time::Duration;
/// use kubewright_informer::{Buffer, SubscribeOptions};
///
/// let options = SubscribeOptions::default()
///     .name("audit")
///     .buffer(Buffer::Coalesce)
///     .resync(Duration::from_secs(600));
/// assert_eq!(options.buffer, Buffer::Coalesce);
/// ```
#[derive(Clone, Debug, Default)]
pub struct SubscribeOptions {
    /// The behaviour if the reader does not keep up.
    pub buffer: Buffer,
    /// The interval at which all objects are shown again, at least one second. Never by default.
    pub resync: Option<Duration>,
    /// The name in metrics and logs.
    pub name: Option<String>,
}

/// The events of one reader, at its own pace. Dropping it ends the subscription.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use k8s_openapi::api::core::v1::Namespace;
/// use kubewright_informer::{Event, SharedInformerFactory, SubscribeOptions};
///
/// let factory = SharedInformerFactory::new(client);
/// let namespaces = factory.informer::<Namespace>();
/// let mut events = namespaces.subscribe(SubscribeOptions::default());
/// factory.start();
/// let first = events.next().await.unwrap();
/// assert!(matches!(first, Event::Added { initial: true, .. }));
/// # });
/// ```
pub struct Subscription<K> {
    source: Source,
    state: Arc<SubscriberState>,
    lease: Arc<Lease>,
    /// The last event has not been acknowledged; the same as the state's `in_hand`, which only this reader writes.
    holds_event: bool,
    kind: PhantomData<fn() -> K>,
}

enum Source {
    Log {
        replay: std::vec::IntoIter<Arc<StoredObject>>,
        /// The key of the last event, if it was part of the replay.
        replayed: Option<Key>,
        /// True if the informer had synced when the reader subscribed.
        born_synced: bool,
        cursor: Cursor,
    },
    Coalesced {
        replaying: bool,
        /// The key of the last event.
        last: Option<Key>,
    },
}

impl SubscribeOptions {
    /// Sets the behaviour if the reader does not keep up.
    #[must_use]
    pub fn buffer(mut self, buffer: Buffer) -> Self {
        self.buffer = buffer;
        self
    }

    /// Shows all objects again at this interval.
    #[must_use]
    pub fn resync(mut self, every: Duration) -> Self {
        self.resync = Some(every);
        self
    }

    /// Sets the name in metrics and logs.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }
}

impl<K> Subscription<K> {
    pub(crate) fn new(
        state: Arc<SubscriberState>,
        lease: Arc<Lease>,
        replay: Vec<Arc<StoredObject>>,
        born_synced: bool,
        cursor: Cursor,
    ) -> Self {
        let source = match &state.coalesced {
            Some(_) => Source::Coalesced {
                replaying: true,
                last: None,
            },
            None => {
                state.replay.store(replay.len() as u64, Ordering::Release);
                state.taken.store(cursor.position(), Ordering::Release);
                Source::Log {
                    replay: replay.into_iter(),
                    replayed: None,
                    born_synced,
                    cursor,
                }
            }
        };
        Self {
            source,
            state,
            lease,
            holds_event: false,
            kind: PhantomData,
        }
    }

    /// Waits for the next event; `None` once the informer has stopped. Asking for the next event acknowledges the one
    /// before. Cancel-safe.
    pub async fn next(&mut self) -> Option<Event<K>> {
        loop {
            match self.try_next() {
                Popped::Event(event) => return Some(event.cast()),
                Popped::Closed => return None,
                Popped::Nothing => {}
            }
            let (state, processor) = (self.state.clone(), self.lease.processor().clone());
            let grown = match &state.coalesced {
                Some(queue) => &queue.grown,
                None => &processor.log.grown,
            };
            let grown = grown.notified();
            tokio::pin!(grown);
            // From here on no notification is missed; earlier events are taken first.
            grown.as_mut().enable();
            match self.try_next() {
                Popped::Event(event) => return Some(event.cast()),
                Popped::Closed => return None,
                Popped::Nothing => grown.await,
            }
        }
    }

    /// Returns the next event if there is one already.
    pub fn try_next_event(&mut self) -> Option<Event<K>> {
        match self.try_next() {
            Popped::Event(event) => Some(event.cast()),
            Popped::Nothing | Popped::Closed => None,
        }
    }

    /// Reports whether the cache has been filled, and everything that filled it has been read and dealt with.
    pub fn has_synced(&self) -> bool {
        self.state.progress.borrow().synced
    }

    /// Returns the number of events that wait.
    pub fn depth(&self) -> u64 {
        self.state.depth(self.lease.processor())
    }

    /// Reports whether every change that the cache shows has been read and dealt with. An event counts as dealt with once
    /// the next one has been asked for.
    pub fn is_drained(&self) -> bool {
        self.state.is_drained(self.lease.processor())
    }

    /// Returns a handle that reports the progress of this subscription while another task reads it.
    pub fn progress(&self) -> SubscriptionProgress {
        SubscriptionProgress {
            state: self.state.clone(),
            processor: self.lease.processor().clone(),
        }
    }

    pub(crate) fn state(&self) -> &Arc<SubscriberState> {
        &self.state
    }

    /// Returns the key of the last event.
    pub(crate) fn last_key(&self) -> Option<Key> {
        match &self.source {
            Source::Coalesced { last, .. } => last.clone(),
            Source::Log {
                replayed: Some(key),
                ..
            } => Some(key.clone()),
            Source::Log { cursor, .. } => match cursor.last()? {
                (Entry::Changes(events), at) => Some(events.get(at)?.key().clone()),
                (Entry::Shown { objects, .. }, at) => Some(objects.get(at)?.key().clone()),
                (Entry::Synced, _) => None,
            },
        }
    }

    fn try_next(&mut self) -> Popped {
        // Set before an event is taken: whoever finds that none waits sees that one is being dealt with. From one event
        // to the next it stays set, since a store that others see in order is expensive.
        if !self.holds_event {
            self.state.in_hand.store(true, Ordering::SeqCst);
        }
        let popped = self.pop();
        self.holds_event = matches!(popped, Popped::Event(_));
        if !self.holds_event {
            self.state.in_hand.store(false, Ordering::SeqCst);
        }
        popped
    }

    fn pop(&mut self) -> Popped {
        let state = &self.state;
        if state.removed.load(Ordering::Acquire) {
            return Popped::Closed;
        }
        match &mut self.source {
            Source::Coalesced { replaying, last } => {
                let Some(queue) = &state.coalesced else {
                    return Popped::Closed;
                };
                if *replaying && queue.is_synced() {
                    *replaying = false;
                    state.mark_synced();
                }
                let popped = queue.pop();
                if let Popped::Event(event) = &popped {
                    *last = Some(event.key().clone());
                }
                popped
            }
            Source::Log {
                replay,
                replayed,
                born_synced,
                cursor,
            } => {
                if let Some(object) = replay.next() {
                    *replayed = Some(object.key().clone());
                    state.replay.store(replay.len() as u64, Ordering::Release);
                    return Popped::Event(initial(object));
                }
                if *born_synced {
                    *born_synced = false;
                    state.mark_synced();
                }
                *replayed = None;
                let popped = from_log(cursor, state);
                state.taken.store(cursor.position(), Ordering::Release);
                if state.buffer != Buffer::Unbounded {
                    self.lease.processor().read.notify_waiters();
                }
                match popped {
                    Some(event) => Popped::Event(event),
                    None if self.lease.processor().log.is_closed() => Popped::Closed,
                    None => Popped::Nothing,
                }
            }
        }
    }
}

impl<K> Drop for Subscription<K> {
    fn drop(&mut self) {
        self.state.closed.store(true, Ordering::Release);
        let progress = &self.state.progress;
        progress.send_modify(|progress| progress.ended = true);
        self.lease.processor().forget(self.state.id);
    }
}

/// Builds the event of an object that exists when a reader starts.
pub(crate) fn initial(object: Arc<StoredObject>) -> AnyEvent {
    Event::Added {
        object: Cached::new(object),
        initial: true,
    }
}

fn from_log(cursor: &mut Cursor, state: &SubscriberState) -> Option<AnyEvent> {
    loop {
        match cursor.step() {
            Some((Entry::Changes(events), at)) => return Some(events[at].clone()),
            Some((Entry::Shown { objects, cause, .. }, at)) => {
                return Some(shown(&objects[at], *cause));
            }
            Some((Entry::Synced, _)) | None => {}
        }
        match cursor.advance()? {
            Entry::Synced => {
                state.mark_synced();
            }
            Entry::Shown { to, .. } if !to.contains(&state.id) => cursor.skip(),
            Entry::Shown { .. } | Entry::Changes(_) => {}
        }
    }
}

/// Builds the event of an object that is shown again.
pub(crate) fn shown(object: &Arc<StoredObject>, cause: Cause) -> AnyEvent {
    Event::Updated {
        old: Cached::new(object.clone()),
        object: Cached::new(object.clone()),
        cause,
    }
}
