//! Small ConfigMaps, created as fast as the server accepts them.

use std::{cell::Cell, rc::Rc, time::Duration};

use super::{
    Bench, Case, millis,
    servers::{self, CONNECTIONS, Servers, VALUE_BYTES, WARM_UP},
};
use crate::{
    contest::Sample,
    load::Load,
    requests::{self, Template},
    results::Section,
    rows::Row,
};

pub(crate) const CASE: Case = Case {
    name: "create",
    title: "small ConfigMaps over 32 connections",
    what: "POSTs ConfigMaps with one value of 512 bytes over TLS; each of 32 connections sends as soon as it is answered. \
           Afterwards the server must have as many objects as it said it created.",
    run,
};

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![
        Row::rate("rate", "created", "/s").at_least(15_000.0),
        Row::cost("p50", "median", "ms"),
        Row::cost("p99", "99 of 100 within", "ms"),
        Row::cost("processor", "server's processor time for one", "µs"),
        Row::cost("single", "1 connection, median", "ms"),
    ];
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
            let load = |connections, time| {
                let next = next.clone();
                let body = requests::config_map(VALUE_BYTES);
                Load {
                    endpoint,
                    connections,
                    request: Template::new(endpoint, "POST", &path, &body),
                    status: 201,
                    numbers: Rc::new(move || Some(next.replace(next.get() + 1))),
                    warm_up: WARM_UP,
                    time,
                }
            };
            let mut sample = Sample::default();
            let many = load(CONNECTIONS, time).run().await?;
            servers::note(&mut sample, &many);
            let single = load(1, time / 2).run().await?;
            let half = millis(single.percentile(50));
            sample.figures.insert("single".to_owned(), half);
            servers::check_count(endpoint, &path, next.get()).await?;
            Ok(sample)
        },
    );
    Ok(())
}
