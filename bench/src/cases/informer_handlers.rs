//! One handler compared with a hundred: the work of the cache is done once.

use std::time::Duration;

use super::{Bench, Case};
use crate::{
    contest::{Digests, hold},
    replay::{Replay, corpus},
    results::Section,
    roles::{self, informer::Work},
    rows::Row,
};

pub(crate) const CASE: Case = Case {
    name: "informer-handlers",
    title: "changes delivered to 1 and to 100 handlers",
    what: "Ours alone: 100,000 changes of 1,000 pods by watch. Every handler hears of every change.",
    run,
};

const ONE: &str = "1 handler";
const HUNDRED: &str = "100 handlers";

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    let (pods, events) = (1000, bench.size(100_000, 5000));
    section.rows = vec![
        Row::rate("events_per_cpu_second", "changes", "per processor second").at_least(60_000.0),
        Row::cost("cpu_micros_per_event", "processor time per change", "µs")
            .at_most_times(HUNDRED, 2.0, ONE),
    ];
    let replay = Replay::start()?;
    let digest = corpus::expected(pods, events);
    let expected: Digests = [("watch".to_owned(), digest)].into();
    let with = |name, handlers| {
        let replay = &replay;
        roles::contestant(name, "informer", Duration::from_secs(120), move || {
            let work = Work {
                url: replay.run(pods, events, false),
                pods,
                events,
                handlers,
                ..Work::default()
            };
            Ok(serde_json::to_string(&work)?)
        })
    };
    let contestants = vec![with(ONE, 1), with(HUNDRED, 100)];
    hold(section, bench.rounds(3), &expected, contestants);
    Ok(())
}
