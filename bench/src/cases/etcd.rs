//! ConfigMaps in etcd.

use std::{cell::Cell, rc::Rc, time::Duration};

use super::{
    Bench, Case, millis,
    servers::{self, CONNECTIONS, Keeping, PEER, Servers, USUAL, VALUE_BYTES, WARM_UP},
};
use crate::{
    contest::Sample,
    load::{Load, scattered},
    requests,
    results::Section,
    rows::Row,
};

pub(crate) const CASE: Case = Case {
    name: "etcd",
    title: "ConfigMaps in etcd, created, read and listed",
    what: "POSTs ConfigMaps with one value of 512 bytes over TLS, to ours with --etcd-servers and to kube-apiserver, each on an \
           etcd of its own that does not wait for the disk, then GETs one of 1,000 of them in random order, and lists 1,000. Processor \
           time includes etcd's. Afterwards the server must have as many objects as it said it created.",
    run,
};

/// The number of ConfigMaps that are read.
const OBJECTS: u64 = 1000;

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![
        Row::rate("created", "created over 32 connections", "/s").better(1.5, PEER),
        Row::cost("created_p99", "99 of 100 creates within", "ms"),
        Row::rate("read", "read over 32 connections", "/s").better(1.5, PEER),
        Row::cost("read_p99", "99 of 100 reads within", "ms"),
        Row::rate("listed", "lists of 1,000 over 4 connections", "/s").better(1.5, PEER),
        Row::cost("single", "1 connection, median create", "ms"),
    ];
    let time = Duration::from_millis(bench.size(2000, 800));
    let rounds = (Servers::Kept, bench.rounds(5));
    servers::contest_of(
        Keeping::InEtcd,
        bench,
        section,
        rounds,
        async |_| Ok(()),
        async |endpoint, ()| {
            let mut sample = Sample::default();
            let namespace = servers::namespace(endpoint).await?;
            let path = requests::config_maps(&namespace);
            servers::fill(endpoint, &namespace, OBJECTS, VALUE_BYTES).await?;
            let body = requests::config_map(VALUE_BYTES);
            let next = Rc::new(Cell::new(OBJECTS));
            let create = |connections, time| {
                let next = next.clone();
                anyhow::Ok(Load {
                    endpoint,
                    connections,
                    request: USUAL.request(endpoint, "POST", &path, &body)?,
                    status: 201,
                    numbers: Rc::new(move || Some(next.replace(next.get() + 1))),
                    warm_up: WARM_UP,
                    time,
                })
            };
            let created = create(CONNECTIONS, time)?.run().await?;
            let single = create(1, time / 2)?.run().await?;
            servers::check_count(endpoint, &path, next.get()).await?;
            let one = format!("{path}/{}", requests::hole());
            let read = Load {
                endpoint,
                connections: CONNECTIONS,
                request: USUAL.request(endpoint, "GET", &one, "")?,
                status: 200,
                numbers: scattered(OBJECTS),
                warm_up: WARM_UP,
                time,
            };
            let read = read.run().await?;
            let listed = Load {
                endpoint,
                connections: 4,
                request: USUAL.request(endpoint, "GET", &format!("{path}?limit={OBJECTS}"), "")?,
                status: 200,
                numbers: scattered(OBJECTS),
                warm_up: WARM_UP,
                time,
            };
            let listed = listed.run().await?;
            for (key, figure) in [
                ("created", created.rate()),
                ("created_p99", millis(created.percentile(99))),
                ("read", read.rate()),
                ("listed", listed.rate()),
                ("read_p99", millis(read.percentile(99))),
                ("single", millis(single.percentile(50))),
            ] {
                sample.figures.insert(key.to_owned(), figure);
            }
            Ok(sample)
        },
    );
    Ok(())
}
