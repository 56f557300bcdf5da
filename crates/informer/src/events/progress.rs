//! [`SubscriptionProgress`]: how far a reader has got, shared between the reader and the informer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use super::coalesced::Coalesced;
use super::subscription::{Buffer, SubscribeOptions};
use crate::informer::core::Processor;

/// Reports the progress of a [`Subscription`](super::Subscription) while another task reads it. Cheap to clone; does not keep the informer
/// running.
#[derive(Clone)]
pub struct SubscriptionProgress {
    pub(super) state: Arc<SubscriberState>,
    pub(super) processor: Arc<Processor>,
}

/// The state of a reader that the informer shares.
pub(crate) struct SubscriberState {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) buffer: Buffer,
    pub(crate) resync: Option<Duration>,
    /// The number of events of the log that were taken.
    pub(super) taken: AtomicU64,
    /// The number of objects of the replay that were not taken.
    pub(super) replay: AtomicU64,
    /// The reader deals with an event.
    pub(super) in_hand: AtomicBool,
    /// The reader wants no more events.
    pub(super) removed: AtomicBool,
    pub(super) closed: AtomicBool,
    pub(super) progress: watch::Sender<Progress>,
    pub(crate) coalesced: Option<Coalesced>,
}

/// The progress of a reader.
#[derive(Clone, Copy, Default)]
pub(crate) struct Progress {
    /// The reader has dealt with everything that filled the cache.
    pub(crate) synced: bool,
    /// The reader gets no more events.
    pub(crate) ended: bool,
}

impl SubscriptionProgress {
    /// Returns the number of events that wait.
    pub fn depth(&self) -> u64 {
        self.state.depth(&self.processor)
    }

    /// Reports whether the cache has been filled, and everything that filled it has been read and dealt with.
    pub fn has_synced(&self) -> bool {
        self.state.progress.borrow().synced
    }

    /// Reports whether every change that the cache shows has been read and dealt with. An event counts as dealt with once
    /// the next one has been asked for. A subscription that was dropped is drained.
    pub fn is_drained(&self) -> bool {
        self.state.is_drained(&self.processor)
    }
}

impl std::fmt::Debug for SubscriptionProgress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SubscriptionProgress")
            .field("subscription", &self.state.name)
            .field("depth", &self.depth())
            .finish_non_exhaustive()
    }
}

impl SubscriberState {
    pub(crate) fn new(id: u64, options: SubscribeOptions) -> Self {
        Self {
            id,
            name: options.name.unwrap_or_else(|| format!("handler-{id}")),
            buffer: options.buffer,
            resync: options
                .resync
                .map(|every| every.max(Duration::from_secs(1))),
            taken: AtomicU64::new(0),
            replay: AtomicU64::new(0),
            in_hand: AtomicBool::new(false),
            removed: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            progress: watch::Sender::default(),
            coalesced: (options.buffer == Buffer::Coalesce).then(Coalesced::default),
        }
    }

    /// Ends the subscription, and drops the events that wait.
    pub(crate) fn remove(&self, processor: &Processor) {
        self.removed.store(true, Ordering::Release);
        match &self.coalesced {
            Some(queue) => queue.grown.notify_one(),
            None => processor.log.grown.notify_waiters(),
        }
    }

    pub(crate) fn depth(&self, processor: &Processor) -> u64 {
        match &self.coalesced {
            Some(queue) => queue.len() as u64,
            None => {
                let behind = processor
                    .log
                    .count()
                    .saturating_sub(self.taken.load(Ordering::Acquire));
                behind + self.replay.load(Ordering::Acquire)
            }
        }
    }

    /// Reports whether all that the cache shows has been read and dealt with; always so once the reader has gone.
    pub(crate) fn is_drained(&self, processor: &Processor) -> bool {
        // What the cache shows already may not have been appended yet.
        processor.barrier();
        if self.closed.load(Ordering::Acquire) {
            return true;
        }
        // The depth first: a reader sets the flag before it takes an event.
        self.depth(processor) == 0 && !self.in_hand.load(Ordering::SeqCst)
    }

    /// Reports whether the watch must wait for this reader.
    pub(crate) fn is_over_its_bound(&self, processor: &Processor) -> bool {
        match self.buffer {
            Buffer::Bounded(most) => {
                !self.closed.load(Ordering::Acquire) && self.depth(processor) >= most.max(1) as u64
            }
            Buffer::Unbounded | Buffer::Coalesce => false,
        }
    }

    /// Returns the progress of the reader.
    pub(crate) fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    pub(super) fn mark_synced(&self) {
        self.progress.send_modify(|progress| progress.synced = true);
    }
}
