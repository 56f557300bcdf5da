//! The table of a run.

use std::fmt;

use crate::{
    process::Sample,
    tally::{Operation, Tally},
};

/// The part of a run after which memory is expected to stay the same.
const WARM_UP: f64 = 0.5;

/// The greatest slope of memory that counts as none, in kilobytes a minute. The allocator's pools make some noise.
const NO_SLOPE: f64 = 64.0;

/// The figures of a run.
pub(crate) struct Report {
    rows: Vec<(&'static str, String)>,
    holds: bool,
}

impl Report {
    pub(crate) fn new(minutes: u32, samples: Vec<Sample>, tally: &Tally) -> Self {
        let warm = (samples.len() as f64 * WARM_UP) as usize;
        let (before, after) = samples.split_at(warm);
        let slope = slope(after);
        let [errors, lost, wrong] = tally.failures();
        let megabytes = |sample: Option<&Sample>| {
            sample.map_or(String::new(), |it| {
                format!("{:.1} MB", it.memory as f64 / 1024.0)
            })
        };
        let most = |samples: &[Sample]| samples.iter().map(|it| it.descriptors).max().unwrap_or(0);
        let now = jiff::Timestamp::now().strftime("%Y-%m-%d");
        let count = |operation| tally.of(operation).to_string();
        let rows = vec![
            ("date, length", format!("{now}, {minutes} min")),
            ("creates", count(Operation::Create)),
            ("updates", count(Operation::Update)),
            ("patches", count(Operation::Patch)),
            ("applies", count(Operation::Apply)),
            ("deletes", count(Operation::Delete)),
            ("lists, compared with the model", count(Operation::List)),
            ("events", count(Operation::Event)),
            ("requests cut off in the middle", count(Operation::CutOff)),
            (
                "watches dropped and resumed",
                count(Operation::DroppedWatch),
            ),
            (
                "watches ended by the server and resumed",
                count(Operation::Resume),
            ),
            ("watches that had to list again", count(Operation::Relist)),
            ("connections replaced", count(Operation::Reconnect)),
            ("errors", errors.to_string()),
            ("lost events", lost.to_string()),
            ("objects that differ from the model", wrong.to_string()),
            ("memory at the start", megabytes(before.first())),
            ("memory after half of the time", megabytes(after.first())),
            ("memory at the end", megabytes(after.last())),
            (
                "slope in the second half",
                format!("{slope:.0} KB a minute"),
            ),
            (
                "file descriptors, at most, first half",
                most(before).to_string(),
            ),
            (
                "file descriptors, at most, second half",
                most(after).to_string(),
            ),
        ];
        Self {
            rows,
            holds: errors + lost + wrong == 0 && slope < NO_SLOPE,
        }
    }

    /// Returns whether nothing was lost, nothing failed, and memory did not grow.
    pub(crate) fn holds(&self) -> bool {
        self.holds
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| | |\n|---|---:|")?;
        for (name, value) in &self.rows {
            writeln!(f, "| {name} | {value} |")?;
        }
        Ok(())
    }
}

/// Returns the slope of memory by least squares, in kilobytes a minute.
fn slope(samples: &[Sample]) -> f64 {
    let points: Vec<(f64, f64)> = samples
        .iter()
        .map(|sample| (sample.at.as_secs_f64() / 60.0, sample.memory as f64))
        .collect();
    let count = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| {
        (x + point.0 / count, y + point.1 / count)
    });
    let over: f64 = points
        .iter()
        .map(|point| (point.0 - x) * (point.1 - y))
        .sum();
    let under: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    match under > 0.0 {
        true => over / under,
        false => 0.0,
    }
}
