//! `kubewright top`: queue, latency and error figures of an operator's controllers.

use std::{collections::BTreeMap, time::Duration};

use clap::Args;
use kubewright_scaffold::Error;
use serde_json::{Value, json};

use crate::{
    operator::{
        duration,
        endpoint::{self, ControllerStatus, operator_address, samples},
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

    #[command(flatten)]
    output: Output,
}

/// The counters of a controller.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    reconciles: f64,
    errors: f64,
    /// The total time of all reconciles.
    seconds: f64,
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
        let mut before = counts(&address).await.map_err(silent)?;
        loop {
            tokio::time::sleep(self.interval).await;
            let now = counts(&address).await.map_err(silent)?;
            let status = endpoint::controllers(&address).await.map_err(silent)?;
            let seconds = self.interval.as_secs_f64().max(f64::EPSILON);
            let rows: Vec<Row> = status
                .controllers
                .iter()
                .map(|controller| Row::new(controller, &before, &now, seconds))
                .collect();
            match self.output.is_json() {
                true => {
                    let rows: Vec<Value> = rows.iter().map(Row::value).collect();
                    let leading = status.leading;
                    let answer =
                        json!({"operator": address, "leading": leading, "controllers": rows});
                    self.output.value(&answer)?;
                }
                false => {
                    let rows: Vec<Vec<String>> = rows.iter().map(Row::cells).collect();
                    say(&table(&HEAD, &rows))?;
                }
            }
            if !self.watch {
                return Ok(());
            }
            before = now;
        }
    }
}

const HEAD: [&str; 9] = [
    "CONTROLLER",
    "QUEUED",
    "RUNNING",
    "DELAYED",
    "WORKERS",
    "RECONCILES",
    "PER SECOND",
    "ERRORS",
    "MEAN",
];

/// A row of the table.
struct Row<'a> {
    status: &'a ControllerStatus,
    counts: Counts,
    per_second: f64,
    errors_per_second: f64,
}

impl<'a> Row<'a> {
    fn new(
        status: &'a ControllerStatus,
        before: &BTreeMap<String, Counts>,
        now: &BTreeMap<String, Counts>,
        seconds: f64,
    ) -> Self {
        let of =
            |all: &BTreeMap<String, Counts>| all.get(&status.name).copied().unwrap_or_default();
        let (before, now) = (of(before), of(now));
        Self {
            status,
            counts: now,
            per_second: (now.reconciles - before.reconciles) / seconds,
            errors_per_second: (now.errors - before.errors) / seconds,
        }
    }

    fn mean(&self) -> f64 {
        match self.counts.reconciles > 0.0 {
            true => self.counts.seconds / self.counts.reconciles,
            false => 0.0,
        }
    }

    fn cells(&self) -> Vec<String> {
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
        })
    }
}

/// Reads the counters of all controllers from the metrics.
async fn counts(address: &str) -> std::io::Result<BTreeMap<String, Counts>> {
    let (_, text) = endpoint::get(address, "/metrics").await?;
    let of = |name: &str| samples(&text, &format!("controller_runtime_{name}"), "controller");
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
    Ok(counts)
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
                },
            )])
        };
        let row = Row::new(&status, &counts(2.0, 1.0, 1.0), &counts(6.0, 2.0, 3.0), 2.0);
        assert_eq!(row.per_second, 2.0);
        assert_eq!(row.errors_per_second, 0.5);
        assert_eq!(row.mean(), 0.5);
    }
}
