//! [`ClientMetrics`]: request metrics that a registry can collect.

use std::{fmt, time::Duration};

use kubewright_metrics::{Collect, CounterVec, HistogramVec, TextWriter};

use super::RequestMetrics;

const SECONDS: &[f64] = &[
    0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0,
];
const BYTES: &[f64] = &[
    64.0,
    256.0,
    512.0,
    1024.0,
    4096.0,
    16384.0,
    65536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
];

/// The request metrics of one or several clients, under client-go's names. Clones share them; register one to have it
/// written out.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// use std::sync::Arc;
/// use kubewright_client::{ClientOptions, RestClient, policy::ClientMetrics};
/// use kubewright_metrics::Registry;
///
/// let registry = Registry::new();
/// let metrics = ClientMetrics::default();
/// registry.register(metrics.clone());
/// let client = ClientOptions::new().metrics(Arc::new(metrics.clone())).wrap(cluster.client());
/// RestClient::new(client).get().abs_path("/version").send().await.unwrap();
/// assert_eq!(metrics.requests("200", "GET"), 1);
/// assert!(registry.encode().contains("rest_client_request_duration_seconds_count"));
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct ClientMetrics {
    results: CounterVec<3>,
    retries: CounterVec<3>,
    latency: HistogramVec<2>,
    rate_limiter: HistogramVec<2>,
    request_size: HistogramVec<2>,
    response_size: HistogramVec<2>,
}

impl ClientMetrics {
    /// Returns the number of attempts with that method that ended with that code, at all hosts.
    pub fn requests(&self, code: &str, method: &str) -> u64 {
        sum(&self.results, code, method)
    }

    /// Returns the number of attempts after the first that ended with that code, at all hosts.
    pub fn retries(&self, code: &str, verb: &str) -> u64 {
        sum(&self.retries, code, verb)
    }
}

impl Default for ClientMetrics {
    fn default() -> Self {
        Self {
            results: CounterVec::new(
                "rest_client_requests_total",
                "Number of HTTP requests, partitioned by status code, method, and host.",
                ["code", "method", "host"],
            ),
            retries: CounterVec::new(
                "rest_client_request_retries_total",
                "Number of request retries, partitioned by status code, verb, and host.",
                ["code", "verb", "host"],
            ),
            latency: HistogramVec::new(
                "rest_client_request_duration_seconds",
                "Request latency in seconds. Broken down by verb, and host.",
                ["verb", "host"],
                SECONDS,
            ),
            rate_limiter: HistogramVec::new(
                "rest_client_rate_limiter_duration_seconds",
                "Client side rate limiter latency in seconds. Broken down by verb, and host.",
                ["verb", "host"],
                SECONDS,
            ),
            request_size: HistogramVec::new(
                "rest_client_request_size_bytes",
                "Request size in bytes. Broken down by verb and host.",
                ["verb", "host"],
                BYTES,
            ),
            response_size: HistogramVec::new(
                "rest_client_response_size_bytes",
                "Response size in bytes. Broken down by verb and host.",
                ["verb", "host"],
                BYTES,
            ),
        }
    }
}

impl RequestMetrics for ClientMetrics {
    fn result(&self, code: &str, method: &str, host: &str) {
        self.results.with([code, method, host]).inc();
    }

    fn retry(&self, code: &str, verb: &str, host: &str) {
        self.retries.with([code, verb, host]).inc();
    }

    fn latency(&self, verb: &str, host: &str, took: Duration) {
        self.latency.with([verb, host]).observe_duration(took);
    }

    fn rate_limiter_latency(&self, verb: &str, host: &str, waited: Duration) {
        self.rate_limiter
            .with([verb, host])
            .observe_duration(waited);
    }

    fn request_size(&self, verb: &str, host: &str, bytes: u64) {
        self.request_size.with([verb, host]).observe(bytes as f64);
    }

    fn response_size(&self, verb: &str, host: &str, bytes: u64) {
        self.response_size.with([verb, host]).observe(bytes as f64);
    }
}

impl Collect for ClientMetrics {
    fn collect(&self, out: &mut TextWriter) {
        self.results.collect(out);
        self.retries.collect(out);
        self.latency.collect(out);
        self.rate_limiter.collect(out);
        self.request_size.collect(out);
        self.response_size.collect(out);
    }
}

/// Prometheus' text format.
impl fmt::Display for ClientMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = TextWriter::default();
        self.collect(&mut out);
        f.write_str(&out.finish())
    }
}

fn sum(counters: &CounterVec<3>, code: &str, verb: &str) -> u64 {
    let mut sum = 0;
    counters.for_each(|[other, method, _], counter| {
        if other == code && method == verb {
            sum += counter.get();
        }
    });
    sum
}
