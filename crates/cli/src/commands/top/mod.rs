//! `kubewright top`: queue, latency and error figures of an operator's controllers.

mod keys;
mod process;

use std::{
    cmp::Ordering,
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use clap::{Args, ValueEnum};
use kubewright_scaffold::Error;
use serde_json::{Value, json};

use self::process::Process;
use crate::{
    operator::{
        duration,
        endpoint::{self, ControllerStatus, KeyStatus, operator_address, samples},
    },
    output::{Output, say, table},
};

#[derive(Args)]
pub(crate) struct Top {
    /// Address of the operator's metrics endpoint [default: that of a running `kubewright dev`, or 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS")]
    operator: Option<String>,

    /// Interval over which rates are measured
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = duration)]
    interval: Duration,

    /// Repeat until Ctrl-C
    #[arg(short, long)]
    watch: bool,

    /// Show the worst keys instead: those that fail, then those whose last reconcile took longest
    #[arg(long)]
    keys: bool,

    /// Order of the controllers
    #[arg(long, value_enum, default_value_t)]
    sort: Sort,

    #[command(flatten)]
    output: Output,
}

/// The order of the controllers.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// By name
    #[default]
    Name,
    /// Most reconciles per second first
    Rate,
    /// Most errors first
    Errors,
    /// Most time of reconciles first
    Time,
    /// Most queued keys first
    Queued,
}

/// The counters of a controller.
#[derive(Clone, Debug, Default)]
struct Counts {
    reconciles: f64,
    errors: f64,
    /// The total time of all reconciles.
    seconds: f64,
    writes: f64,
    /// The number of writes that changed nothing.
    no_ops: f64,
    /// The number of reconciles that took at most this many seconds.
    buckets: Vec<(f64, f64)>,
    /// The number of keys that waited in the queue for at most so many seconds.
    waits: Vec<(f64, f64)>,
}

impl Top {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let address = operator_address(self.operator.as_deref());
        let silent = |error: std::io::Error| {
            Error::new(
                format_args!("no operator at {address}: {error}"),
                "start one with `kubewright dev` or `kubewright run`, or set --operator",
            )
        };
        let mut before = read(&address).await.map_err(silent)?;
        loop {
            tokio::time::sleep(self.interval).await;
            let now = read(&address).await.map_err(silent)?;
            let status = endpoint::controllers(&address).await.map_err(silent)?;
            let seconds = self.interval.as_secs_f64().max(f64::EPSILON);
            let mut rows: Vec<Row> = status
                .controllers
                .iter()
                .map(|controller| Row::new(controller, &before.0, &now.0, seconds))
                .collect();
            rows.sort_by(|a, b| a.compare(b, self.sort));
            let usage = now.1.since(&before.1, seconds, status.leading);
            let worst = keys::worst(&status.controllers);
            match self.output.is_json() {
                true => {
                    let rows: Vec<Value> = rows.iter().map(Row::value).collect();
                    let mut answer = json!({
                        "operator": address,
                        "leading": status.leading,
                        "controllers": rows,
                        "process": usage.value(),
                    });
                    if self.keys {
                        answer["keys"] = worst.iter().map(keys::value).collect();
                    }
                    self.output.value(&answer)?;
                }
                false if self.keys => {
                    let rows: Vec<Vec<String>> = worst.iter().map(keys::cells).collect();
                    say(&table(&keys::HEAD, &rows))?;
                }
                false => {
                    let rows: Vec<Vec<String>> = rows.iter().map(Row::cells).collect();
                    say(&(table(&HEAD, &rows) + &usage.line()))?;
                }
            }
            if !self.watch {
                return Ok(());
            }
            before = now;
        }
    }
}

const HEAD: [&str; 16] = [
    "CONTROLLER",
    "QUEUED",
    "RUNNING",
    "DELAYED",
    "WORKERS",
    "RECONCILES",
    "PER SECOND",
    "ERRORS",
    "MEAN",
    "P50",
    "P99",
    "WAIT P99",
    "OLDEST",
    "WRITES/S",
    "NO-OPS",
    "FAILING",
];

/// A row of the table.
struct Row<'a> {
    status: &'a ControllerStatus,
    counts: Counts,
    per_second: f64,
    errors_per_second: f64,
    writes_per_second: f64,
}

impl<'a> Row<'a> {
    fn new(
        status: &'a ControllerStatus,
        before: &BTreeMap<String, Counts>,
        now: &BTreeMap<String, Counts>,
        seconds: f64,
    ) -> Self {
        let of =
            |all: &BTreeMap<String, Counts>| all.get(&status.name).cloned().unwrap_or_default();
        let (before, now) = (of(before), of(now));
        Self {
            status,
            per_second: (now.reconciles - before.reconciles) / seconds,
            errors_per_second: (now.errors - before.errors) / seconds,
            writes_per_second: (now.writes - before.writes) / seconds,
            counts: now,
        }
    }

    fn compare(&self, other: &Self, sort: Sort) -> Ordering {
        let by = |value: fn(&Self) -> f64| value(other).total_cmp(&value(self));
        let first = match sort {
            Sort::Name => Ordering::Equal,
            Sort::Rate => by(|row| row.per_second),
            Sort::Errors => by(|row| row.counts.errors),
            Sort::Time => by(|row| row.counts.seconds),
            Sort::Queued => by(|row| row.status.queued as f64),
        };
        first.then_with(|| self.status.name.cmp(&other.status.name))
    }

    fn mean(&self) -> f64 {
        match self.counts.reconciles > 0.0 {
            true => self.counts.seconds / self.counts.reconciles,
            false => 0.0,
        }
    }

    /// Returns the time within which this share of all reconciles ended, by the bounds of the histogram's buckets.
    fn quantile(&self, share: f64) -> Option<f64> {
        quantile(&self.counts.buckets, share)
    }

    /// Returns the share of writes that changed nothing, if there were writes.
    fn no_op_share(&self) -> Option<f64> {
        let Counts { writes, no_ops, .. } = self.counts;
        (writes > 0.0).then(|| no_ops / writes)
    }

    /// Returns the age of the oldest key in the queue, in seconds.
    fn oldest(&self, now: f64) -> Option<f64> {
        let waiting = self.status.keys.iter().filter_map(KeyStatus::queued_since);
        let since = waiting.min_by(f64::total_cmp)?;
        Some((now - since).max(0.0))
    }

    /// Returns the number of keys whose last run failed.
    fn failing(&self) -> usize {
        self.status.keys.iter().filter(|key| key.failed()).count()
    }

    fn cells(&self) -> Vec<String> {
        let shown = |seconds: Option<f64>| {
            seconds.map_or_else(|| "-".to_owned(), |it| format!("<= {} ms", it * 1e3))
        };
        let Self { status, counts, .. } = self;
        vec![
            status.name.clone(),
            status.queued.to_string(),
            status.processing.to_string(),
            status.delayed.to_string(),
            status.workers.to_string(),
            counts.reconciles.to_string(),
            format!("{:.1}", self.per_second),
            counts.errors.to_string(),
            format!("{:.2} ms", self.mean() * 1e3),
            shown(self.quantile(0.5)),
            shown(self.quantile(0.99)),
            shown(quantile(&counts.waits, 0.99)),
            self.oldest(now())
                .map_or_else(|| "-".to_owned(), |it| format!("{it:.1} s")),
            format!("{:.1}", self.writes_per_second),
            self.no_op_share()
                .map_or_else(|| "-".to_owned(), |it| format!("{:.0} %", it * 1e2)),
            self.failing().to_string(),
        ]
    }

    fn value(&self) -> Value {
        let Self { status, counts, .. } = self;
        json!({
            "name": status.name,
            "queued": status.queued,
            "running": status.processing,
            "delayed": status.delayed,
            "workers": status.workers,
            "reconciles": counts.reconciles,
            "reconcilesPerSecond": self.per_second,
            "errors": counts.errors,
            "errorsPerSecond": self.errors_per_second,
            "meanSeconds": self.mean(),
            "p50Seconds": self.quantile(0.5),
            "p99Seconds": self.quantile(0.99),
            "queueP99Seconds": quantile(&counts.waits, 0.99),
            "oldestQueuedSeconds": self.oldest(now()),
            "unchangedWriteShare": self.no_op_share(),
            "writesPerSecond": self.writes_per_second,
            "failing": self.failing(),
        })
    }
}

/// Returns the seconds since 1970.
fn now() -> f64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}

/// Returns the bound of the bucket below which this share of all values is.
fn quantile(buckets: &[(f64, f64)], share: f64) -> Option<f64> {
    let all = buckets.last()?.1;
    let mut buckets = buckets.iter();
    let found = buckets.find(|(_, below)| all > 0.0 && *below >= share * all)?;
    found.0.is_finite().then_some(found.0)
}

/// Reads the counters of all controllers and the figures of the process from the metrics.
async fn read(address: &str) -> std::io::Result<(BTreeMap<String, Counts>, Process)> {
    let (_, text) = endpoint::get(address, "/metrics").await?;
    Ok((counts(&text), Process::read(&text)))
}

fn counts(text: &str) -> BTreeMap<String, Counts> {
    let of = |name: &str| samples(text, &format!("controller_runtime_{name}"), "controller");
    let mut counts: BTreeMap<String, Counts> = BTreeMap::new();
    for (name, value) in of("reconcile_total") {
        counts.entry(name).or_default().reconciles = value;
    }
    for (name, value) in of("reconcile_errors_total") {
        counts.entry(name).or_default().errors = value;
    }
    for (name, value) in of("reconcile_time_seconds_sum") {
        counts.entry(name).or_default().seconds = value;
    }
    for (name, value) in samples(text, "kubewright_reconcile_writes_total", "controller") {
        counts.entry(name).or_default().writes = value;
    }
    let unchanged = text
        .lines()
        .filter(|line| line.contains("result=\"unchanged\""));
    let unchanged: String = unchanged.map(|line| format!("{line}\n")).collect();
    for (name, value) in samples(
        &unchanged,
        "kubewright_reconcile_writes_total",
        "controller",
    ) {
        counts.entry(name).or_default().no_ops = value;
    }
    for (name, counts) in &mut counts {
        counts.buckets = buckets(text, "controller_runtime_reconcile_time_seconds", name);
        counts.waits = buckets(text, "workqueue_queue_duration_seconds", name);
    }
    counts
}

/// Returns the bounds and counts of the buckets of a controller, in ascending order.
fn buckets(text: &str, histogram: &str, controller: &str) -> Vec<(f64, f64)> {
    let label = format!("controller=\"{controller}\"");
    let lines = text.lines().filter(|line| line.contains(&label));
    let lines: String = lines.map(|line| format!("{line}\n")).collect();
    let by_bound = samples(&lines, &format!("{histogram}_bucket"), "le");
    let mut buckets: Vec<(f64, f64)> = by_bound
        .into_iter()
        .filter_map(|(bound, count)| Some((bound.replace("+Inf", "inf").parse().ok()?, count)))
        .collect();
    buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
    buckets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_of_the_interval_and_the_mean_is_of_all() {
        let status = ControllerStatus {
            name: "captain".into(),
            ..ControllerStatus::default()
        };
        let counts = |reconciles, errors, seconds| {
            BTreeMap::from([(
                "captain".to_owned(),
                Counts {
                    reconciles,
                    errors,
                    seconds,
                    writes: 2.0 * reconciles,
                    no_ops: reconciles,
                    buckets: vec![(0.001, 3.0), (0.5, 5.0), (f64::INFINITY, 6.0)],
                    waits: Vec::new(),
                },
            )])
        };
        let row = Row::new(&status, &counts(2.0, 1.0, 1.0), &counts(6.0, 2.0, 3.0), 2.0);
        assert_eq!(row.per_second, 2.0);
        assert_eq!(row.errors_per_second, 0.5);
        assert_eq!(row.mean(), 0.5);
        assert_eq!(row.writes_per_second, 4.0);
        assert_eq!(row.no_op_share(), Some(0.5));
        assert_eq!(row.quantile(0.5), Some(0.001));
        assert_eq!(row.quantile(0.6), Some(0.5));
        assert_eq!(row.quantile(0.99), None);
    }

    #[test]
    fn buckets_are_read_in_the_order_of_their_bounds() {
        let name = "controller_runtime_reconcile_time_seconds_bucket";
        let line = |controller: &str, le: &str, count: u32| {
            format!("{name}{{controller=\"{controller}\",le=\"{le}\"}} {count}\n")
        };
        let text = line("a", "0.5", 1)
            + &line("a", "10", 2)
            + &line("a", "+Inf", 3)
            + &line("b", "0.5", 9);
        assert_eq!(
            buckets(&text, "controller_runtime_reconcile_time_seconds", "a"),
            [(0.5, 1.0), (10.0, 2.0), (f64::INFINITY, 3.0)]
        );
    }
}
