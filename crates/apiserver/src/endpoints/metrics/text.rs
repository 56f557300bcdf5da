//! The server's metrics in Prometheus' text format.

use std::sync::Arc;

use kubewright_metrics::{MetricType, TextWriter};

use super::{Metrics, ObjectCount, Series, labels::Labels};

type Shown<'a> = (Vec<(&'a str, &'a str)>, &'a Series);

pub(super) fn render(metrics: &Metrics) -> String {
    let series: Vec<Arc<Series>> = {
        let table = metrics.series.read();
        table.by_hash.values().flatten().cloned().collect()
    };
    let mut shown: Vec<Shown<'_>> = series
        .iter()
        .map(|series| (labels_of(&series.labels), &**series))
        .collect();
    shown.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    let mut out = TextWriter::default();
    in_flight(&mut out, metrics);
    long_running(&mut out, &shown);
    durations(&mut out, &shown);
    totals(&mut out, &shown);
    if let Some(count) = metrics.objects.read().as_ref() {
        objects(&mut out, count());
    }
    for collect in metrics.others.read().iter() {
        collect(&mut out);
    }
    let name = "process_start_time_seconds";
    let help = "Start time of the process, in seconds since the epoch.";
    out.heading(name, help, MetricType::Gauge);
    out.sample(name, [], metrics.start.as_millisecond() as f64 / 1000.0);
    out.finish()
}

fn in_flight(out: &mut TextWriter, metrics: &Metrics) {
    let name = "apiserver_current_inflight_requests";
    let help = "Requests being handled now, by kind, without the long-running ones.";
    out.heading(name, help, MetricType::Gauge);
    for (kind, gauge) in [
        ("mutating", &metrics.mutating),
        ("readOnly", &metrics.read_only),
    ] {
        out.sample(name, [("request_kind", kind)], gauge.get() as f64);
    }
}

fn long_running(out: &mut TextWriter, series: &[Shown<'_>]) {
    let name = "apiserver_longrunning_requests";
    let help = "Long-running requests being handled now.";
    out.heading(name, help, MetricType::Gauge);
    for (labels, series) in series {
        let running = series.long_running.get();
        if running != 0 || &*series.labels.verb == "WATCH" {
            let labels = labels.iter().filter(|(label, _)| *label != "dry_run");
            out.sample(name, labels.copied(), running as f64);
        }
    }
}

fn durations(out: &mut TextWriter, series: &[Shown<'_>]) {
    let name = "apiserver_request_duration_seconds";
    out.heading(name, "Duration of requests.", MetricType::Histogram);
    for (labels, series) in series {
        let duration = series.duration.snapshot();
        if duration.count() > 0 {
            out.histogram(name, labels, &duration);
        }
    }
}

fn totals(out: &mut TextWriter, series: &[Shown<'_>]) {
    let name = "apiserver_request_total";
    let help = "Requests by verb, resource and response code.";
    out.heading(name, help, MetricType::Counter);
    for (labels, series) in series {
        let codes = series.codes.read();
        let mut codes: Vec<(u16, u64)> = codes.iter().map(|(c, count)| (*c, count.get())).collect();
        codes.sort_unstable();
        for (code, count) in codes {
            let code = code.to_string();
            let labels = [("code", &*code)].into_iter().chain(labels.iter().copied());
            out.sample(name, labels, count as f64);
        }
    }
}

fn objects(out: &mut TextWriter, mut counts: Vec<ObjectCount>) {
    counts.sort_unstable_by(|a, b| (&a.group, &a.resource).cmp(&(&b.group, &b.resource)));
    let name = "apiserver_resource_objects";
    let help = "Stored objects by group and resource.";
    out.heading(name, help, MetricType::Gauge);
    for count in &counts {
        let labels = [("group", &*count.group), ("resource", &*count.resource)];
        out.sample(name, labels, count.count as f64);
    }
    let name = "apiserver_storage_objects";
    out.heading(name, "Stored objects by resource.", MetricType::Gauge);
    for ObjectCount {
        group,
        resource,
        count,
    } in &counts
    {
        let dot = if group.is_empty() { "" } else { "." };
        let resource = format!("{resource}{dot}{group}");
        out.sample(name, [("resource", &*resource)], *count as f64);
    }
}

/// The labels that all request metrics share, by name.
fn labels_of(labels: &Labels) -> Vec<(&str, &str)> {
    vec![
        ("component", &*labels.component),
        ("dry_run", &*labels.dry_run),
        ("group", &*labels.group),
        ("resource", &*labels.resource),
        ("scope", &*labels.scope),
        ("subresource", &*labels.subresource),
        ("verb", &*labels.verb),
        ("version", &*labels.version),
    ]
}
