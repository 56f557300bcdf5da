//! The lock and the clock of this crate, in one place.
//!
//! Everything else imports them from here, so that the interleaving tests can compile the same sources with the lock of
//! a scheduler that explores orders, and with a clock of their own. Time is tokio's, so a paused test clock works.

pub(crate) use std::sync::Arc;

pub(crate) use parking_lot::Mutex;
pub(crate) use tokio::time::{Instant, Sleep, sleep_until};
