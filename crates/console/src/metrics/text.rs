//! Prometheus' text format, as far as plots need it.

use std::collections::HashMap;

/// The type of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Counter,
    Gauge,
    Histogram,
}

/// A sample of a counter, a gauge, or a bucket of a histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample<'a> {
    /// The name of the family.
    pub(super) family: &'a str,
    pub(super) kind: Type,
    labels: &'a str,
    pub(super) value: f64,
}

/// Returns the samples of a text. Lines that are none are left out, and so are sums and counts of histograms, and values that are no
/// numbers.
pub(super) fn samples(text: &str) -> impl Iterator<Item = Sample<'_>> {
    let mut types: HashMap<&str, Type> = HashMap::new();
    text.lines().filter_map(move |line| {
        if let Some(declared) = line.strip_prefix("# TYPE ") {
            let (family, kind) = declared.split_once(' ')?;
            let kind = match kind {
                "counter" => Type::Counter,
                "gauge" => Type::Gauge,
                "histogram" => Type::Histogram,
                _ => return None,
            };
            types.insert(family, kind);
            return None;
        }
        let (name, labels, value) = split(line)?;
        let family = match name.strip_suffix("_bucket") {
            Some(family) if types.get(family) == Some(&Type::Histogram) => family,
            _ => name,
        };
        let kind = *types.get(family)?;
        let is_whole = (kind == Type::Histogram) == (family.len() < name.len());
        (is_whole && value.is_finite()).then_some(Sample {
            family,
            kind,
            labels,
            value,
        })
    })
}

impl<'a> Sample<'a> {
    /// Returns the value of a label, as it is written.
    pub(super) fn label(&self, name: &str) -> Option<&'a str> {
        let mut rest = self.labels;
        loop {
            let (label, after) = rest.split_once("=\"")?;
            let end = end_of_value(after)?;
            if label.trim_start_matches([',', ' ']) == name {
                return after.get(..end);
            }
            rest = after.get(end + 1..)?;
        }
    }

    /// Returns the upper bound of a bucket.
    pub(super) fn bound(&self) -> Option<f64> {
        match self.label("le")? {
            "+Inf" => Some(f64::INFINITY),
            bound => bound.parse().ok(),
        }
    }
}

/// Splits a line into the name, the labels and the value.
fn split(line: &str) -> Option<(&str, &str, f64)> {
    let (head, value) = match line.rsplit_once('}') {
        Some((head, value)) => (head, value),
        None => line.split_once(' ')?,
    };
    let (name, labels) = head.split_once('{').unwrap_or((head, ""));
    let value = value.split_whitespace().next()?.parse().ok()?;
    (!name.starts_with('#')).then_some((name, labels, value))
}

/// Returns the position of the quote that ends a value; quotes in it are escaped.
fn end_of_value(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_their_type_and_labels() {
        let text = "# HELP a text\n# TYPE a counter\na{x=\"1\",y=\"{\\\"}\"} 2\n# TYPE g gauge\ng 7 1700000000\nnone 3\n\
                    # TYPE h histogram\nh_bucket{le=\"1\"} 4\nh_bucket{le=\"+Inf\"} 5\nh_sum 9\nh_count 5\ng NaN\n";
        let all: Vec<_> = samples(text).collect();
        let short: Vec<_> = all
            .iter()
            .map(|it| (it.family, it.kind, it.value))
            .collect();
        let expected = [
            ("a", Type::Counter, 2.0),
            ("g", Type::Gauge, 7.0),
            ("h", Type::Histogram, 4.0),
            ("h", Type::Histogram, 5.0),
        ];
        assert_eq!(short, expected);
        assert_eq!(all[0].label("y"), Some("{\\\"}"));
        assert_eq!(all[0].label("z"), None);
        assert_eq!(
            (all[2].bound(), all[3].bound()),
            (Some(1.0), Some(f64::INFINITY))
        );
    }
}
