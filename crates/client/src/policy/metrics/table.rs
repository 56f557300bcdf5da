//! [`ClientMetrics`]: the numbers, and their text form.

use std::{collections::BTreeMap, fmt, time::Duration};

use parking_lot::Mutex;

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

/// Keeps the numbers of one or several clients. Its text form is what Prometheus reads.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// use std::sync::Arc;
/// use kubewright_client::{ClientOptions, RestClient, policy::ClientMetrics};
///
/// let metrics = Arc::new(ClientMetrics::default());
/// let client = ClientOptions::new().metrics(metrics.clone()).wrap(cluster.client());
/// RestClient::new(client).get().abs_path("/version").send().await.unwrap();
/// assert_eq!(metrics.requests("200", "GET"), 1);
/// assert!(metrics.to_string().contains("rest_client_request_duration_seconds_count"));
/// # });
/// ```
#[derive(Debug, Default)]
pub struct ClientMetrics(Mutex<Numbers>);

#[derive(Debug, Default)]
struct Numbers {
    /// By code, verb and host.
    results: BTreeMap<[String; 3], u64>,
    retries: BTreeMap<[String; 3], u64>,
    latency: Histograms,
    rate_limiter: Histograms,
    request_size: Histograms,
    response_size: Histograms,
}

/// By verb and host.
type Histograms = BTreeMap<[String; 2], Histogram>;

#[derive(Clone, Debug)]
struct Histogram {
    /// One more than there are bounds.
    counts: Vec<u64>,
    sum: f64,
}

impl ClientMetrics {
    /// How many attempts with that method ended with that code, at all hosts.
    pub fn requests(&self, code: &str, method: &str) -> u64 {
        sum(&self.0.lock().results, code, method)
    }

    /// How many attempts after the first ended with that code, at all hosts.
    pub fn retries(&self, code: &str, verb: &str) -> u64 {
        sum(&self.0.lock().retries, code, verb)
    }
}

impl RequestMetrics for ClientMetrics {
    fn result(&self, code: &str, method: &str, host: &str) {
        let key = [code, method, host].map(str::to_owned);
        *self.0.lock().results.entry(key).or_default() += 1;
    }

    fn retry(&self, code: &str, verb: &str, host: &str) {
        let key = [code, verb, host].map(str::to_owned);
        *self.0.lock().retries.entry(key).or_default() += 1;
    }

    fn latency(&self, verb: &str, host: &str, took: Duration) {
        observe(
            &mut self.0.lock().latency,
            SECONDS,
            verb,
            host,
            took.as_secs_f64(),
        );
    }

    fn rate_limiter_latency(&self, verb: &str, host: &str, waited: Duration) {
        let waited = waited.as_secs_f64();
        observe(&mut self.0.lock().rate_limiter, SECONDS, verb, host, waited);
    }

    fn request_size(&self, verb: &str, host: &str, bytes: u64) {
        observe(
            &mut self.0.lock().request_size,
            BYTES,
            verb,
            host,
            bytes as f64,
        );
    }

    fn response_size(&self, verb: &str, host: &str, bytes: u64) {
        observe(
            &mut self.0.lock().response_size,
            BYTES,
            verb,
            host,
            bytes as f64,
        );
    }
}

impl fmt::Display for ClientMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = self.0.lock();
        let counters = [
            (
                "rest_client_requests_total",
                "Number of HTTP requests, partitioned by status code, method, and host.",
                "method",
                &numbers.results,
            ),
            (
                "rest_client_request_retries_total",
                "Number of request retries, partitioned by status code, verb, and host.",
                "verb",
                &numbers.retries,
            ),
        ];
        for (name, help, verb_label, members) in counters {
            heading(f, name, help, "counter", members.is_empty())?;
            for ([code, verb, host], count) in members {
                writeln!(
                    f,
                    "{name}{{code={code:?},{verb_label}={verb:?},host={host:?}}} {count}"
                )?;
            }
        }
        let histograms = [
            (
                "rest_client_request_duration_seconds",
                "Request latency in seconds. Broken down by verb, and host.",
                SECONDS,
                &numbers.latency,
            ),
            (
                "rest_client_rate_limiter_duration_seconds",
                "Client side rate limiter latency in seconds. Broken down by verb, and host.",
                SECONDS,
                &numbers.rate_limiter,
            ),
            (
                "rest_client_request_size_bytes",
                "Request size in bytes. Broken down by verb and host.",
                BYTES,
                &numbers.request_size,
            ),
            (
                "rest_client_response_size_bytes",
                "Response size in bytes. Broken down by verb and host.",
                BYTES,
                &numbers.response_size,
            ),
        ];
        for (name, help, bounds, members) in histograms {
            heading(f, name, help, "histogram", members.is_empty())?;
            for ([verb, host], histogram) in members {
                histogram.write(f, name, bounds, &format!("verb={verb:?},host={host:?}"))?;
            }
        }
        Ok(())
    }
}

impl Histogram {
    fn write(
        &self,
        f: &mut fmt::Formatter<'_>,
        name: &str,
        bounds: &[f64],
        labels: &str,
    ) -> fmt::Result {
        let mut below = 0;
        for (count, bound) in self.counts.iter().zip(bounds) {
            below += count;
            writeln!(f, "{name}_bucket{{{labels},le=\"{bound}\"}} {below}")?;
        }
        let count: u64 = self.counts.iter().sum();
        writeln!(f, "{name}_bucket{{{labels},le=\"+Inf\"}} {count}")?;
        writeln!(f, "{name}_sum{{{labels}}} {}", self.sum)?;
        writeln!(f, "{name}_count{{{labels}}} {count}")
    }
}

fn heading(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    help: &str,
    kind: &str,
    empty: bool,
) -> fmt::Result {
    if empty {
        return Ok(());
    }
    writeln!(f, "# HELP {name} {help}\n# TYPE {name} {kind}")
}

fn observe(members: &mut Histograms, bounds: &[f64], verb: &str, host: &str, value: f64) {
    let key = [verb, host].map(str::to_owned);
    let histogram = members.entry(key).or_insert_with(|| Histogram {
        counts: vec![0; bounds.len() + 1],
        sum: 0.0,
    });
    let bucket = bounds.partition_point(|bound| *bound < value);
    if let Some(count) = histogram.counts.get_mut(bucket) {
        *count += 1;
    }
    histogram.sum += value;
}

fn sum(members: &BTreeMap<[String; 3], u64>, code: &str, verb: &str) -> u64 {
    let fitting = members
        .iter()
        .filter(|([other, method, _], _)| other == code && method == verb);
    fitting.map(|(_, count)| count).sum()
}
