//! What handlers are told, and how it reaches them.
//!
//! | module | what it holds |
//! |---|---|
//! | [`event`] | [`Event`]: added, updated, deleted |
//! | [`subscription`] | [`Subscription`]: the events of one reader, at its own pace |
//! | [`handler`] | [`EventHandler`]: a function that is called for every event, and its [`Registration`] |
//! | `log` | the events that all readers share |
//! | `coalesced` | the events of a reader that wants only the newest state of each object |

mod coalesced;
pub mod event;
pub mod handler;
mod log;
pub mod subscription;

pub use event::{Cause, Event};
pub use handler::{EventHandler, HandlerPanic, Registration};
pub(crate) use log::{Cursor, Entry, Log};
pub use subscription::{Buffer, SubscribeOptions, Subscription, SubscriptionProgress};
