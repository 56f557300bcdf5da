//! [`Reflector`]: keeps up with one resource across connection failures.
//!
//! | module | contents |
//! |---|---|
//! | `cycle` | the loop: fill, watch, wait, repeat |
//! | `list` | filling by a list: pages, expiry, whole lists |
//! | `watch_list` | filling by a watch that begins with the existing objects |
//! | `watch` | following: resuming, bookmarks, silence, the ways in which a watch ends |
//! | `backoff` | delays between attempts |
//! | `config` | [`ReflectorConfig`]: timeouts and sizes |
//! | `error` | [`ReflectorError`]: what ended a list or a watch |
//! | `monitor` | counters, the last error, and the error handler |
//!
//! Invariants: a reflector pushes a state of the server and then the changes to it, in order; it pushes nothing from a list
//! that did not complete; it never gives up and never spins, since each failure waits longer, up to a bound, until things
//! have gone well for a while. Dropping its future stops it at any point.

pub(crate) mod backoff;
pub(crate) mod config;
pub(crate) mod cycle;
pub(crate) mod error;
pub(crate) mod list;
pub(crate) mod monitor;
pub(crate) mod watch;
pub(crate) mod watch_list;

pub use backoff::BackoffSettings;
pub use config::ReflectorConfig;
pub use cycle::Reflector;
pub use error::ReflectorError;
pub use monitor::ErrorHandler;
pub(crate) use monitor::Monitor;
