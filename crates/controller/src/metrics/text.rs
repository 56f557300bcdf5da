//! [`TextWriter`]: the text format 0.0.4, line by line.
//!
//! Samples of one name stand together under one heading; a second heading of the same name is left out, so that collectors
//! that count the same thing for different parts can follow each other.

use std::{collections::HashSet, fmt::Write as _};

/// What kind of metric a family is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricType {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts by size.
    Histogram,
    /// Nothing is known.
    Untyped,
}

/// Writes metrics down.
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
    /// Begins a family.
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

    /// One number.
    pub fn sample<'a>(
        &mut self,
        name: &str,
        labels: impl IntoIterator<Item = (&'a str, &'a str)>,
        value: f64,
    ) {
        self.text.push_str(name);
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
        number(&mut self.text, value);
        self.text.push('\n');
    }

    /// Text that is in the format already: whole lines.
    pub fn raw(&mut self, lines: &str) {
        self.text.push_str(lines);
        if !lines.is_empty() && !lines.ends_with('\n') {
            self.text.push('\n');
        }
    }

    /// What was written.
    pub fn finish(self) -> String {
        self.text
    }
}

/// A number as Prometheus reads it.
pub(super) fn number(text: &mut String, value: f64) {
    if value.is_nan() {
        text.push_str("NaN");
    } else if value.is_infinite() {
        text.push_str(if value > 0.0 { "+Inf" } else { "-Inf" });
    } else {
        // Writing to a string cannot fail.
        let _ = write!(text, "{value}");
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
    fn what_would_break_a_line_is_escaped() {
        let mut out = TextWriter::default();
        out.heading("a", "back\\slash \"and\"\nline", MetricType::Gauge);
        out.sample("a", [("l", "\"\\\n")], 1.5);
        out.sample("a", [], f64::INFINITY);
        out.heading("a", "again", MetricType::Gauge);
        assert_eq!(
            out.finish(),
            "# HELP a back\\\\slash \"and\"\\nline\n# TYPE a gauge\na{l=\"\\\"\\\\\\n\"} 1.5\na +Inf\n"
        );
    }
}
