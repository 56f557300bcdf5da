//! Events, and how they reach their readers.
//!
//! | module | contents |
//! |---|---|
//! | `event` | [`Event`]: added, updated, deleted |
//! | `subscription` | [`Subscription`]: the events of one reader, at its own pace |
//! | `progress` | [`SubscriptionProgress`]: how far a reader has got |
//! | `handler` | [`EventHandler`]: a function that is called for every event, and its [`Registration`] |
//! | `log` | the events that all readers share |
//! | `coalesced` | the events of a reader that wants only the newest state of each object |

pub(crate) mod coalesced;
pub(crate) mod event;
pub(crate) mod handler;
pub(crate) mod log;
pub(crate) mod progress;
pub(crate) mod subscription;

pub use event::{Cause, Event};
pub use handler::{EventHandler, HandlerPanic, Registration};
pub(crate) use log::{Cursor, Entry, Log};
pub use progress::SubscriptionProgress;
pub use subscription::{Buffer, SubscribeOptions, Subscription};
