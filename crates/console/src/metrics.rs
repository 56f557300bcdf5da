//! Metrics of the server, reduced for plots: sums over all labels but one.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use http::{Request, StatusCode};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{task::JoinHandle, time::MissedTickBehavior};

use crate::{answer, forward};

/// The maximum number of series.
const SERIES: usize = 200;

/// The maximum size of the server's response, in bytes.
const LARGEST: usize = 16 << 20;

/// Families that are split by a label.
const SPLIT: [(&str, &str); 2] = [
    ("apiserver_request_total", "verb"),
    ("apiserver_storage_objects", "resource"),
];

/// The number of samples that are kept: one each second for an hour.
const SAMPLES: usize = 3600;

/// The maximum number of samples of a history.
const POINTS: usize = 600;

/// The interval of samples.
const EVERY: Duration = Duration::from_secs(1);

/// The metrics of the server, sampled each second from the first time on that a page is opened.
pub(crate) struct Sampler {
    client: kube::Client,
    kept: Arc<Mutex<Kept>>,
    task: Mutex<Option<JoinHandle<()>>>,
}

/// The samples of the last hour. Series are numbered, since most samples have the same ones.
#[derive(Default)]
struct Kept {
    names: Vec<String>,
    counters: Vec<String>,
    samples: VecDeque<(f64, Vec<f64>)>,
}

impl Sampler {
    pub(crate) fn new(client: kube::Client) -> Self {
        Self {
            client,
            kept: Arc::default(),
            task: Mutex::default(),
        }
    }

    /// Starts sampling, unless it has started.
    pub(crate) fn start(&self) {
        let mut task = self.task.lock();
        if task.is_some() {
            return;
        }
        let (client, kept) = (self.client.clone(), self.kept.clone());
        *task = Some(tokio::spawn(async move {
            let mut ticks = tokio::time::interval(EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                // A server without metrics has no history.
                if let Ok((series, counters)) = scrape(&client).await {
                    kept.lock().add(now(), &series, counters);
                }
            }
        }));
    }

    /// Returns the current sums of the server's counters and gauges, and the names of the counters.
    pub(crate) async fn newest(&self) -> Result<Value, (StatusCode, String)> {
        let (series, counters) = scrape(&self.client).await?;
        Ok(json!({"at": now(), "series": series, "counters": counters}))
    }

    /// Returns the samples of the last hour; of many, a part at equal distances.
    pub(crate) fn history(&self) -> Value {
        self.kept.lock().to_json()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        if let Some(task) = self.task.get_mut().take() {
            task.abort();
        }
    }
}

impl Kept {
    fn add(&mut self, at: f64, series: &BTreeMap<String, f64>, counters: Vec<String>) {
        for name in series.keys() {
            if self.names.len() < SERIES && !self.names.contains(name) {
                self.names.push(name.clone());
            }
        }
        self.counters = counters;
        let value = |name: &String| series.get(name).copied().unwrap_or_default();
        let values = self.names.iter().map(value).collect();
        self.samples.push_back((at, values));
        while self.samples.len() > SAMPLES {
            self.samples.pop_front();
        }
    }

    fn to_json(&self) -> Value {
        let step = self.samples.len().div_ceil(POINTS).max(1);
        // The newest sample is always one of them.
        let offset = (self.samples.len() + step - 1) % step;
        let samples = self.samples.iter().skip(offset).step_by(step);
        let samples = samples.map(|(at, values)| {
            let series = self.names.iter().zip(values);
            json!({"at": at, "series": series.collect::<BTreeMap<_, _>>()})
        });
        json!({"samples": samples.collect::<Vec<_>>(), "counters": self.counters})
    }
}

fn now() -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0.0, |since| since.as_secs_f64())
}

/// Returns the sums of the server's counters and gauges, and the names of the counters.
async fn scrape(
    client: &kube::Client,
) -> Result<(BTreeMap<String, f64>, Vec<String>), (StatusCode, String)> {
    let failed = |message: String| (StatusCode::BAD_GATEWAY, message);
    let request = Request::get("/metrics")
        .header("accept", "application/json, */*")
        .body(());
    let request = request.map_err(|e| failed(e.to_string()))?;
    let response = forward::forward(client, request.into_parts().0, bytes::Bytes::new()).await;
    let code = response.status();
    let read = answer::read(response.into_body(), LARGEST).await;
    let read = read.map_err(|e| failed(e.to_string()))?;
    match code.is_success() {
        true => Ok(reduce(&String::from_utf8_lossy(&read))),
        false => Err((code, String::from_utf8_lossy(&read).into_owned())),
    }
}

/// Sums the samples of counters and gauges in Prometheus' text format.
fn reduce(text: &str) -> (BTreeMap<String, f64>, Vec<String>) {
    let mut types: BTreeMap<&str, &str> = BTreeMap::new();
    let mut series: BTreeMap<String, f64> = BTreeMap::new();
    let mut counters = Vec::new();
    for line in text.lines() {
        if let Some(declared) = line.strip_prefix("# TYPE ") {
            if let Some((name, kind)) = declared.split_once(' ') {
                types.insert(name, kind);
            }
            continue;
        }
        let Some((name, labels, value)) = sample(line) else {
            continue;
        };
        let kind = types.get(name).copied().unwrap_or_default();
        if !matches!(kind, "counter" | "gauge") || !value.is_finite() {
            continue;
        }
        let split = SPLIT.iter().find(|(family, _)| *family == name);
        let title = match split.and_then(|(_, by)| label(labels, by)) {
            Some(by) => format!("{name} {by}"),
            None => name.to_owned(),
        };
        if series.len() >= SERIES && !series.contains_key(&title) {
            continue;
        }
        if kind == "counter" && !series.contains_key(&title) {
            counters.push(title.clone());
        }
        *series.entry(title).or_default() += value;
    }
    (series, counters)
}

/// Splits a sample into its name, its labels and its value.
fn sample(line: &str) -> Option<(&str, &str, f64)> {
    let (head, value) = match line.rsplit_once('}') {
        Some((head, value)) => (head, value),
        None => line.split_once(' ')?,
    };
    let (name, labels) = head.split_once('{').unwrap_or((head, ""));
    let value = value.split_whitespace().next()?.parse().ok()?;
    (!name.starts_with('#')).then_some((name, labels, value))
}

fn label<'a>(labels: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = labels;
    loop {
        let (label, after) = rest.split_once("=\"")?;
        let end = after.find('"')?;
        if label.trim_start_matches(',') == name {
            return after.get(..end);
        }
        rest = after.get(end + 1..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_is_kept_and_shown_in_part() {
        let mut kept = Kept::default();
        for second in 0..4000_u32 {
            let series = BTreeMap::from([("a".to_owned(), f64::from(second))]);
            kept.add(f64::from(second), &series, vec!["a".to_owned()]);
        }
        assert_eq!(kept.samples.len(), SAMPLES);
        let history = kept.to_json();
        let samples = history["samples"].as_array().unwrap();
        assert_eq!(samples.len(), POINTS);
        assert_eq!(samples[POINTS - 1]["series"]["a"], 3999.0);
        assert_eq!(history["counters"], json!(["a"]));
    }

    #[test]
    fn a_new_series_begins_where_it_appears() {
        let mut kept = Kept::default();
        kept.add(1.0, &BTreeMap::from([("a".to_owned(), 1.0)]), Vec::new());
        let both = BTreeMap::from([("a".to_owned(), 2.0), ("b".to_owned(), 5.0)]);
        kept.add(2.0, &both, Vec::new());
        let expected = json!([
            {"at": 1.0, "series": {"a": 1.0}},
            {"at": 2.0, "series": {"a": 2.0, "b": 5.0}},
        ]);
        assert_eq!(kept.to_json()["samples"], expected);
    }

    #[test]
    fn samples_are_summed_over_their_labels() {
        let text = "# HELP a text\n# TYPE a counter\na{x=\"1\",y=\"{\"} 2\na{x=\"2\"} 3\n# TYPE g gauge\ng 7\n\
                    # TYPE h histogram\nh_bucket{le=\"1\"} 4\n# TYPE apiserver_request_total counter\n\
                    apiserver_request_total{code=\"200\",verb=\"GET\"} 5\napiserver_request_total{verb=\"GET\"} 1\n";
        let (series, counters) = reduce(text);
        let expected = [("a", 5.0), ("apiserver_request_total GET", 6.0), ("g", 7.0)];
        let expected = expected.map(|(name, value)| (name.to_owned(), value));
        assert_eq!(series, BTreeMap::from(expected));
        assert_eq!(counters, ["a", "apiserver_request_total GET"]);
    }
}
