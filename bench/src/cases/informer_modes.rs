//! The modes of our cache: list, WatchList, compressed.

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
    name: "informer-modes",
    title: "list, WatchList, compressed",
    what: "Ours alone, 50,000 pods without handlers, filled by list, by WatchList, and by list with compression.",
    run,
};

const COMPRESSED: &str = "compressed";

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    let pods: u64 = bench.size(50_000, 2000);
    section.rows = vec![
        Row::cost("sync_cpu_micros_per_pod", "processor time per pod", "µs"),
        Row::cost("resident_per_pod", "memory per pod", "B").at_most_for(COMPRESSED, 2500.0),
        Row::cost("peak_to_steady", "peak over steady memory", "times")
            .at_most(1.2)
            .at_most_for("WatchList", 1.2)
            .at_most_for(COMPRESSED, 1.2),
        Row::cost("lookup_micros", "lookup by an index", "µs"),
    ];
    let replay = Replay::start()?;
    let digest = corpus::expected(pods, 0);
    let expected: Digests = [("sync".to_owned(), digest)].into();
    let mode = |name, watch_list, compressed| {
        let replay = &replay;
        roles::contestant(name, "informer", Duration::from_secs(120), move || {
            let work = Work {
                url: replay.run(pods, 0, false),
                pods,
                watch_list,
                compressed,
                ..Work::default()
            };
            Ok(serde_json::to_string(&work)?)
        })
    };
    let contestants = vec![
        mode("list", false, false),
        mode("WatchList", true, false),
        mode(COMPRESSED, false, true),
    ];
    hold(section, bench.rounds(3), &expected, contestants);
    Ok(())
}
