//! The work queue compared with those of client-go and controller-runtime.

use std::time::Duration;

use super::{Bench, Case, OURS};
use crate::{
    contest::{Digests, hold},
    peer::Peer,
    results::Section,
    roles,
    rows::Row,
};

pub(crate) const CASE: Case = Case {
    name: "workqueue",
    title: "nanoseconds for one item",
    what: "Items are added, taken and done: one after the other, a hundred at a time, with a million queued, by a thousand waiting \
           workers on all processors, and with a delay. Wall-clock time; of rounds with few items the best of 20. The sum of the \
           items taken is checked.",
    run,
};

const CLIENT_GO: &str = "client-go";
const PRIORITY: &str = "controller-runtime priority queue";

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    let short: u64 = bench.size(20_000, 2000);
    let many: u64 = bench.size(1_000_000, 20_000);
    let both = |key, label, times| {
        Row::cost(key, label, "ns")
            .at_most(80.0)
            .better(times, CLIENT_GO)
            .better(5.0, PRIORITY)
    };
    section.rows = vec![
        both("one_by_one", "add, get, done", 2.0),
        both("by_hundreds", "add, get, done, 100 at a time", 2.0),
        both("fill_and_empty", "fill with 1M items, then empty", 3.0),
        both("with_many_queued", "add, get, done with 1M queued", 3.0),
        both("many_workers", "1M items, 1,000 waiting workers", 3.0),
        Row::cost("delayed_add", "add with a delay", "ns").better(5.0, CLIENT_GO),
        Row::cost("delayed_due", "add with a delay, due, get, done", "ns").better(5.0, CLIENT_GO),
    ];
    let sum = |count: u64| (0..count).sum::<u64>();
    let expected: Digests = [
        ("one_by_one", (0..short).map(|n| n % 100).sum()),
        ("by_hundreds", sum(short)),
        ("fill_and_empty", sum(many)),
        ("with_many_queued", sum(many)),
        ("many_workers", sum(many)),
        ("delayed_due", sum(short)),
        ("delayed_add", 0),
    ]
    .map(|(key, sum)| (key.to_owned(), format!("{sum:016x}")))
    .into();
    let limit = Duration::from_secs(bench.size(120, 60));
    let ours = roles::contestant(OURS, "workqueue", limit, || {
        Ok(serde_json::json!({"short": short, "many": many}).to_string())
    });
    let peer = |name, queue: &'static str| {
        let arguments = move || vec![queue.to_owned(), short.to_string(), many.to_string()];
        bench
            .peers
            .contestant(name, Peer::Go("workqueue"), limit, arguments)
    };
    let contestants = vec![
        ours,
        peer(CLIENT_GO, "client-go"),
        peer(PRIORITY, "priority-queue"),
    ];
    hold(section, bench.rounds(3), &expected, contestants);
    Ok(())
}
