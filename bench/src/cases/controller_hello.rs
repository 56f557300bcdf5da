//! The resources of the smallest controller.

use super::{Bench, Case, controller_idle::idle};
use crate::{results::Section, rows::Row};

pub(crate) const CASE: Case = Case {
    name: "controller-hello",
    title: "the smallest controller",
    what: "A manager with one controller for ConfigMaps, of which there are ten, with leader election, metrics and health: resident \
           memory some seconds after the start, when nothing happens.",
    run,
};

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![
        Row::cost("resident_megabytes", "memory", "MB").at_most(12.0),
        Row::cost("idle_percent", "of one processor", "%"),
    ];
    idle(bench, section, 10, bench.size(10_000, 2000));
    Ok(())
}
