//! Reads from a data directory's server and from one in memory.

use std::time::Duration;

use anyhow::Context;

use super::{
    Bench, Case,
    servers::{self, CONNECTIONS, USUAL, VALUE_BYTES, WARM_UP},
};
use crate::{
    contest::{Contestant, Digests, Sample, hold},
    load::{Load, scattered},
    requests,
    results::Section,
    rows::Row,
    server::Server,
};

pub(crate) const CASE: Case = Case {
    name: "durable-reads",
    title: "ConfigMaps read from a server with a data directory",
    what: "GETs one of 1,000 ConfigMaps of 512 bytes over TLS, in random order, and lists all of them, from ours with --data-dir and \
           from ours in memory. Reads come from memory in both.",
    run,
};

const ON_DISK: &str = "on disk";
const IN_MEMORY: &str = "in memory";

/// The number of ConfigMaps.
const OBJECTS: u64 = 1000;

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![
        Row::rate("read", "read over 32 connections", "/s").better(0.95, IN_MEMORY),
        Row::rate("listed", "listed over 4 connections", "/s").better(0.95, IN_MEMORY),
    ];
    let time = Duration::from_millis(bench.size(2000, 800));
    let side = |name, start: Box<dyn Fn() -> anyhow::Result<Server>>| {
        let mut running: Option<(Server, String)> = None;
        Contestant::new(name, move || {
            if running.is_none() {
                let server = start()?;
                let prepared = async {
                    let namespace = servers::namespace(&server.endpoint).await?;
                    servers::fill(&server.endpoint, &namespace, OBJECTS, VALUE_BYTES).await?;
                    Ok(requests::config_maps(&namespace))
                };
                let path = servers::in_time(prepared)?;
                running = Some((server, path));
            }
            let (server, path) = running.as_ref().context("a server was started")?;
            let endpoint = &server.endpoint;
            servers::measured(endpoint, || {
                servers::in_time(async {
                    let one = format!("{path}/{}", requests::hole());
                    let load = |target: &str, connections| {
                        anyhow::Ok(Load {
                            endpoint,
                            connections,
                            request: USUAL.request(endpoint, "GET", target, "")?,
                            status: 200,
                            numbers: scattered(OBJECTS),
                            warm_up: WARM_UP,
                            time,
                        })
                    };
                    let read = load(&one, CONNECTIONS)?.run().await?;
                    let listed = load(path, 4)?.run().await?;
                    let mut sample = Sample::default();
                    sample.figures.insert("read".to_owned(), read.rate());
                    sample.figures.insert("listed".to_owned(), listed.rate());
                    Ok(sample)
                })
            })
        })
    };
    let (ours, other) = (bench.server.clone(), bench.server.clone());
    let on_disk = side(ON_DISK, Box::new(move || Server::ours_on_disk(&ours, None)));
    let in_memory = side(IN_MEMORY, Box::new(move || Server::ours(&other)));
    let contestants = vec![on_disk, in_memory];
    hold(section, bench.rounds(5), &Digests::new(), contestants);
    Ok(())
}
