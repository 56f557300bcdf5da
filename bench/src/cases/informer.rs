//! A cache of pods compared with the peers': sync, memory, typed reads, and throughput of changes.

use std::time::Duration;

use super::{Bench, Case, OURS};
use crate::{
    contest::{Contestant, Digests},
    peer::Peer,
    replay::{Replay, corpus},
    results::Section,
    roles::{self, informer::Work},
    rows::Row,
};

pub(crate) const CASE: Case = Case {
    name: "informer",
    title: "a cache of 50,000 pods",
    what: "Fills a cache with pods of 6.9 KB JSON (4.3 KB protobuf) from a replayed server, over plain HTTP, by list and watch, with \
           one handler; then takes a change of every pod by watch. Each contestant is a process of its own, and processor time is \
           that of the process. Memory per pod is live heap after a collection for Go and growth of resident memory for Rust. \
           Ours and the dynamic client keep what they need to make values of any type; the row «read once as a typed value» adds \
           decoding every object to ours. Key, uid and version of every object are checked after the list and after the \
           changes. «Reading alone» reads the same bytes and forgets them: the limit.",
    run,
};

const JSON: &str = "client-go JSON";
const PROTOBUF: &str = "client-go protobuf";
const DYNAMIC: &str = "client-go dynamic";
const CONTROLLER_RUNTIME: &str = "controller-runtime cache";
const KUBE_RS: &str = "kube-rs reflector";

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    let pods: u64 = bench.size(50_000, 2000);
    let events = pods;
    let limit = Duration::from_secs(bench.size(240, 60));
    section.rows = vec![
        Row::cost("sync_cpu_seconds", "list, processor time", "s")
            .at_most(0.45)
            .better(10.0, JSON)
            .better(10.0, KUBE_RS)
            .better(3.0, PROTOBUF),
        Row::cost(
            "typed_cpu_seconds",
            "list and every object read once as a typed value, processor time",
            "s",
        )
        .better(3.0, PROTOBUF),
        Row::rate(
            "events_per_cpu_second",
            "changes by watch",
            "per processor second",
        )
        .at_least(60_000.0),
        Row::cost("heap_per_pod", "memory per pod", "B"),
        Row::cost(
            "over_json_per_pod",
            "memory per pod over its JSON without managedFields",
            "B",
        )
        .at_most(600.0),
        Row::cost(
            "peak_to_steady",
            "peak during the list over steady memory",
            "times",
        )
        .at_most(1.2),
        Row::cost(
            "sync_peak",
            "peak memory of the process at the end of the list",
            "MB",
        ),
    ];
    let replay = Replay::start()?;
    let expected = Digests::from([
        ("sync".to_owned(), corpus::expected(pods, 0)),
        ("watch".to_owned(), corpus::expected(pods, events)),
    ]);
    let ours = roles::contestant(OURS, "informer", limit, || {
        let work = Work {
            url: replay.run(pods, events, false),
            pods,
            events,
            handlers: 1,
            typed: true,
            ..Work::default()
        };
        Ok(serde_json::to_string(&work)?)
    });
    let arguments = |mode: &'static str| {
        let replay = &replay;
        move || {
            let url = replay.run(pods, events, false);
            let mut arguments = vec![url, pods.to_string(), events.to_string()];
            arguments.extend((!mode.is_empty()).then(|| mode.to_owned()));
            arguments
        }
    };
    let peer = |name, peer, mode| bench.peers.contestant(name, peer, limit, arguments(mode));
    let go = Peer::Go("informer");
    let reading = roles::contestant("reading alone", "reading", limit, || {
        let url = replay.run(pods, events, false);
        Ok(serde_json::json!({"url": url, "events": events}).to_string())
    });
    let contestants: Vec<Contestant<'_>> = vec![
        ours,
        peer(PROTOBUF, go, "protobuf"),
        peer(CONTROLLER_RUNTIME, go, "controller-runtime"),
        peer(KUBE_RS, Peer::KubeRs, ""),
        peer(JSON, go, "json"),
        // A list alone takes half a minute.
        peer(DYNAMIC, go, "dynamic").once(),
        reading.showing(Digests::new()),
    ];
    crate::contest::hold(section, bench.rounds(3), &expected, contestants);
    derive(section);
    section.notes.push(format!(
        "{DYNAMIC} takes one turn only, as a turn of it takes longer than those of all others together."
    ));
    Ok(())
}

/// Derives rows: peers that decode everything have read it typed when they have listed it.
fn derive(section: &mut Section) {
    for outcome in &mut section.outcomes {
        let of = |key: &str| outcome.figures.get(key).cloned();
        let typed = [JSON, PROTOBUF, CONTROLLER_RUNTIME, KUBE_RS].contains(&outcome.name.as_str());
        let typed = of("sync_cpu_seconds").filter(|_| typed);
        let peak = of("sync_peak_bytes").map(|bytes| bytes.iter().map(|b| b / 1e6).collect());
        let derived = [("typed_cpu_seconds", typed), ("sync_peak", peak)];
        for (key, figures) in derived {
            let figures = figures.map(|figures| (key.to_owned(), figures));
            outcome.figures.extend(figures);
        }
    }
    let json = section
        .outcomes
        .first()
        .and_then(|ours| ours.figure("json_per_pod"));
    if let (Some(json), Some(row)) = (
        json,
        section
            .rows
            .iter_mut()
            .find(|row| row.key == "heap_per_pod"),
    ) {
        // The objects are kept as received, without managedFields.
        *row = row.clone().limit(json);
    }
}
