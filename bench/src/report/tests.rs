//! Tests of the document with made-up results.

use super::*;
use crate::{machine::Machine, rows::Row};

fn outcome(name: &str, figures: &[f64]) -> Outcome {
    let mut outcome = Outcome::new(name, None);
    outcome.figures.insert("time".to_owned(), figures.to_vec());
    outcome.cpu_seconds = vec![1.5];
    outcome.peak_bytes = vec![2e6, 4e6];
    outcome
}

fn contest() -> Section {
    Section {
        taken: "2026-01-02".to_owned(),
        rounds: 3,
        seconds: 12.3,
        rows: vec![
            Row::cost("time", "sync", "s")
                .at_most(2.0)
                .better(10.0, "peer")
                .limit(0.5),
        ],
        outcomes: vec![outcome("ours", &[1.0, 3.0, 2.0]), outcome("peer", &[10.0])],
        ..Section::new("informer", "a cache", "What it does.")
    }
}

fn of(sections: Vec<Section>) -> Results {
    Results { sections }
}

#[test]
fn a_row_has_median_spread_ratio_limit_target_and_verdict() {
    let text = document(&of(vec![contest()]));
    let row = "| sync, s | 2 (1–3) | 10 **5x** | 0.500 | ≤ 2; 10x peer | yes; **no** |\n";
    assert!(text.contains(row), "{text}");
    assert!(text.contains(
        "|  | ours | peer | limit | target | met |\n| --- | --: | --: | --: | --- | --- |\n"
    ));
    assert!(text.contains("| processor time in all, s | 1.50 | 1.50 |  |  |  |\n"));
    assert!(text.contains("| peak memory, MB | 3 (2–4) | 3 (2–4) |  |  |  |\n"));
    assert!(text.contains("2026-01-02, 3 rounds, 12 s."));
}

#[test]
fn the_summary_counts_targets_and_names_the_missed() {
    let mut open = contest();
    open.outcomes[1] = Outcome::new("peer", Some("not given".to_owned()));
    open.case = "other".to_owned();
    let text = document(&of(vec![contest(), open]));
    assert!(text.contains(
        "**Targets: 2 of 4 met, 1 not measured**. Missed:\n\n- informer: sync 10x peer\n"
    ));
}

#[test]
fn absent_peers_are_named_and_have_no_column() {
    let mut section = contest();
    section.outcomes[1] = Outcome::new("peer", Some("go is not\ninstalled".to_owned()));
    section.outcomes.push(Outcome::new(
        "lossy",
        Some("scores nothing: lost one".to_owned()),
    ));
    let text = document(&of(vec![section]));
    assert!(text.contains("- **peer** absent: go is not installed\n"));
    assert!(text.contains("- **lossy** scores nothing: lost one\n"));
    assert!(text.contains("|  | ours | limit | target | met |"));
}

#[test]
fn when_ours_is_absent_nothing_is_compared() {
    let mut section = contest();
    section.outcomes[0] = Outcome::new("ours", Some("broke".to_owned()));
    let text = document(&of(vec![section]));
    assert!(text.contains("| sync, s | 10 | 0.500 | ≤ 2; 10x peer | not measured; not measured |"));
}

#[test]
fn a_case_that_broke_off_says_so() {
    let section = Section {
        broken: Some("no server".to_owned()),
        ..Section::new("create", "objects", "")
    };
    assert!(document(&of(vec![section])).contains("**Broke off**: no server"));
}

#[test]
fn quick_sections_stand_apart_and_are_not_checked() {
    let quick = Section {
        quick: true,
        ..contest()
    };
    let text = document(&of(vec![quick]));
    assert!(text.contains("# Quick runs"));
    assert!(!text.contains("**Targets"));
}

#[test]
fn a_section_from_another_machine_says_so() {
    let mut old = contest();
    old.taken = "2025-01-01".to_owned();
    old.machine = Machine {
        processor: "slow".to_owned(),
        ..Machine::default()
    };
    let text = document(&of(vec![old, contest()]));
    assert_eq!(text.matches("On another machine: slow").count(), 1);
}
