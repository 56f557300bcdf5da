//! The Prometheus text format.

use std::{
    fmt::Write,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use super::{Metrics, ObjectCount, Series, histogram::BOUNDS, labels::Labels};

pub(super) fn render(metrics: &Metrics) -> String {
    let mut series: Vec<(String, Arc<Series>)> = metrics
        .series
        .read()
        .by_hash
        .values()
        .flatten()
        .map(|series| (label_text(&series.labels), series.clone()))
        .collect();
    series.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    let mut out = String::with_capacity(4096 + series.len() * 4096);
    in_flight(&mut out, metrics);
    long_running(&mut out, &series);
    durations(&mut out, &series);
    totals(&mut out, &series);
    if let Some(count) = metrics.objects.read().as_ref() {
        objects(&mut out, count());
    }
    head(
        &mut out,
        "process_start_time_seconds",
        "gauge",
        "When the process started, in seconds since the epoch.",
    );
    let start = metrics.start.as_millisecond() as f64 / 1000.0;
    let _ = writeln!(out, "process_start_time_seconds {start}");
    out
}

fn in_flight(out: &mut String, metrics: &Metrics) {
    let name = "apiserver_current_inflight_requests";
    head(
        out,
        name,
        "gauge",
        "Requests being handled now, by kind, without the long-running ones.",
    );
    for (kind, gauge) in [
        ("mutating", &metrics.mutating),
        ("readOnly", &metrics.read_only),
    ] {
        let _ = writeln!(
            out,
            "{name}{{request_kind=\"{kind}\"}} {}",
            gauge.load(Relaxed)
        );
    }
}

fn long_running(out: &mut String, series: &[(String, Arc<Series>)]) {
    let name = "apiserver_longrunning_requests";
    head(
        out,
        name,
        "gauge",
        "Long-running requests being handled now.",
    );
    for (_, series) in series {
        let running = series.long_running.load(Relaxed);
        if running != 0 || &*series.labels.verb == "WATCH" {
            let mut text = String::new();
            let l = &series.labels;
            label(&mut text, "component", &l.component);
            label(&mut text, "group", &l.group);
            label(&mut text, "resource", &l.resource);
            label(&mut text, "scope", &l.scope);
            label(&mut text, "subresource", &l.subresource);
            label(&mut text, "verb", &l.verb);
            label(&mut text, "version", &l.version);
            let _ = writeln!(out, "{name}{{{text}}} {running}");
        }
    }
}

fn durations(out: &mut String, series: &[(String, Arc<Series>)]) {
    let name = "apiserver_request_duration_seconds";
    head(out, name, "histogram", "How long requests took.");
    for (labels, series) in series {
        let counts = series.duration.cumulative();
        let total = counts.last().copied().unwrap_or(0);
        if total == 0 {
            continue;
        }
        for (bound, count) in BOUNDS.iter().zip(&counts) {
            let _ = writeln!(out, "{name}_bucket{{{labels},le=\"{bound}\"}} {count}");
        }
        let _ = writeln!(out, "{name}_bucket{{{labels},le=\"+Inf\"}} {total}");
        let _ = writeln!(
            out,
            "{name}_sum{{{labels}}} {}",
            series.duration.sum_seconds()
        );
        let _ = writeln!(out, "{name}_count{{{labels}}} {total}");
    }
}

fn totals(out: &mut String, series: &[(String, Arc<Series>)]) {
    let name = "apiserver_request_total";
    head(
        out,
        name,
        "counter",
        "Requests by what they asked and how they were answered.",
    );
    for (labels, series) in series {
        let mut codes: Vec<(u16, u64)> = series
            .codes
            .read()
            .iter()
            .map(|(code, count)| (*code, count.load(Relaxed)))
            .collect();
        codes.sort_unstable();
        for (code, count) in codes {
            let _ = writeln!(out, "{name}{{code=\"{code}\",{labels}}} {count}");
        }
    }
}

fn objects(out: &mut String, mut counts: Vec<ObjectCount>) {
    counts.sort_unstable_by(|a, b| (&a.group, &a.resource).cmp(&(&b.group, &b.resource)));
    let name = "apiserver_resource_objects";
    head(out, name, "gauge", "Stored objects by group and resource.");
    for ObjectCount {
        group,
        resource,
        count,
    } in &counts
    {
        let mut text = String::new();
        label(&mut text, "group", group);
        label(&mut text, "resource", resource);
        let _ = writeln!(out, "{name}{{{text}}} {count}");
    }
    let name = "apiserver_storage_objects";
    head(out, name, "gauge", "Stored objects by resource.");
    for ObjectCount {
        group,
        resource,
        count,
    } in &counts
    {
        let mut text = String::new();
        let dot = if group.is_empty() { "" } else { "." };
        label(&mut text, "resource", &format!("{resource}{dot}{group}"));
        let _ = writeln!(out, "{name}{{{text}}} {count}");
    }
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

/// The labels that all request metrics share, by name.
fn label_text(labels: &Labels) -> String {
    let mut text = String::new();
    label(&mut text, "component", &labels.component);
    label(&mut text, "dry_run", &labels.dry_run);
    label(&mut text, "group", &labels.group);
    label(&mut text, "resource", &labels.resource);
    label(&mut text, "scope", &labels.scope);
    label(&mut text, "subresource", &labels.subresource);
    label(&mut text, "verb", &labels.verb);
    label(&mut text, "version", &labels.version);
    text
}

fn label(text: &mut String, name: &str, value: &str) {
    if !text.is_empty() {
        text.push(',');
    }
    let value = value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    let _ = write!(text, "{name}=\"{value}\"");
}
