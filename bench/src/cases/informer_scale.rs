//! Our cache with 10,000, 50,000 and 200,000 pods: the cost of a pod must not grow.

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
    name: "informer-scale",
    title: "cost of a pod in a cache of 10,000, 50,000 and 200,000",
    what: "Ours alone, without handlers: the list, everything listed again after a 410, and 100,000 lookups by an index of uids. The \
           columns are compared with the first. A lookup among more objects touches more memory than the processor caches; what \
           grows with their number would take a hundred times as long.",
    run,
};

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    let sizes: &[u64] = bench.size(&[10_000, 50_000, 200_000], &[1000, 2000, 4000]);
    let name = |pods: u64| format!("{}k pods", pods / 1000);
    let names: Vec<String> = sizes.iter().map(|pods| name(*pods)).collect();
    let same = |row: Row, times: f64| {
        let larger = names.iter().skip(1);
        larger.fold(row, |row, name| row.at_most_times(name, times, &names[0]))
    };
    let all = |row: Row, most: f64| {
        let each = names.iter();
        each.fold(row, |row, name| row.at_most_for(name, most))
    };
    section.rows = vec![
        same(
            Row::cost(
                "sync_cpu_micros_per_pod",
                "list, processor time per pod",
                "µs",
            ),
            1.2,
        ),
        all(
            Row::cost(
                "over_json_per_pod",
                "memory per pod over its JSON without managedFields",
                "B",
            ),
            600.0,
        ),
        all(
            Row::cost(
                "peak_to_steady",
                "peak during the list over steady memory",
                "times",
            ),
            1.2,
        ),
        all(
            Row::cost(
                "relist_peak_to_steady",
                "peak while everything is listed again over steady memory",
                "times",
            ),
            1.2,
        ),
        all(Row::cost("lookup_micros", "lookup by an index", "µs"), 10.0),
    ];
    let replay = Replay::start()?;
    let of = |(pods, name): (&u64, &String)| {
        let (pods, replay) = (*pods, &replay);
        let digest = corpus::expected(pods, 0);
        let points = ["sync", "watch"].map(|point| (point.to_owned(), digest.clone()));
        let contestant = roles::contestant(name, "informer", Duration::from_secs(180), move || {
            let work = Work {
                url: replay.run(pods, 0, true),
                pods,
                relist: true,
                ..Work::default()
            };
            Ok(serde_json::to_string(&work)?)
        });
        contestant.showing(points.into())
    };
    let contestants = sizes.iter().zip(&names).map(of).collect();
    hold(section, bench.rounds(2), &Digests::new(), contestants);
    Ok(())
}
