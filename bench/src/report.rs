//! Figures, beside their targets and beside kube-apiserver's, as one aligned table.

use std::fmt;

/// What a figure is and what it is to be.
pub(crate) struct Measure {
    /// What was measured.
    pub(crate) name: &'static str,
    /// Its unit.
    pub(crate) unit: &'static str,
    /// Larger figures are better.
    pub(crate) larger_is_better: bool,
    /// At least, or at most, that much; `None` where no target is set.
    pub(crate) target: Option<f64>,
    /// kube-apiserver 1.35 with etcd, measured once on a machine with two processors.
    pub(crate) reference: Option<f64>,
}

/// All figures of a run.
pub(crate) struct Report {
    with_peer: bool,
    rows: Vec<Row>,
}

struct Row {
    name: String,
    unit: &'static str,
    larger_is_better: bool,
    ours: Option<f64>,
    target: Option<f64>,
    reference: Option<f64>,
    peer: Option<f64>,
}

/// Whose figure it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    Ours,
    Peers,
}

impl Measure {
    /// Less is better, no target, no reference.
    pub(crate) const fn cost(name: &'static str, unit: &'static str) -> Self {
        Self {
            name,
            unit,
            larger_is_better: false,
            target: None,
            reference: None,
        }
    }

    /// More is better.
    pub(crate) const fn rate(name: &'static str, unit: &'static str) -> Self {
        Self {
            larger_is_better: true,
            ..Self::cost(name, unit)
        }
    }

    pub(crate) const fn target(self, target: f64) -> Self {
        Self {
            target: Some(target),
            ..self
        }
    }

    pub(crate) const fn reference(self, reference: f64) -> Self {
        Self {
            reference: Some(reference),
            ..self
        }
    }
}

impl Report {
    pub(crate) fn new(with_peer: bool) -> Self {
        Self {
            with_peer,
            rows: Vec::new(),
        }
    }

    /// Notes a figure.
    pub(crate) fn add(&mut self, measure: &Measure, whose: Whose, figure: f64) {
        self.add_named(measure.name.to_owned(), measure, whose, figure);
    }

    /// Notes a figure under a name of its own.
    pub(crate) fn add_named(&mut self, name: String, measure: &Measure, whose: Whose, figure: f64) {
        let at = self
            .rows
            .iter()
            .position(|row| row.name == name)
            .unwrap_or_else(|| {
                self.rows.push(Row {
                    name,
                    unit: measure.unit,
                    larger_is_better: measure.larger_is_better,
                    ours: None,
                    target: measure.target,
                    reference: measure.reference,
                    peer: None,
                });
                self.rows.len() - 1
            });
        match whose {
            Whose::Ours => self.rows[at].ours = Some(figure),
            Whose::Peers => self.rows[at].peer = Some(figure),
        }
    }

    /// How many targets were missed.
    pub(crate) fn missed(&self) -> usize {
        self.rows
            .iter()
            .filter(|row| row.met() == Some(false))
            .count()
    }
}

impl Row {
    fn met(&self) -> Option<bool> {
        let (ours, target) = self.ours.zip(self.target)?;
        Some(if self.larger_is_better {
            ours >= target
        } else {
            ours <= target
        })
    }

    /// How many times better ours is than the peer's, or than the reference where there is no peer.
    fn ratio(&self) -> Option<f64> {
        let (ours, other) = self.ours.zip(self.peer.or(self.reference))?;
        let ratio = if self.larger_is_better {
            ours / other
        } else {
            other / ours
        };
        ratio.is_finite().then_some(ratio)
    }

    fn cells(&self, with_peer: bool) -> Vec<String> {
        let bound = if self.larger_is_better { ">=" } else { "<=" };
        let mut cells = vec![
            self.name.clone(),
            shown(self.ours),
            self.unit.to_owned(),
            self.target
                .map_or(String::new(), |t| format!("{bound} {}", shown(Some(t)))),
            shown(self.reference),
        ];
        if with_peer {
            cells.push(shown(self.peer));
        }
        cells.push(
            self.ratio()
                .map_or(String::new(), |ratio| format!("{}x", shown(Some(ratio)))),
        );
        cells.push(
            self.met()
                .map_or("", |met| if met { "yes" } else { "NO" })
                .to_owned(),
        );
        cells
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut heads = vec!["", "ours", "", "target", "reference"];
        if self.with_peer {
            heads.push("peer");
        }
        heads.extend(["ratio", "met"]);
        let mut lines: Vec<Vec<String>> = vec![heads.into_iter().map(str::to_owned).collect()];
        lines.extend(self.rows.iter().map(|row| row.cells(self.with_peer)));
        let columns = lines[0].len();
        let width = |c: usize| {
            lines
                .iter()
                .map(|line| line[c].chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for line in &lines {
            for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
                // Names, units and verdicts to the left, figures to the right.
                if matches!(column, 0 | 2) || column + 1 == columns {
                    write!(f, "{cell:<width$}  ")?;
                } else {
                    write!(f, "{cell:>width$}  ")?;
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// Three significant digits, and thousands in groups.
fn shown(figure: Option<f64>) -> String {
    let Some(figure) = figure else {
        return String::new();
    };
    if figure.abs() < 100.0 {
        let decimals = if figure.abs() < 10.0 { 2 } else { 1 };
        return format!("{figure:.decimals$}");
    }
    let digits = format!("{figure:.0}");
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_and_grouped() {
        assert_eq!(shown(Some(1234567.0)), "1,234,567");
        assert_eq!(shown(Some(12.34)), "12.3");
        assert_eq!(shown(Some(0.056)), "0.06");
        assert_eq!(shown(None), "");
    }

    #[test]
    fn targets_are_judged_in_their_direction() {
        const SPEED: Measure = Measure::rate("speed", "/s").target(10.0).reference(5.0);
        const TIME: Measure = Measure::cost("time", "ms").target(10.0).reference(5.0);
        let mut report = Report::new(false);
        report.add(&SPEED, Whose::Ours, 20.0);
        report.add(&TIME, Whose::Ours, 20.0);
        assert_eq!(report.rows[0].met(), Some(true));
        assert_eq!(report.rows[1].met(), Some(false));
        assert_eq!(report.rows[0].ratio(), Some(4.0));
        assert_eq!(report.rows[1].ratio(), Some(0.25));
        assert_eq!(report.missed(), 1);
    }

    #[test]
    fn a_peers_figure_comes_before_the_reference() {
        const SPEED: Measure = Measure::rate("speed", "/s").reference(5.0);
        let mut report = Report::new(true);
        report.add(&SPEED, Whose::Ours, 20.0);
        report.add(&SPEED, Whose::Peers, 10.0);
        assert_eq!(report.rows.len(), 1);
        assert_eq!(report.rows[0].ratio(), Some(2.0));
    }
}
