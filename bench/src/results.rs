//! The results: a section for each case, kept as JSON between runs, so that a run of some cases leaves the others
//! unchanged.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::Context;
pub(crate) use kubewright_bench_operator::median;
use serde::{Deserialize, Serialize};

use crate::{contest::Sample, machine::Machine, rows::Row};

/// All results.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Results {
    pub(crate) sections: Vec<Section>,
}

/// The result of a case.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Section {
    /// The name of the case.
    pub(crate) case: String,
    /// True for a quick run with small sizes and one round, which shows that the case works but not how fast.
    pub(crate) quick: bool,
    pub(crate) title: String,
    /// The description of the work and of the figures.
    pub(crate) what: String,
    /// The date.
    pub(crate) taken: String,
    /// The duration of the case.
    pub(crate) seconds: f64,
    pub(crate) rounds: usize,
    pub(crate) machine: Machine,
    pub(crate) versions: BTreeMap<String, String>,
    pub(crate) rows: Vec<Row>,
    /// The contestants, ours first.
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) notes: Vec<String>,
    /// The reason why the case as a whole failed.
    pub(crate) broken: Option<String>,
}

/// The result of one contestant.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) name: String,
    /// The reason why it has no figures.
    pub(crate) absent: Option<String>,
    /// All figures by the key of their row.
    pub(crate) figures: BTreeMap<String, Vec<f64>>,
    pub(crate) cpu_seconds: Vec<f64>,
    pub(crate) peak_bytes: Vec<f64>,
}

impl Results {
    /// Reads the results. A missing file has none.
    pub(crate) fn load(path: &Path) -> anyhow::Result<Self> {
        match fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .with_context(|| format!("{} is not what a run wrote", path.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    pub(crate) fn save(&self, path: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Adds a section in document order. A full one replaces all sections of its case, a quick one only the quick one.
    pub(crate) fn merge(&mut self, section: Section, order: &[&str]) {
        self.sections
            .retain(|old| old.case != section.case || (section.quick && !old.quick));
        self.sections.push(section);
        let place = |section: &Section| order.iter().position(|name| *name == section.case);
        self.sections
            .sort_by_key(|section| (section.quick, place(section).unwrap_or(usize::MAX)));
    }
}

impl Section {
    pub(crate) fn new(case: &str, title: &str, what: &str) -> Self {
        Self {
            case: case.to_owned(),
            title: title.to_owned(),
            what: what.to_owned(),
            ..Self::default()
        }
    }

    /// Returns the contestant of that name, if it has figures.
    pub(crate) fn outcome(&self, name: &str) -> Option<&Outcome> {
        self.outcomes
            .iter()
            .find(|outcome| outcome.name == name && outcome.absent.is_none())
    }
}

impl Outcome {
    pub(crate) fn new(name: &str, absent: Option<String>) -> Self {
        Self {
            name: name.to_owned(),
            absent,
            ..Self::default()
        }
    }

    /// Records one turn.
    pub(crate) fn add(&mut self, sample: &Sample) {
        // JSON cannot represent NaN.
        let finite = sample.figures.iter().filter(|(_, f)| f.is_finite());
        for (key, figure) in finite {
            self.figures.entry(key.clone()).or_default().push(*figure);
        }
        if sample.cpu_seconds > 0.0 {
            self.cpu_seconds.push(sample.cpu_seconds);
        }
        if sample.peak_bytes > 0.0 {
            self.peak_bytes.push(sample.peak_bytes);
        }
    }

    /// Discards the figures.
    pub(crate) fn scores_nothing(&mut self, reason: String) {
        *self = Self::new(&self.name, Some(reason));
    }

    /// Returns the median of a row.
    pub(crate) fn figure(&self, key: &str) -> Option<f64> {
        self.figures.get(key).and_then(|figures| median(figures))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDER: [&str; 3] = ["a", "b", "c"];

    fn section(case: &str, quick: bool, seconds: f64) -> Section {
        Section {
            quick,
            seconds,
            ..Section::new(case, "", "")
        }
    }

    fn merged(sections: Vec<Section>) -> Vec<(String, bool, f64)> {
        let mut results = Results::default();
        for section in sections {
            results.merge(section, &ORDER);
        }
        let sections = results.sections.into_iter();
        sections.map(|s| (s.case, s.quick, s.seconds)).collect()
    }

    #[test]
    fn a_run_of_one_case_keeps_the_others_in_order() {
        let found = merged(vec![
            section("c", false, 1.0),
            section("a", false, 1.0),
            section("b", false, 1.0),
            section("a", false, 2.0),
        ]);
        let names: Vec<_> = found
            .iter()
            .map(|(name, _, s)| (name.as_str(), *s))
            .collect();
        assert_eq!(names, [("a", 2.0), ("b", 1.0), ("c", 1.0)]);
    }

    #[test]
    fn a_quick_run_does_not_replace_a_full_one() {
        let found = merged(vec![
            section("a", false, 1.0),
            section("a", true, 2.0),
            section("b", true, 3.0),
            section("a", true, 4.0),
        ]);
        assert_eq!(
            found,
            [
                ("a".into(), false, 1.0),
                ("a".into(), true, 4.0),
                ("b".into(), true, 3.0)
            ]
        );
    }

    #[test]
    fn a_full_run_replaces_the_quick_one() {
        let found = merged(vec![section("a", true, 1.0), section("a", false, 2.0)]);
        assert_eq!(found, [("a".into(), false, 2.0)]);
    }

    #[test]
    fn results_survive_being_written() {
        let file =
            std::env::temp_dir().join(format!("kubewright-bench-test-{}", std::process::id()));
        assert!(Results::load(&file).unwrap().sections.is_empty());
        let mut results = Results::default();
        let mut kept = section("a", false, 1.5);
        kept.outcomes.push(Outcome::new("ours", None));
        results.merge(kept, &ORDER);
        results.save(&file).unwrap();
        let read = Results::load(&file).unwrap();
        fs::remove_file(&file).unwrap();
        assert_eq!(format!("{read:?}"), format!("{results:?}"));
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }
}
