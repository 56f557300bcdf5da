//! Small ConfigMaps, created as fast as the server accepts them.

use std::{cell::Cell, rc::Rc, time::Duration};

use super::{
    Bench, Case, millis,
    servers::{
        self, CONNECTIONS, HTTP2, IN_PROTOBUF, PEER, PROTOBUF_HTTP2, Servers, USUAL, VALUE_BYTES,
        WARM_UP, Way,
    },
};
use crate::{
    contest::Sample,
    load::Load,
    requests::{self, JSON},
    results::Section,
    rows::Row,
};

pub(crate) const CASE: Case = Case {
    name: "create",
    title: "small ConfigMaps over 32 connections",
    what: "POSTs ConfigMaps with one value of 512 bytes over TLS; each of 32 connections sends as soon as it is answered: in JSON \
           and in protobuf, which is also the form of the answer, by HTTP/1.1 and by HTTP/2. Afterwards the server must have as \
           many objects as it said it created.",
    run,
};

/// The ways besides the usual one.
const WAYS: [Way; 3] = [HTTP2, IN_PROTOBUF, PROTOBUF_HTTP2];

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![
        Row::rate("rate", "created", "/s")
            .at_least(16_000.0)
            .better(10.0, PEER),
        Row::cost("p50", "median", "ms"),
        Row::cost("p99", "99 of 100 within", "ms"),
        Row::cost("processor", "server's processor time for one", "µs"),
        Row::cost("single", "1 connection, median", "ms"),
    ];
    for way in WAYS {
        let times = if way.media_type == JSON { 10.0 } else { 12.0 };
        let rows = way.rows("created", |row| row.better(times, PEER));
        section.rows.extend(rows);
    }
    let time = Duration::from_millis(bench.size(2000, 800));
    let rounds = (Servers::Kept, bench.rounds(3));
    servers::contest(
        bench,
        section,
        rounds,
        async |_| Ok(()),
        async |endpoint, ()| {
            let namespace = servers::namespace(endpoint).await?;
            let path = requests::config_maps(&namespace);
            let next = Rc::new(Cell::new(0));
            let body = requests::config_map(VALUE_BYTES);
            let load = |way: Way, connections, time| {
                let next = next.clone();
                anyhow::Ok(Load {
                    endpoint,
                    connections,
                    request: way.request(endpoint, "POST", &path, &body)?,
                    status: 201,
                    numbers: Rc::new(move || Some(next.replace(next.get() + 1))),
                    warm_up: WARM_UP,
                    time,
                })
            };
            let mut sample = Sample::default();
            let many = load(USUAL, CONNECTIONS, time)?.run().await?;
            servers::note(&mut sample, &many);
            let single = load(USUAL, 1, time / 2)?.run().await?;
            let half = millis(single.percentile(50));
            sample.figures.insert("single".to_owned(), half);
            for way in WAYS {
                let outcome = load(way, CONNECTIONS, time / 2)?.run().await?;
                way.note(&mut sample, &outcome);
            }
            servers::check_count(endpoint, &path, next.get()).await?;
            Ok(sample)
        },
    );
    Ok(())
}
