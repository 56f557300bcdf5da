//! What came of it.

use std::fmt;

use super::Perturbation;

/// What came of running a story under perturbations.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// How often the program wrote in the undisturbed run.
    pub writes: usize,
    /// How many steps the story has.
    pub steps: usize,
    /// What the program survived.
    pub survived: Vec<Perturbation>,
    /// Those of them that never came to strike: the run went another way before.
    pub missed: Vec<Perturbation>,
    /// What it did not survive.
    pub failures: Vec<Failure>,
}

/// A run that did not end as it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What went wrong; `None` if nothing did, and it failed all the same.
    pub perturbation: Option<Perturbation>,
    /// How the end differs from that of the undisturbed run, or why there was none.
    pub reason: String,
}

impl Report {
    /// Whether the program survived everything.
    pub fn is_success(&self) -> bool {
        self.failures.is_empty()
    }

    pub(super) fn measured(&mut self, writes: usize, steps: usize) {
        self.writes = writes;
        self.steps = steps;
    }

    pub(super) fn survived(&mut self, perturbation: Perturbation, struck: bool) {
        self.survived.push(perturbation);
        if !struck {
            self.missed.push(perturbation);
        }
    }

    pub(super) fn failed(&mut self, perturbation: Option<Perturbation>, reason: String) {
        self.failures.push(Failure {
            perturbation,
            reason,
        });
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (survived, failed) = (self.survived.len(), self.failures.len());
        let (writes, steps) = (self.writes, self.steps);
        write!(
            f,
            "{survived} perturbations survived, {failed} not ({writes} writes, {steps} steps)"
        )?;
        for failure in &self.failures {
            write!(f, "\n{failure}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.perturbation {
            None => write!(f, "- undisturbed: {}", self.reason),
            Some(perturbation) => write!(
                f,
                "- {perturbation}: {}\n  reproduce it with .only(Perturbation::{perturbation:?})",
                self.reason
            ),
        }
    }
}
