//! Audit: who did what, as events of `audit.k8s.io/v1`.
//!
//! A [`Policy`] decides how much of a request is recorded, and a [`Sink`] takes the events: [`JsonLines`] writes them as
//! kube-apiserver's log does, a [`Ring`] keeps the newest in memory.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use std::sync::Arc;
//!
//! use http::Request;
//! use kubewright_apiserver::{
//!     ApiServer, Body,
//!     audit::{Level, Policy, Ring, Stage},
//!     registry::Registry,
//! };
//!
//! let server = ApiServer::builder(Registry::default()).build();
//! let ring = Ring::new(100);
//! server.audit(Policy::everything(Level::Metadata).without(Stage::RequestReceived), Arc::new(ring.clone()));
//!
//! let request = Request::get("/version").body(Body::empty()).unwrap();
//! server.handle(request).await;
//! let events = ring.events();
//! assert_eq!(events.len(), 1);
//! assert_eq!((events[0].verb.as_str(), events[0].code()), ("get", 200));
//! # });
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `event` | the event and its JSON |
//! | `policy`, `policy_file` | rules and how they match; reading and checking them |
//! | `record` | the event of a request while it is handled |
//! | `origin` | the addresses that a request came from |
//! | `text` | JSON of requests on one line, without managed fields |
//! | `ring`, `json_lines` | the sinks |
//! | `metrics` | metrics by the names of kube-apiserver |

mod event;
mod json_lines;
mod log_file;
mod metrics;
mod origin;
mod policy;
mod policy_file;
pub(crate) mod record;
mod ring;
mod text;

use std::sync::Arc;

use crate::clock::SharedClock;

pub use event::{Event, ObjectReference};
pub use json_lines::JsonLines;
pub use log_file::{LogFile, Rotation};
pub(crate) use metrics::AuditMetrics;
pub use policy::{Level, Policy, Stage};
pub use policy_file::PolicyError;
pub use ring::Ring;

/// Takes audit events.
///
/// It is called while a request is handled, so it must not wait for anything: a sink that writes to something slow has a bounded
/// queue, and drops what does not fit.
///
/// ```
/// use std::sync::{Arc, atomic::{AtomicUsize, Ordering}};
///
/// use kubewright_apiserver::audit::{Event, Sink};
///
/// /// Counts the requests that were refused.
/// #[derive(Default)]
/// struct Refused(AtomicUsize);
///
/// impl Sink for Refused {
///     fn record(&self, event: Arc<Event>) {
///         if event.code() == 403 {
///             self.0.fetch_add(1, Ordering::Relaxed);
///         }
///     }
/// }
/// ```
pub trait Sink: Send + Sync {
    /// Takes an event.
    fn record(&self, event: Arc<Event>);

    /// Returns how many events were lost, for example because too many were waiting (default: none).
    fn lost(&self) -> u64 {
        0
    }
}

/// A policy and the sink for its events.
pub(crate) struct Auditing {
    pub(crate) policy: Policy,
    pub(crate) sink: Arc<dyn Sink>,
    pub(crate) clock: SharedClock,
    pub(crate) metrics: Arc<AuditMetrics>,
}
