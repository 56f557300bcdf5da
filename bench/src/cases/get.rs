//! ConfigMaps, read one at a time.

use std::time::Duration;

use super::{
    Bench, Case, millis,
    servers::{
        self, CONNECTIONS, HTTP2, IN_PROTOBUF, PEER, PROTOBUF_HTTP2, Servers, USUAL, VALUE_BYTES,
        WARM_UP, Way,
    },
};
use crate::{
    contest::Sample,
    load::{Load, scattered},
    requests::{self, JSON},
    results::Section,
    rows::Row,
};

pub(crate) const CASE: Case = Case {
    name: "get",
    title: "one of 1,000 ConfigMaps over 32 connections",
    what: "GETs one of 1,000 ConfigMaps of 512 bytes over TLS, in random order: in JSON and in protobuf, by HTTP/1.1 and by \
           HTTP/2. Every answer is a 200.",
    run,
};

/// The number of ConfigMaps.
const OBJECTS: u64 = 1000;

/// The ways besides the usual one.
const WAYS: [Way; 3] = [HTTP2, IN_PROTOBUF, PROTOBUF_HTTP2];

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![
        Row::rate("rate", "read", "/s")
            .at_least(40_000.0)
            .better(14.0, PEER),
        Row::cost("p50", "median", "ms"),
        Row::cost("p99", "99 of 100 within", "ms"),
        Row::cost("processor", "server's processor time for one", "µs"),
        Row::cost("single", "1 connection, median", "ms"),
    ];
    for way in WAYS {
        let times = if way.media_type == JSON { 14.0 } else { 12.0 };
        let rows = way.rows("read", |row| row.better(times, PEER));
        section.rows.extend(rows);
    }
    let time = Duration::from_millis(bench.size(2000, 800));
    let rounds = (Servers::Kept, bench.rounds(3));
    servers::contest(
        bench,
        section,
        rounds,
        async |server| {
            let namespace = servers::namespace(&server.endpoint).await?;
            servers::fill(&server.endpoint, &namespace, OBJECTS, VALUE_BYTES).await?;
            let path = requests::config_maps(&namespace);
            servers::check_count(&server.endpoint, &path, OBJECTS).await?;
            Ok(format!("{path}/{}", requests::hole()))
        },
        async |endpoint, path| {
            let load = |way: Way, connections, time| {
                anyhow::Ok(Load {
                    endpoint,
                    connections,
                    request: way.request(endpoint, "GET", path, "")?,
                    status: 200,
                    numbers: scattered(OBJECTS),
                    warm_up: WARM_UP,
                    time,
                })
            };
            let mut sample = Sample::default();
            let many = load(USUAL, CONNECTIONS, time)?.run().await?;
            servers::note(&mut sample, &many);
            for way in WAYS {
                let outcome = load(way, CONNECTIONS, time / 2)?.run().await?;
                way.note(&mut sample, &outcome);
            }
            let single = load(USUAL, 1, time / 2)?.run().await?;
            let half = millis(single.percentile(50));
            sample.figures.insert("single".to_owned(), half);
            Ok(sample)
        },
    );
    Ok(())
}
