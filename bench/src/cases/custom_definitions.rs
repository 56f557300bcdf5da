//! CustomResourceDefinitions: the delay until objects are accepted, and the cost of many definitions.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use anyhow::ensure;
use futures_util::future::try_join_all;

use super::{
    Bench, Case, ask, megabytes, millis,
    servers::{self, PEER, Servers},
    try_ask, widgets,
};
use crate::{
    contest::Sample,
    endpoint::Endpoint,
    proc,
    requests::Template,
    results::{Section, median},
    rows::Row,
};

pub(crate) const CASE: Case = Case {
    name: "custom-definitions",
    title: "a definition until its first object, and 500 definitions",
    what: "POSTs a definition and then objects of it until one is accepted (asked again every millisecond); median of 3. Then POSTs \
           500 further definitions over 4 connections, each with the schema and rules of `custom-resources`, until an object of \
           the last one is accepted; memory is resident memory after that. Every definition is asked for afterwards.",
    run,
};

/// The time limit for an object to be accepted after its definition was created.
const PATIENCE: Duration = Duration::from_secs(60);
const WRITERS: usize = 4;

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![
        Row::cost("accepted", "definition to object accepted", "ms").at_most(10.0),
        Row::cost("installed", "500 definitions installed", "s").at_most(2.0),
        Row::cost("memory", "memory with 500 definitions", "MB").at_most(150.0),
    ];
    let many = bench.size(500, 20);
    let next = Cell::new(0);
    servers::contest(
        bench,
        section,
        (Servers::FreshAndPeerOnce, bench.rounds(3)),
        async |_| Ok(()),
        async |endpoint, ()| {
            let mut times = Vec::new();
            for number in 0..3 {
                let began = Instant::now();
                define(endpoint, number).await?;
                accepted(endpoint, number, "default").await?;
                times.push(millis(began.elapsed()));
            }
            next.set(3);
            let began = Instant::now();
            install(endpoint, &next, 3 + many).await?;
            accepted(endpoint, 2 + many, "default").await?;
            let installed = began.elapsed().as_secs_f64();
            let memory = megabytes(proc::resident(&endpoint.pids)?);
            check(endpoint, 3 + many).await?;
            let figures = [
                ("accepted", median(&times).unwrap_or(f64::NAN)),
                ("installed", installed),
                ("memory", memory),
            ];
            let figures = figures.map(|(key, figure)| (key.to_owned(), figure));
            Ok(Sample {
                figures: figures.into(),
                ..Sample::default()
            })
        },
    );
    section.notes.push(format!(
        "{PEER} counts both processes. Starting with 500 definitions in the store: `custom-start`."
    ));
    Ok(())
}

/// Creates the definition with a number.
pub(super) async fn define(endpoint: &Endpoint, number: usize) -> anyhow::Result<()> {
    let body = widgets::definition(number);
    let request = Template::new(endpoint, "POST", widgets::DEFINITIONS, &body);
    ask(endpoint, &request, 201).await.map(drop)
}

/// Creates an object of a definition as soon as that is possible.
pub(super) async fn accepted(
    endpoint: &Endpoint,
    number: usize,
    namespace: &str,
) -> anyhow::Result<()> {
    let body = widgets::object(number, "first");
    let path = widgets::path(number, namespace);
    let request = Template::new(endpoint, "POST", &path, &body);
    let began = Instant::now();
    loop {
        let (status, body) = try_ask(endpoint, &request).await?;
        if status == 201 {
            return Ok(());
        }
        // The path does not exist until the resource is served.
        ensure!(status == 404, "an object was answered {status}: {body}");
        ensure!(began.elapsed() < PATIENCE, "no object was accepted in time");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Creates the definitions with the numbers up to `end`.
async fn install(endpoint: &Endpoint, next: &Cell<usize>, end: usize) -> anyhow::Result<()> {
    let work = async || {
        while next.get() < end {
            define(endpoint, next.replace(next.get() + 1)).await?;
        }
        anyhow::Ok(())
    };
    try_join_all((0..WRITERS).map(|_| work())).await?;
    Ok(())
}

/// Checks that all definitions exist and are established.
async fn check(endpoint: &Endpoint, count: usize) -> anyhow::Result<()> {
    let request = Template::new(endpoint, "GET", widgets::DEFINITIONS, "");
    let list: serde_json::Value = serde_json::from_str(&ask(endpoint, &request, 200).await?)?;
    let items = list["items"].as_array().map_or(&[][..], Vec::as_slice);
    let established = items.iter().filter(|item| {
        let conditions = item["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|c| c["type"] == "Established" && c["status"] == "True")
    });
    let established = established.count();
    ensure!(
        established == count,
        "scores nothing: {established} definitions of {count} are established"
    );
    Ok(())
}
