//! [`TextWriter`]: the text format 0.0.4, line by line.

use std::{collections::HashSet, fmt::Write as _};

use crate::{histogram::LocalHistogram, number};

/// The type of a metric family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricType {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts observations by size.
    Histogram,
    /// Unknown.
    Untyped,
}

/// Writes metrics as text.
///
/// The samples of a family follow its heading. A second heading of the same name is left out, so that several collectors
/// can contribute to one family.
///
/// ```
/// use kubewright_metrics::{MetricType, TextWriter};
///
/// let mut out = TextWriter::default();
/// out.heading("depth", "Items that wait", MetricType::Gauge);
/// out.sample("depth", [("queue", "pods")], 3.0);
/// assert_eq!(
///     out.finish(),
///     "# HELP depth Items that wait\n# TYPE depth gauge\ndepth{queue=\"pods\"} 3\n"
/// );
/// ```
#[derive(Debug, Default)]
pub struct TextWriter {
    text: String,
    headed: HashSet<String>,
}

impl MetricType {
    fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
            Self::Untyped => "untyped",
        }
    }
}

impl TextWriter {
    /// Begins a family, unless one of that name was begun before.
    pub fn heading(&mut self, name: &str, help: &str, kind: MetricType) {
        if !self.headed.insert(name.to_owned()) {
            return;
        }
        self.text.push_str("# HELP ");
        self.text.push_str(name);
        self.text.push(' ');
        escape(&mut self.text, help, false);
        // Writing to a string cannot fail.
        let _ = write!(self.text, "\n# TYPE {name} {}\n", kind.as_str());
    }

    /// Writes one number with its labels, in the given order.
    pub fn sample<'a>(
        &mut self,
        name: &str,
        labels: impl IntoIterator<Item = (&'a str, &'a str)>,
        value: f64,
    ) {
        self.sample_of(name, "", labels, value);
    }

    /// Writes one number with its labels and the time of its measurement, in milliseconds since 1970.
    pub fn sample_at<'a>(
        &mut self,
        name: &str,
        labels: impl IntoIterator<Item = (&'a str, &'a str)>,
        value: f64,
        millis: i64,
    ) {
        self.sample_of(name, "", labels, value);
        // The line goes on.
        self.text.pop();
        let _ = writeln!(self.text, " {millis}");
    }

    /// Writes the buckets, the sum and the count of a histogram.
    pub fn histogram(&mut self, name: &str, labels: &[(&str, &str)], histogram: &LocalHistogram) {
        let count = histogram.count();
        let buckets = histogram.cumulative().chain([(f64::INFINITY, count)]);
        let mut le = String::new();
        for (bound, below) in buckets {
            le.clear();
            number::write(&mut le, bound);
            let labels = labels.iter().copied().chain([("le", le.as_str())]);
            self.sample_of(name, "_bucket", labels, below as f64);
        }
        self.sample_of(name, "_sum", labels.iter().copied(), histogram.sum());
        self.sample_of(name, "_count", labels.iter().copied(), count as f64);
    }

    /// Returns what was written.
    pub fn finish(self) -> String {
        self.text
    }

    fn sample_of<'a>(
        &mut self,
        name: &str,
        suffix: &str,
        labels: impl IntoIterator<Item = (&'a str, &'a str)>,
        value: f64,
    ) {
        self.text.push_str(name);
        self.text.push_str(suffix);
        let mut separator = '{';
        for (label, value) in labels {
            self.text.push(separator);
            self.text.push_str(label);
            self.text.push_str("=\"");
            escape(&mut self.text, value, true);
            self.text.push('"');
            separator = ',';
        }
        if separator == ',' {
            self.text.push('}');
        }
        self.text.push(' ');
        number::write(&mut self.text, value);
        self.text.push('\n');
    }
}

fn escape(text: &mut String, value: &str, quotes: bool) {
    for c in value.chars() {
        match c {
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '"' if quotes => text.push_str("\\\""),
            c => text.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_would_break_a_line_are_escaped() {
        let mut out = TextWriter::default();
        out.heading("a", "back\\slash \"and\"\nline", MetricType::Gauge);
        out.sample("a", [("l", "\"\\\n")], 1.5);
        out.sample("a", [], f64::INFINITY);
        out.sample_at("a", [("l", "x")], 2.0, -5);
        out.heading("a", "again", MetricType::Gauge);
        assert_eq!(
            out.finish(),
            "# HELP a back\\\\slash \"and\"\\nline\n# TYPE a gauge\na{l=\"\\\"\\\\\\n\"} 1.5\na +Inf\na{l=\"x\"} 2 -5\n"
        );
    }
}
