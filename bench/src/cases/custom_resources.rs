//! Custom objects of 4 KB with a schema and three CEL rules, created as fast as the server accepts them.

use std::{cell::Cell, rc::Rc, time::Duration};

use super::{
    Bench, Case, custom_definitions,
    servers::{self, CONNECTIONS, HTTP2, PEER, Servers, USUAL, WARM_UP, Way},
    widgets,
};
use crate::{contest::Sample, load::Load, requests, results::Section, rows::Row};

pub(crate) const CASE: Case = Case {
    name: "custom-resources",
    title: "custom objects of 4 KB with schema and three CEL rules over 32 connections",
    what: "POSTs custom objects of about 4 KB over TLS, 32 connections, by HTTP/1.1 and by HTTP/2. Their definition has a structural schema with defaults and \
           three rules in CEL. Afterwards the server must have as many objects as it said it created.",
    run,
};

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![
        Row::rate("rate", "created", "/s")
            .at_least(9000.0)
            .better(8.0, PEER),
        Row::cost("p50", "median", "ms"),
        Row::cost("p99", "99 of 100 within", "ms"),
        Row::cost("processor", "server's processor time for one", "µs"),
    ];
    let rows = HTTP2.rows("created", |row| row.at_least(9000.0).better(8.0, PEER));
    section.rows.extend(rows);
    let time = Duration::from_millis(bench.size(2000, 800));
    let rounds = (Servers::Kept, bench.rounds(3));
    servers::contest(
        bench,
        section,
        rounds,
        async |server| {
            let endpoint = &server.endpoint;
            custom_definitions::define(endpoint, 0).await?;
            custom_definitions::accepted(endpoint, 0, "default").await
        },
        async |endpoint, ()| {
            let namespace = servers::namespace(endpoint).await?;
            let path = widgets::path(0, &namespace);
            let next = Rc::new(Cell::new(0));
            let body = widgets::object(0, &requests::hole());
            let load = |way: Way, time| {
                let next = next.clone();
                anyhow::Ok(Load {
                    endpoint,
                    connections: CONNECTIONS,
                    request: way.request(endpoint, "POST", &path, &body)?,
                    status: 201,
                    numbers: Rc::new(move || Some(next.replace(next.get() + 1))),
                    warm_up: WARM_UP,
                    time,
                })
            };
            let mut sample = Sample::default();
            servers::note(&mut sample, &load(USUAL, time)?.run().await?);
            HTTP2.note(&mut sample, &load(HTTP2, time / 2)?.run().await?);
            servers::check_count(endpoint, &path, next.get()).await?;
            Ok(sample)
        },
    );
    Ok(())
}
