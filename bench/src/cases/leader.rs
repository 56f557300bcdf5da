//! The time without a leader when a leader stops gracefully.

use std::time::Duration;

use kubewright_bench_operator::{Mode, Work};

use super::{Bench, Case, controllers, servers};
use crate::{contest::Digests, results::Section, rows::Row};

pub(crate) const CASE: Case = Case {
    name: "leader",
    title: "graceful hand-over of leadership",
    what: "Two managers of one process compete for a Lease with the usual times (15 s, 10 s, 2 s), and give it back at the end. The one \
           that leads is asked to stop: the time until the other has started what needs to lead. Again and again, at different \
           moments between two renewals; the median, and the longest. Never may both lead.",
    run,
};

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![
        Row::cost("hand_over", "hand-over", "ms").at_most(100.0),
        Row::cost("hand_over_longest", "the longest", "ms"),
    ];
    let work = Work {
        mode: Mode::Leader,
        hand_overs: bench.size(7, 2),
        ..Work::default()
    };
    let expected = Digests::from([("leaders at once".to_owned(), "1".to_owned())]);
    let rounds = (bench.rounds(2), Duration::from_secs(120));
    controllers::contest(bench, section, rounds, &expected, |server, program| {
        let namespace = servers::in_time(servers::namespace(&server.endpoint))?;
        program(Work {
            namespace,
            ..work.clone()
        })?
        .run()
    });
    Ok(())
}
