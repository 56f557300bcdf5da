//! Request metrics: what is sent, how long it takes, how it ends.
//!
//! | metric | labels | what it is |
//! |---|---|---|
//! | `rest_client_requests_total` | code, method, host | attempts, by how they ended; `<error>` without an answer |
//! | `rest_client_request_retries_total` | code, verb, host | attempts after the first |
//! | `rest_client_request_duration_seconds` | verb, host | a request with all its attempts and the whole answer |
//! | `rest_client_rate_limiter_duration_seconds` | verb, host | waiting for the client's own rate limit |
//! | `rest_client_request_size_bytes` | verb, host | bodies sent |
//! | `rest_client_response_size_bytes` | verb, host | bodies read |
//!
//! Names, labels and buckets are client-go's, so that dashboards fit. Answers without an end, watches and followed logs,
//! are counted as attempts only. A [`ClientMetrics`] keeps the numbers and writes them out; to have them told as they happen,
//! implement [`RequestMetrics`]. There is no global registry.
//!
//! | module | what it holds |
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

/// Is told of requests as they happen, from many threads. It must be quick.
pub trait RequestMetrics: Send + Sync {
    /// `rest_client_requests_total` grows by one.
    fn result(&self, code: &str, method: &str, host: &str);
    /// `rest_client_request_retries_total` grows by one.
    fn retry(&self, code: &str, verb: &str, host: &str);
    /// `rest_client_request_duration_seconds` has one more observation.
    fn latency(&self, verb: &str, host: &str, took: Duration);
    /// `rest_client_rate_limiter_duration_seconds` has one more observation.
    fn rate_limiter_latency(&self, verb: &str, host: &str, waited: Duration);
    /// `rest_client_request_size_bytes` has one more observation.
    fn request_size(&self, verb: &str, host: &str, bytes: u64);
    /// `rest_client_response_size_bytes` has one more observation.
    fn response_size(&self, verb: &str, host: &str, bytes: u64);
}

/// Who is told, and of which server.
#[derive(Clone)]
pub(super) struct Told {
    pub(super) metrics: Arc<dyn RequestMetrics>,
    pub(super) host: Arc<str>,
}

impl fmt::Debug for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Told").field(&self.host).finish()
    }
}
