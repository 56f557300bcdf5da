//! [`Reflector`]: keeps up with one resource, whatever happens to the connection.
//!
//! | module | what it holds |
//! |---|---|
//! | `cycle` | the loop: fill, watch, wait, again |
//! | `list` | filling by a list: pages, expiry, whole lists |
//! | `watch_list` | filling by a watch that begins with the objects there are |
//! | `watch` | following: resume, bookmarks, silence, the ways a watch ends |
//! | [`backoff`] | [`Backoff`]: how long to wait before another attempt |
//! | [`config`] | [`ReflectorConfig`]: times and sizes |
//! | [`error`] | [`ReflectorError`]: what ended a list or a watch |
//! | [`monitor`] | [`Monitor`]: who is told about it |
//!
//! Invariants: what it pushes is always a state of the server and then the changes to it, in order; nothing is pushed from
//! a list that did not end; it never gives up and never spins: each failure waits longer, up to a bound, until things have
//! gone well for a while. Dropping its future stops it at any point.

pub mod backoff;
pub mod config;
mod cycle;
pub mod error;
mod list;
pub mod monitor;
mod watch;
mod watch_list;

pub use backoff::Backoff;
pub use config::ReflectorConfig;
pub use cycle::Reflector;
pub use error::ReflectorError;
pub use monitor::Monitor;
