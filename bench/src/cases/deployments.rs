//! Deployments of about 4 KB, created as fast as the server accepts them: defaults, validation and managed fields of a
//! large kind.

use std::{cell::Cell, rc::Rc, time::Duration};

use super::{
    Bench, Case,
    servers::{self, CONNECTIONS, HTTP2, PEER, Servers, USUAL, WARM_UP, Way},
};
use crate::{contest::Sample, load::Load, requests, results::Section, rows::Row};

pub(crate) const CASE: Case = Case {
    name: "deployments",
    title: "Deployments of 4 KB over 32 connections",
    what: "POSTs Deployments of about 4 KB with three containers over TLS, 32 connections, by HTTP/1.1 and by HTTP/2. Afterwards \
           the server must have as many objects as it said it created.",
    run,
};

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![
        Row::rate("rate", "created", "/s")
            .at_least(6000.0)
            .better(12.0, PEER),
        Row::cost("p50", "median", "ms"),
        Row::cost("p99", "99 of 100 within", "ms"),
        Row::cost("processor", "server's processor time for one", "µs"),
    ];
    let rows = HTTP2.rows("created", |row| row.at_least(6000.0).better(12.0, PEER));
    section.rows.extend(rows);
    let time = Duration::from_millis(bench.size(2000, 800));
    let rounds = (Servers::Kept, bench.rounds(3));
    servers::contest(
        bench,
        section,
        rounds,
        async |_| Ok(()),
        async |endpoint, ()| {
            let namespace = servers::namespace(endpoint).await?;
            let path = format!("/apis/apps/v1/namespaces/{namespace}/deployments");
            let next = Rc::new(Cell::new(0));
            let load = |way: Way, time| {
                let next = next.clone();
                anyhow::Ok(Load {
                    endpoint,
                    connections: CONNECTIONS,
                    request: way.request(endpoint, "POST", &path, &requests::deployment())?,
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
