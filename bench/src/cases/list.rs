//! One LIST of 49 MB: throughput, and the memory of the server.

use std::{cell::Cell, time::Instant};

use anyhow::ensure;
use serde::Deserialize;
use tokio::task::JoinSet;

use super::{
    Bench, Case, ask, megabytes, millis,
    servers::{self, PEER, Servers},
};
use crate::{
    contest::Sample,
    endpoint::Endpoint,
    proc,
    requests::{self, Template},
    results::{Section, median},
    rows::Row,
    wire::{Answer, Connection},
};

pub(crate) const CASE: Case = Case {
    name: "list",
    title: "49 MB in one answer",
    what: "GETs 32,600 ConfigMaps of about 1.5 KB in one answer over TLS, 5 times a round, counting the bytes of the body. Extra \
           memory is the peak of resident memory during the request less the resident memory before it. Once, every object of \
           the answer is looked at: all are there, no uid twice.",
    run,
};

/// An object has about 1.5 KB with metadata and managed fields.
pub(super) const VALUE_BYTES: usize = 1120;
const REPEATS: usize = 5;

#[derive(Deserialize)]
struct List {
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    uid: String,
}

/// The expected response.
struct Listed {
    path: String,
    bytes: u64,
}

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![
        Row::rate("rate", "received", "MB/s")
            .at_least(800.0)
            .better(10.0, PEER),
        Row::cost("processor", "server's processor time for one", "ms"),
        Row::cost("extra", "extra memory, 1 at a time", "MB").at_most(1.0),
        Row::cost(
            "extra_of_ten",
            "extra memory for each of 10 at a time",
            "MB",
        )
        .at_most(1.0),
    ];
    let objects = bench.size(32_600, 2000);
    let rounds = (Servers::Kept, bench.rounds(3));
    let peak = Cell::new(0);
    servers::contest(
        bench,
        section,
        rounds,
        async |server| {
            let endpoint = &server.endpoint;
            let namespace = servers::namespace(endpoint).await?;
            servers::fill(endpoint, &namespace, objects, VALUE_BYTES).await?;
            let path = requests::config_maps(&namespace);
            let bytes = check(endpoint, &path, objects).await?;
            Ok(Listed { path, bytes })
        },
        async |endpoint, listed| {
            let mut sample = Sample::default();
            peak.set(0);
            for (key, at_a_time) in [("extra", 1), ("extra_of_ten", 10)] {
                let before = proc::resident(&endpoint.pids)?;
                proc::forget_peak(&endpoint.pids)?;
                lists(endpoint, listed, at_a_time).await?;
                let most = proc::peak(&endpoint.pids)?;
                peak.set(peak.get().max(most));
                let extra = megabytes(most.saturating_sub(before)) / at_a_time as f64;
                sample.figures.insert(key.to_owned(), extra);
            }
            let mut connection = Connection::open(endpoint).await?;
            let mut rates = Vec::new();
            let cpu = proc::processor_time(&endpoint.pids)?;
            for _ in 0..REPEATS {
                let began = Instant::now();
                read(&mut connection, endpoint, listed).await?;
                rates.push(megabytes(listed.bytes) / began.elapsed().as_secs_f64());
            }
            let used = millis(proc::processor_time(&endpoint.pids)? - cpu);
            let figures = [
                ("rate", median(&rates).unwrap_or(f64::NAN)),
                ("processor", used / REPEATS as f64),
            ];
            let figures = figures.map(|(key, figure)| (key.to_owned(), figure));
            sample.figures.extend(figures);
            sample.peak_bytes = peak.get() as f64;
            Ok(sample)
        },
    );
    Ok(())
}

/// Reads every object once, and returns the size of the body.
async fn check(endpoint: &Endpoint, path: &str, objects: u64) -> anyhow::Result<u64> {
    let body = ask(endpoint, &Template::new(endpoint, "GET", path, ""), 200).await?;
    let list: List = serde_json::from_str(&body)?;
    let count = |of: fn(&Item) -> &str| {
        let distinct: std::collections::HashSet<&str> = list.items.iter().map(of).collect();
        distinct.len() as u64
    };
    let (names, uids) = (
        count(|item| &item.metadata.name),
        count(|item| &item.metadata.uid),
    );
    ensure!(
        names == objects && uids == objects,
        "scores nothing: {names} objects with {uids} uids, not {objects}"
    );
    Ok(body.len() as u64)
}

/// Runs a number of concurrent LISTs.
async fn lists(endpoint: &Endpoint, listed: &Listed, at_a_time: usize) -> anyhow::Result<()> {
    let mut tasks = JoinSet::new();
    for _ in 0..at_a_time {
        let mut connection = Connection::open(endpoint).await?;
        let request = Template::new(endpoint, "GET", &listed.path, "");
        let bytes = listed.bytes;
        tasks.spawn_local(async move { exchange(&mut connection, &request, bytes).await });
    }
    while let Some(task) = tasks.join_next().await {
        task??;
    }
    Ok(())
}

async fn read(
    connection: &mut Connection,
    endpoint: &Endpoint,
    listed: &Listed,
) -> anyhow::Result<()> {
    let request = Template::new(endpoint, "GET", &listed.path, "");
    exchange(connection, &request, listed.bytes).await
}

/// Checks that a response has all objects, so that an incomplete one does not count as fast.
async fn exchange(
    connection: &mut Connection,
    request: &Template,
    bytes: u64,
) -> anyhow::Result<()> {
    let mut answer = Answer::new();
    connection
        .exchange(request.bytes(), &mut answer, |_| {})
        .await?;
    let (status, found) = (answer.status, answer.body_bytes);
    ensure!(status == 200, "a LIST was answered {status}");
    // The version of the list may have one more digit.
    ensure!(
        found.abs_diff(bytes) < 16,
        "scores nothing: a LIST has {found} bytes, not {bytes}"
    );
    Ok(())
}
