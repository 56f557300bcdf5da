//! Request metrics.
//!
//! | metric | labels | meaning |
//! |---|---|---|
//! | `rest_client_requests_total` | code, method, host | attempts by response code; `<error>` without a response |
//! | `rest_client_request_retries_total` | code, verb, host | attempts after the first |
//! | `rest_client_request_duration_seconds` | verb, host | a request with all its attempts and the whole response |
//! | `rest_client_rate_limiter_duration_seconds` | verb, host | waiting for the client's own rate limit |
//! | `rest_client_request_size_bytes` | verb, host | bodies sent |
//! | `rest_client_response_size_bytes` | verb, host | bodies read |
//!
//! Names, labels and buckets are client-go's, so that dashboards work. Endless responses, such as watches and followed
//! logs, are counted as attempts only. [`ClientMetrics`] keeps the numbers; implement [`RequestMetrics`] to receive
//! them as they happen. There is no global registry.
//!
//! | module | contents |
//! |---|---|
//! | `layers` | [`MetricsLayer`] around a request, [`AttemptMetricsLayer`] around each of its attempts |
//! | `table` | [`ClientMetrics`] |

mod layers;
mod table;

use std::{fmt, sync::Arc, time::Duration};

pub use layers::{
    AttemptMetricsLayer, AttemptMetricsService, MeasuredBody, MetricsLayer, MetricsService,
};
pub use table::ClientMetrics;

/// Receives request metrics as they happen, from many threads. Must return quickly.
///
/// ```
/// use std::time::Duration;
/// use kubewright_client::policy::RequestMetrics;
/// use kubewright_metrics::Counter;
///
/// #[derive(Default)]
/// struct Retries(Counter);
///
/// impl RequestMetrics for Retries {
///     fn result(&self, _code: &str, _method: &str, _host: &str) {}
///     fn retry(&self, _code: &str, _verb: &str, _host: &str) {
///         self.0.inc();
///     }
///     fn latency(&self, _verb: &str, _host: &str, _took: Duration) {}
///     fn rate_limiter_latency(&self, _verb: &str, _host: &str, _waited: Duration) {}
///     fn request_size(&self, _verb: &str, _host: &str, _bytes: u64) {}
///     fn response_size(&self, _verb: &str, _host: &str, _bytes: u64) {}
/// }
///
/// let retries = Retries::default();
/// retries.retry("503", "GET", "shop");
/// assert_eq!(retries.0.get(), 1);
/// ```
pub trait RequestMetrics: Send + Sync {
    /// Increases `rest_client_requests_total`.
    fn result(&self, code: &str, method: &str, host: &str);
    /// Increases `rest_client_request_retries_total`.
    fn retry(&self, code: &str, verb: &str, host: &str);
    /// Observes `rest_client_request_duration_seconds`.
    fn latency(&self, verb: &str, host: &str, took: Duration);
    /// Observes `rest_client_rate_limiter_duration_seconds`.
    fn rate_limiter_latency(&self, verb: &str, host: &str, waited: Duration);
    /// Observes `rest_client_request_size_bytes`.
    fn request_size(&self, verb: &str, host: &str, bytes: u64);
    /// Observes `rest_client_response_size_bytes`.
    fn response_size(&self, verb: &str, host: &str, bytes: u64);
}

/// Metrics, and the server that they are about.
#[derive(Clone)]
pub(super) struct Reporter {
    pub(super) metrics: Arc<dyn RequestMetrics>,
    pub(super) host: Arc<str>,
}

impl fmt::Debug for Reporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reporter").field(&self.host).finish()
    }
}
