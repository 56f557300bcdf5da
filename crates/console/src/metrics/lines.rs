//! The lines of plots: which samples they sum up, and their values between two readings.

use std::collections::BTreeMap;

use serde::Serialize;

use super::text::{Sample, Type, samples};

/// The quantiles of histograms that are plotted.
const QUANTILES: [(f64, &str); 2] = [(0.5, "p50"), (0.99, "p99")];

/// A family with a plot for each controller: its name, the title of the plot, the label with the name of the controller, and
/// the label of its lines.
type Rule = (&'static str, &'static str, &'static str, &'static str);

/// The families of controllers and their work queues, under the names of controller-runtime and our own.
const OF_CONTROLLERS: [Rule; 11] = [
    (
        "controller_runtime_reconcile_total",
        "Reconciles",
        "controller",
        "result",
    ),
    (
        "controller_runtime_reconcile_time_seconds",
        "Duration of reconciles",
        "controller",
        "",
    ),
    ("workqueue_depth", "Depth of the queue", "name", ""),
    (
        "workqueue_queue_duration_seconds",
        "Time in the queue",
        "name",
        "",
    ),
    ("workqueue_adds_total", "Additions to the queue", "name", ""),
    ("workqueue_retries_total", "Retries", "name", ""),
    (
        "kubewright_event_to_reconcile_seconds",
        "From event to reconcile",
        "controller",
        "",
    ),
    (
        "kubewright_reconcile_triggers_total",
        "Triggers",
        "controller",
        "cause",
    ),
    (
        "kubewright_reconcile_writes_total",
        "Writes",
        "controller",
        "result",
    ),
    (
        "controller_runtime_active_workers",
        "Active workers",
        "controller",
        "",
    ),
    ("kubewright_keys", "Keys", "controller", "state"),
];

/// Other families whose lines are split by a label.
const SPLIT: [(&str, &str); 4] = [
    ("apiserver_request_total", "verb"),
    ("apiserver_request_duration_seconds", "verb"),
    ("apiserver_storage_objects", "resource"),
    ("informer_store_items", "resource"),
];

/// A line of a plot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub(super) struct Line {
    /// The part of the page.
    #[serde(flatten)]
    pub(super) section: Section,
    /// The title of the plot.
    pub(super) title: String,
    /// The name of the line; empty for the only one of its plot.
    pub(super) line: String,
    pub(super) unit: Unit,
}

/// A part of the page.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(tag = "section", content = "name", rename_all = "camelCase")]
pub(super) enum Section {
    Controller(String),
    Operator,
    Server,
}

/// The unit of the values of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Unit {
    /// The value of a gauge.
    Value,
    /// The increase of a counter.
    PerSecond,
    /// A quantile of a histogram of durations.
    Seconds,
    /// A quantile of another histogram.
    Quantile,
}

/// Sums of samples.
#[derive(Clone, Debug, Default)]
pub(super) struct Reading {
    gauges: BTreeMap<Line, f64>,
    counters: BTreeMap<Line, f64>,
    /// The counts of the buckets by the bits of their bound, which order positive numbers. The line has no quantile yet.
    histograms: BTreeMap<Line, BTreeMap<u64, f64>>,
}

impl Reading {
    /// Adds the samples of a text. Samples that are not of a controller belong to `section`.
    pub(super) fn add(&mut self, text: &str, section: &Section) {
        for sample in samples(text) {
            let line = line_of(&sample, section);
            match sample.kind {
                Type::Counter => *self.counters.entry(line).or_default() += sample.value,
                Type::Gauge => *self.gauges.entry(line).or_default() += sample.value,
                Type::Histogram => {
                    let Some(bound) = sample.bound().filter(|bound| *bound >= 0.0) else {
                        continue;
                    };
                    let buckets = self.histograms.entry(line).or_default();
                    *buckets.entry(bound.to_bits()).or_default() += sample.value;
                }
            }
        }
    }

    /// Returns the values of all lines. Rates and quantiles are those of the time since the reading before; without one, and of
    /// histograms without an observation since, there are none.
    pub(super) fn since(&self, before: Option<(&Self, f64)>) -> BTreeMap<Line, Option<f64>> {
        let mut values: BTreeMap<Line, Option<f64>> = BTreeMap::new();
        let gauges = self.gauges.iter();
        values.extend(gauges.map(|(line, value)| (line.clone(), Some(*value))));
        for (line, value) in &self.counters {
            let rate = before.map(|(before, seconds)| {
                let old = before.counters.get(line).copied().unwrap_or_default();
                increase(old, *value) / seconds.max(1e-3)
            });
            values.insert(line.clone(), rate);
        }
        for (line, buckets) in &self.histograms {
            let observed = before.map(|(before, _)| {
                let old = before.histograms.get(line);
                let old = |bound: &u64| old.and_then(|it| it.get(bound)).copied();
                let new = |(bound, count): (&u64, &f64)| {
                    let count = increase(old(bound).unwrap_or_default(), *count);
                    (f64::from_bits(*bound), count)
                };
                buckets.iter().map(new).collect::<Vec<_>>()
            });
            for (share, name) in QUANTILES {
                let value = observed.as_ref().and_then(|it| quantile(it, share));
                let mut line = line.clone();
                line.line = format!("{} {name}", line.line).trim_start().to_owned();
                values.insert(line, value);
            }
        }
        values
    }
}

/// Returns the line that a sample belongs to.
fn line_of(sample: &Sample<'_>, section: &Section) -> Line {
    let rule = OF_CONTROLLERS
        .iter()
        .find(|(family, ..)| *family == sample.family);
    let known = rule.and_then(|(_, title, controller, by)| {
        let controller = sample.label(controller)?;
        Some((
            Section::Controller(controller.to_owned()),
            (*title).to_owned(),
            *by,
        ))
    });
    let (section, title, by) = known.unwrap_or_else(|| {
        let split = SPLIT.iter().find(|(family, _)| *family == sample.family);
        let by = split.map_or("", |(_, by)| *by);
        (section.clone(), sample.family.to_owned(), by)
    });
    Line {
        section,
        title,
        line: sample.label(by).unwrap_or_default().to_owned(),
        unit: match sample.kind {
            Type::Gauge => Unit::Value,
            Type::Counter => Unit::PerSecond,
            Type::Histogram if sample.family.ends_with("_seconds") => Unit::Seconds,
            Type::Histogram => Unit::Quantile,
        },
    }
}

/// Returns the increase of a counter, which begins at 0 again when its program does.
fn increase(old: f64, new: f64) -> f64 {
    match new >= old {
        true => new - old,
        false => new,
    }
}

/// Returns a quantile of cumulative buckets in ascending order, as `histogram_quantile` of Prometheus does: linear within a bucket,
/// and the highest finite bound beyond it.
fn quantile(buckets: &[(f64, f64)], share: f64) -> Option<f64> {
    let (_, all) = *buckets.last()?;
    if all <= 0.0 {
        return None;
    }
    let rank = share * all;
    let (mut below, mut under) = (0.0, 0.0);
    for &(bound, count) in buckets {
        if bound.is_infinite() {
            break;
        }
        if count >= rank {
            let within = match count > under {
                true => (rank - under) / (count - under),
                false => 1.0,
            };
            return Some(below + (bound - below) * within);
        }
        (below, under) = (bound, count);
    }
    Some(below)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(before: &str, after: &str) -> BTreeMap<(String, String), Option<f64>> {
        let [before, after] = [before, after].map(|text| {
            let mut reading = Reading::default();
            reading.add(text, &Section::Server);
            reading
        });
        let named = |(line, value): (Line, Option<f64>)| {
            let title = match line.section {
                Section::Controller(name) => format!("{name}: {}", line.title),
                _ => line.title,
            };
            ((title, line.line), value)
        };
        after
            .since(Some((&before, 2.0)))
            .into_iter()
            .map(named)
            .collect()
    }

    fn key(title: &str, line: &str) -> (String, String) {
        (title.to_owned(), line.to_owned())
    }

    #[test]
    fn samples_are_summed_over_their_labels() {
        let text = |a: u32, gets: u32| {
            format!(
                "# TYPE a counter\na{{x=\"1\",y=\"{{\"}} {a}\na{{x=\"2\"}} 3\n# TYPE g gauge\ng{{x=\"1\"}} 7\ng{{x=\"2\"}} 1\n\
                 # TYPE apiserver_request_total counter\napiserver_request_total{{code=\"200\",verb=\"GET\"}} {gets}\n\
                 apiserver_request_total{{verb=\"GET\"}} 1\napiserver_request_total{{verb=\"LIST\"}} 1\n"
            )
        };
        let expected = [
            (key("a", ""), Some(3.0)),
            (key("apiserver_request_total", "GET"), Some(5.0)),
            (key("apiserver_request_total", "LIST"), Some(0.0)),
            (key("g", ""), Some(8.0)),
        ];
        assert_eq!(values(&text(2, 5), &text(8, 15)), BTreeMap::from(expected));
    }

    #[test]
    fn families_of_controllers_are_plotted_for_each() {
        let text = "# TYPE workqueue_depth gauge\nworkqueue_depth{name=\"captain\",priority=\"0\"} 2\n\
                    workqueue_depth{name=\"captain\",priority=\"1\"} 3\nworkqueue_depth{name=\"ship\"} 1\n\
                    # TYPE controller_runtime_reconcile_total counter\n\
                    controller_runtime_reconcile_total{controller=\"captain\",result=\"error\"} 4\n";
        let expected = [
            (key("captain: Depth of the queue", ""), Some(5.0)),
            (key("captain: Reconciles", "error"), Some(0.0)),
            (key("ship: Depth of the queue", ""), Some(1.0)),
        ];
        assert_eq!(values(text, text), BTreeMap::from(expected));
    }

    #[test]
    fn a_histogram_has_the_quantiles_of_what_was_observed_since() {
        let text = |counts: [u32; 3]| {
            let [one, two, all] = counts;
            format!(
                "# TYPE h_seconds histogram\nh_seconds_bucket{{le=\"1\"}} {one}\nh_seconds_bucket{{le=\"2\"}} {two}\n\
                 h_seconds_bucket{{le=\"+Inf\"}} {all}\nh_seconds_sum 1\nh_seconds_count {all}\n"
            )
        };
        let found = values(&text([100, 100, 100]), &text([100, 110, 110]));
        let expected = [
            (key("h_seconds", "p50"), Some(1.5)),
            (key("h_seconds", "p99"), Some(1.99)),
        ];
        assert_eq!(found, BTreeMap::from(expected));
        // Beyond the highest bound it is that bound, and without an observation there is no quantile.
        let beyond = values(&text([1, 1, 1]), &text([1, 1, 9]));
        assert_eq!(beyond[&key("h_seconds", "p99")], Some(2.0));
        let none = values(&text([1, 1, 1]), &text([1, 1, 1]));
        assert_eq!(none[&key("h_seconds", "p50")], None);
    }

    #[test]
    fn a_counter_that_begins_again_does_not_go_backwards() {
        let text = |count: u32| format!("# TYPE a counter\na {count}\n");
        let found = values(&text(1000), &text(10));
        assert_eq!(found[&key("a", "")], Some(5.0));
    }

    #[test]
    fn the_first_reading_has_values_of_gauges_only() {
        let mut reading = Reading::default();
        reading.add(
            "# TYPE a counter\na 1\n# TYPE g gauge\ng 2\n",
            &Section::Operator,
        );
        let values: Vec<_> = reading.since(None).into_values().collect();
        assert_eq!(values, [None, Some(2.0)]);
    }
}
