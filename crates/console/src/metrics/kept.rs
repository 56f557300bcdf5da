//! [`Kept`]: the values of the last hour.

use std::collections::{BTreeMap, HashMap, VecDeque};

use serde_json::{Value, json};

use super::lines::{Line, Section};

/// The maximum number of lines of controllers, and of others.
const LINES: usize = 200;

/// The number of samples that are kept: one each second for an hour.
const SAMPLES: usize = 3600;

/// The maximum number of samples of a history.
const POINTS: usize = 600;

/// The values of the last hour. Lines are numbered in the order in which they appeared. A value that is absent is no number.
#[derive(Default)]
pub(super) struct Kept {
    lines: Vec<Line>,
    numbers: HashMap<Line, usize>,
    of_controllers: usize,
    samples: VecDeque<(f64, Vec<f32>)>,
}

impl Kept {
    /// Adds the values of a moment.
    pub(super) fn add(&mut self, at: f64, values: &BTreeMap<Line, Option<f64>>) {
        for line in values.keys() {
            self.number(line);
        }
        let mut sample = vec![f32::NAN; self.lines.len()];
        for (line, value) in values {
            let number = self.numbers.get(line);
            if let (Some(number), Some(value)) = (number, value)
                && let Some(slot) = sample.get_mut(*number)
            {
                *slot = *value as f32;
            }
        }
        self.samples.push_back((at, sample));
        while self.samples.len() > SAMPLES {
            self.samples.pop_front();
        }
    }

    /// Returns the newest sample.
    pub(super) fn newest(&self) -> Option<Value> {
        let (at, values) = self.samples.back()?;
        let sample = json!([at, values.iter().map(|it| shown(*it)).collect::<Vec<_>>()]);
        Some(json!({"lines": self.lines, "samples": [sample]}))
    }

    /// Returns the samples; of many, the means of groups that follow each other.
    pub(super) fn history(&self) -> Value {
        let step = self.samples.len().div_ceil(POINTS).max(1);
        // The newest group is complete.
        let first = self.samples.len() % step;
        let mut groups: Vec<Value> = Vec::new();
        let mut begin = 0;
        for end in (first..=self.samples.len()).step_by(step) {
            let group: Vec<_> = self.samples.range(begin..end).collect();
            begin = end;
            if let Some((at, _)) = group.last() {
                let values = (0..self.lines.len()).map(|number| shown(mean(&group, number)));
                groups.push(json!([at, values.collect::<Vec<_>>()]));
            }
        }
        json!({"lines": self.lines, "samples": groups})
    }

    fn number(&mut self, line: &Line) {
        let is_of_controller = matches!(line.section, Section::Controller(_));
        let others = self.lines.len() - self.of_controllers;
        let known = match is_of_controller {
            true => self.of_controllers,
            false => others,
        };
        if known < LINES && !self.numbers.contains_key(line) {
            self.numbers.insert(line.clone(), self.lines.len());
            self.lines.push(line.clone());
            self.of_controllers += usize::from(is_of_controller);
        }
    }
}

/// Returns the mean of the values of a line.
fn mean(samples: &[&(f64, Vec<f32>)], number: usize) -> f32 {
    let values = samples.iter().filter_map(|(_, values)| values.get(number));
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values.filter(|value| !value.is_nan()) {
        sum += value;
        count += 1.0;
    }
    // Without a value this is no number.
    sum / count
}

/// Returns a value with the digits that it has.
fn shown(value: f32) -> Option<f64> {
    match value.is_finite() {
        true => value.to_string().parse().ok(),
        false => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{super::lines::Unit, *};

    fn line(title: &str, section: Section) -> Line {
        Line {
            section,
            title: title.to_owned(),
            line: String::new(),
            unit: Unit::Value,
        }
    }

    fn of(title: &str, value: f64) -> BTreeMap<Line, Option<f64>> {
        BTreeMap::from([(line(title, Section::Server), Some(value))])
    }

    #[test]
    fn an_hour_is_kept_and_shown_in_part() {
        let mut kept = Kept::default();
        for second in 0..4001_u32 {
            kept.add(f64::from(second), &of("a", f64::from(second)));
        }
        assert_eq!(kept.samples.len(), SAMPLES);
        let history = kept.history();
        let samples = history["samples"].as_array().unwrap();
        assert_eq!(samples.len(), POINTS);
        // The mean of 3995 to 4000.
        assert_eq!(samples[POINTS - 1], json!([4000.0, [3997.5]]));
        assert_eq!(
            kept.newest().unwrap()["samples"],
            json!([[4000.0, [4000.0]]])
        );
    }

    #[test]
    fn a_part_of_a_group_is_the_oldest() {
        let mut kept = Kept::default();
        for second in 0..1201_u32 {
            kept.add(f64::from(second), &of("a", 0.5));
        }
        let history = kept.history();
        let samples = history["samples"].as_array().unwrap();
        assert_eq!((samples.len(), &samples[0][0]), (401, &json!(0.0)));
        assert_eq!(samples[400], json!([1200.0, [0.5]]));
    }

    #[test]
    fn a_new_line_begins_where_it_appears() {
        let mut kept = Kept::default();
        kept.add(1.0, &of("a", 1.0));
        let mut both = of("a", 2.0);
        both.extend(of("b", 5.0));
        kept.add(2.0, &both);
        kept.add(3.0, &BTreeMap::from([(line("a", Section::Server), None)]));
        let expected = json!([[1.0, [1.0, null]], [2.0, [2.0, 5.0]], [3.0, [null, null]]]);
        assert_eq!(kept.history()["samples"], expected);
        let titles: Vec<&str> = kept.lines.iter().map(|it| it.title.as_str()).collect();
        assert_eq!(titles, ["a", "b"]);
    }

    #[test]
    fn many_lines_of_a_server_leave_room_for_those_of_controllers() {
        let mut kept = Kept::default();
        for n in 0..2 * LINES {
            kept.add(1.0, &of(&format!("m{n}"), 1.0));
        }
        let captain = line("Reconciles", Section::Controller("captain".to_owned()));
        kept.add(2.0, &BTreeMap::from([(captain.clone(), Some(1.0))]));
        assert_eq!(kept.lines.len(), LINES + 1);
        assert!(kept.lines.contains(&captain));
    }
}
