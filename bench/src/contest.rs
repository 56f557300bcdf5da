//! Rounds in which ours and the peers take turns, so that other load on the machine affects all of them.
//!
//! The figures of a contestant that fails, or that does not have exactly the objects that were sent, are discarded, and
//! the section gives the reason.

use std::collections::BTreeMap;

pub(crate) use kubewright_bench_operator::Sample;

use crate::results::{Outcome, Section};

/// The expected digests by the name of the point. A contestant must show them all.
pub(crate) type Digests = BTreeMap<String, String>;

type Turn<'a> = Box<dyn FnMut() -> anyhow::Result<Sample> + 'a>;

/// A contestant.
pub(crate) struct Contestant<'a> {
    name: String,
    turn: Result<Turn<'a>, String>,
    /// Takes only one turn, since a turn is long.
    once: bool,
    /// The expected digests, if they differ from those of the contest.
    digests: Option<Digests>,
}

impl<'a> Contestant<'a> {
    pub(crate) fn new(
        name: impl Into<String>,
        turn: impl FnMut() -> anyhow::Result<Sample> + 'a,
    ) -> Self {
        Self {
            name: name.into(),
            turn: Ok(Box::new(turn)),
            once: false,
            digests: None,
        }
    }

    /// Returns a contestant that cannot take part.
    pub(crate) fn absent(name: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            turn: Err(reason.into()),
            once: false,
            digests: None,
        }
    }

    /// Limits the contestant to one turn.
    pub(crate) fn once(self) -> Self {
        Self { once: true, ..self }
    }

    /// Sets the expected digests; none if it keeps no objects.
    pub(crate) fn showing(self, digests: Digests) -> Self {
        Self {
            digests: Some(digests),
            ..self
        }
    }
}

/// Lets the contestants take turns and records their figures. Ours comes first.
pub(crate) fn hold(
    section: &mut Section,
    rounds: usize,
    expected: &Digests,
    contestants: Vec<Contestant<'_>>,
) {
    section.rounds = rounds;
    let mut outcomes: Vec<Outcome> = contestants
        .iter()
        .map(|contestant| Outcome::new(&contestant.name, contestant.turn.as_ref().err().cloned()))
        .collect();
    let mut contestants = contestants;
    for round in 0..rounds {
        for (contestant, outcome) in contestants.iter_mut().zip(&mut outcomes) {
            let Ok(turn) = &mut contestant.turn else {
                continue;
            };
            if outcome.absent.is_some() || (contestant.once && round > 0) {
                continue;
            }
            eprintln!("  round {} of {rounds}: {}", round + 1, contestant.name);
            let expected = contestant.digests.as_ref().unwrap_or(expected);
            match turn().and_then(|sample| checked(sample, expected)) {
                Ok(sample) => {
                    section.versions.extend(sample.versions.clone());
                    outcome.add(&sample);
                }
                Err(error) => {
                    let reason = format!("{error:#}");
                    eprintln!("    {reason}");
                    outcome.scores_nothing(reason);
                }
            }
        }
    }
    section.outcomes.extend(outcomes);
}

/// Returns the sample if its digests are right.
fn checked(sample: Sample, expected: &Digests) -> anyhow::Result<Sample> {
    for (point, digest) in expected {
        let found = sample.digests.get(point).map_or("none", String::as_str);
        anyhow::ensure!(
            found == digest,
            "scores nothing: its digest after {point} is {found}, not {digest}; an object is lost or wrong"
        );
    }
    Ok(sample)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn sample(figure: f64, digest: &str) -> Sample {
        Sample {
            figures: [("time".to_owned(), figure)].into(),
            digests: [("sync".to_owned(), digest.to_owned())].into(),
            ..Sample::default()
        }
    }

    fn held(rounds: usize, contestants: Vec<Contestant<'_>>) -> Section {
        let mut section = Section::new("x", "", "");
        let expected = [("sync".to_owned(), "a".to_owned())].into();
        hold(&mut section, rounds, &expected, contestants);
        section
    }

    #[test]
    fn contestants_take_turns() {
        let order = RefCell::new(String::new());
        let turn = |name: char| {
            let order = &order;
            move || {
                order.borrow_mut().push(name);
                Ok(sample(1.0, "a"))
            }
        };
        held(
            3,
            vec![
                Contestant::new("ours", turn('o')),
                Contestant::new("slow", turn('s')).once(),
                Contestant::new("peer", turn('p')),
            ],
        );
        assert_eq!(order.into_inner(), "ospopop");
    }

    #[test]
    fn losing_an_object_scores_nothing() {
        let mut turns = 0;
        let section = held(
            3,
            vec![Contestant::new("ours", || {
                turns += 1;
                Ok(sample(1.0, if turns == 2 { "b" } else { "a" }))
            })],
        );
        let outcome = &section.outcomes[0];
        assert!(outcome.absent.as_ref().unwrap().contains("scores nothing"));
        assert!(outcome.figures.is_empty());
        assert_eq!(turns, 2);
    }

    #[test]
    fn a_peer_that_fails_is_named_and_the_others_continue() {
        let section = held(
            2,
            vec![
                Contestant::new("ours", || Ok(sample(1.0, "a"))),
                Contestant::new("peer", || anyhow::bail!("killed")),
                Contestant::absent("other", "not given"),
            ],
        );
        let absent: Vec<_> = section.outcomes.iter().map(|o| o.absent.clone()).collect();
        assert_eq!(
            absent,
            [None, Some("killed".into()), Some("not given".into())]
        );
        assert_eq!(section.outcomes[0].figures["time"], [1.0, 1.0]);
    }
}
