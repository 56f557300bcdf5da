//! The rows of a table, and the targets of their figures.

use serde::{Deserialize, Serialize};

use crate::results::Section;

/// A row.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    /// The key by which contestants report it.
    pub(crate) key: String,
    pub(crate) label: String,
    pub(crate) unit: String,
    pub(crate) larger_is_better: bool,
    pub(crate) targets: Vec<Target>,
    /// The contestant that is a lower limit.
    pub(crate) limit: Option<f64>,
}

/// A target of a figure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Target {
    /// The contestant; defaults to ours.
    of: Option<String>,
    bound: Bound,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Bound {
    AtMost(f64),
    AtLeast(f64),
    /// At least so many times better than that contestant.
    Better {
        times: f64,
        than: String,
    },
    /// At least so much less than that contestant.
    Less {
        by: f64,
        than: String,
    },
    /// At most so many times the figure of that contestant.
    Times {
        times: f64,
        of: String,
    },
}

impl Row {
    /// Less is better.
    pub(crate) fn cost(key: &str, label: &str, unit: &str) -> Self {
        Self {
            key: key.to_owned(),
            label: label.to_owned(),
            unit: unit.to_owned(),
            larger_is_better: false,
            targets: Vec::new(),
            limit: None,
        }
    }

    /// More is better.
    pub(crate) fn rate(key: &str, label: &str, unit: &str) -> Self {
        Self {
            larger_is_better: true,
            ..Self::cost(key, label, unit)
        }
    }

    pub(crate) fn at_most(self, value: f64) -> Self {
        self.target(None, Bound::AtMost(value))
    }

    pub(crate) fn at_least(self, value: f64) -> Self {
        self.target(None, Bound::AtLeast(value))
    }

    /// Adds an upper limit for a contestant other than the first.
    pub(crate) fn at_most_for(self, of: &str, value: f64) -> Self {
        self.target(Some(of), Bound::AtMost(value))
    }

    /// Adds the target that ours is so many times better than that contestant.
    pub(crate) fn better(self, times: f64, than: &str) -> Self {
        let than = than.to_owned();
        self.target(None, Bound::Better { times, than })
    }

    /// Adds the target that ours needs at least so much less than that contestant.
    pub(crate) fn less(self, by: f64, than: &str) -> Self {
        let than = than.to_owned();
        self.target(None, Bound::Less { by, than })
    }

    /// Adds the target that one contestant needs at most so many times as much as another.
    pub(crate) fn at_most_times(self, of: &str, times: f64, other: &str) -> Self {
        let bound = Bound::Times {
            times,
            of: other.to_owned(),
        };
        self.target(Some(of), bound)
    }

    pub(crate) fn limit(mut self, value: f64) -> Self {
        self.limit = Some(value);
        self
    }

    fn target(mut self, of: Option<&str>, bound: Bound) -> Self {
        let of = of.map(str::to_owned);
        self.targets.push(Target { of, bound });
        self
    }

    /// Returns how many times better the first of two figures is.
    pub(crate) fn ratio(&self, ours: f64, other: f64) -> Option<f64> {
        let ratio = if self.larger_is_better {
            ours / other
        } else {
            other / ours
        };
        ratio.is_finite().then_some(ratio)
    }
}

impl Target {
    /// Returns whether the target is met; `None` if a figure is missing.
    pub(crate) fn met(&self, row: &Row, section: &Section) -> Option<bool> {
        let whose = match &self.of {
            Some(name) => section.outcome(name)?,
            None => section.outcomes.first().filter(|o| o.absent.is_none())?,
        };
        let figure = whose.figure(&row.key)?;
        let other = |name: &str| section.outcome(name)?.figure(&row.key);
        Some(match &self.bound {
            Bound::AtMost(value) => figure <= *value,
            Bound::AtLeast(value) => figure >= *value,
            Bound::Better { times, than } => row.ratio(figure, other(than)?)? >= *times,
            Bound::Less { by, than } => figure + by <= other(than)?,
            Bound::Times { times, of } => figure <= times * other(of)?,
        })
    }

    /// Describes the target.
    pub(crate) fn shown(&self) -> String {
        let bound = match &self.bound {
            Bound::AtMost(value) => format!("≤ {}", shown(*value)),
            Bound::AtLeast(value) => format!("≥ {}", shown(*value)),
            Bound::Better { times, than } if *times == 1.0 => format!("no worse than {than}"),
            Bound::Better { times, than } => format!("{}x {than}", shown_times(*times)),
            Bound::Less { by, than } => format!("{} less than {than}", shown(*by)),
            Bound::Times { times, of } => format!("≤ {}x {of}", shown_times(*times)),
        };
        match &self.of {
            Some(of) => format!("{of}: {bound}"),
            None => bound,
        }
    }
}

/// Formats a figure with three significant digits and grouped thousands.
pub(crate) fn shown(figure: f64) -> String {
    let size = figure.abs();
    if size < 100.0 {
        let decimals = match size {
            _ if figure.fract() == 0.0 => 0,
            _ if size < 1.0 => 3,
            _ if size < 10.0 => 2,
            _ => 1,
        };
        return format!("{figure:.decimals$}");
    }
    let digits = format!("{figure:.0}");
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        let left = digits.len() - at;
        if at > 0 && left % 3 == 0 && !grouped.ends_with('-') {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

fn shown_times(times: f64) -> String {
    if times.fract() == 0.0 {
        format!("{times:.0}")
    } else {
        format!("{times}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Outcome;

    fn section(figures: &[(&str, Option<f64>)]) -> Section {
        let mut section = Section::new("x", "", "");
        for (name, figure) in figures {
            let absent = figure.is_none().then(|| "not given".to_owned());
            let mut outcome = Outcome::new(name, absent);
            let figures = figure.map(|f| ("k".to_owned(), vec![f]));
            outcome.figures.extend(figures);
            section.outcomes.push(outcome);
        }
        section
    }

    fn verdicts(row: &Row, section: &Section) -> Vec<Option<bool>> {
        row.targets.iter().map(|t| t.met(row, section)).collect()
    }

    #[test]
    fn figures_are_short_and_grouped() {
        let of = [1_234_567.0, 123.4, 12.34, 1.234, 0.0561, 15.0, -1234.0];
        let text = of.map(shown);
        assert_eq!(
            text,
            ["1,234,567", "123", "12.3", "1.23", "0.056", "15", "-1,234"]
        );
    }

    #[test]
    fn targets_are_checked_in_their_direction() {
        let both = section(&[("ours", Some(20.0)), ("peer", Some(50.0))]);
        let time = Row::cost("k", "", "ms").at_most(10.0).better(2.0, "peer");
        assert_eq!(verdicts(&time, &both), [Some(false), Some(true)]);
        let speed = Row::rate("k", "", "/s").at_least(10.0).better(2.0, "peer");
        assert_eq!(verdicts(&speed, &both), [Some(true), Some(false)]);
        let memory = Row::cost("k", "", "MB")
            .less(30.0, "peer")
            .less(31.0, "peer");
        assert_eq!(verdicts(&memory, &both), [Some(true), Some(false)]);
        assert_eq!(memory.targets[0].shown(), "30 less than peer");
    }

    #[test]
    fn a_target_beside_an_absent_peer_is_neither_met_nor_missed() {
        let alone = section(&[("ours", Some(20.0)), ("peer", None)]);
        let row = Row::cost("k", "", "ms").better(2.0, "peer");
        assert_eq!(verdicts(&row, &alone), [None]);
    }

    #[test]
    fn growth_is_checked_between_columns() {
        let sizes = section(&[("1k", Some(1.0)), ("1M", Some(2.5))]);
        let row = Row::cost("k", "", "us")
            .at_most_times("1M", 2.0, "1k")
            .at_most_for("1M", 3.0);
        assert_eq!(verdicts(&row, &sizes), [Some(false), Some(true)]);
        assert_eq!(row.targets[0].shown(), "1M: ≤ 2x 1k");
    }
}
