//! One LIST of 49 MB: how fast it arrives, and what it costs the server in memory.

use std::time::Instant;

use anyhow::ensure;
use tokio::task::JoinSet;

use super::{fill, median, megabytes};
use crate::{
    endpoint::Endpoint,
    proc,
    report::{Measure, Report, Whose},
    requests::{self, Template},
    wire::{Answer, Connection},
};

const RATE: Measure = Measure::rate("list: 49 MB", "MB/s")
    .target(800.0)
    .reference(75.0);
const PROCESSOR: Measure = Measure::cost("list: server's processor time", "ms");
const ONE: Measure = Measure::cost("list: extra memory, 1 at a time", "MB").target(1.0);
const TEN: Measure =
    Measure::cost("list: extra memory per request, 10 at a time", "MB").target(1.0);

const OBJECTS: u64 = 32_600;
/// With metadata and managed fields an object has about 1.5 KB.
const VALUE_BYTES: usize = 1120;
const REPEATS: usize = 7;

/// The answer is how many were created.
pub(super) async fn run(
    endpoint: &Endpoint,
    namespace: &str,
    whose: Whose,
    report: &mut Report,
) -> anyhow::Result<u64> {
    fill(endpoint, namespace, 0..OBJECTS, VALUE_BYTES).await?;
    if let Some(pid) = endpoint.pid {
        for (measure, at_a_time) in [(&ONE, 1), (&TEN, 10)] {
            let before = proc::resident(pid)?;
            proc::forget_peak(pid)?;
            lists(endpoint, namespace, at_a_time).await?;
            let extra = proc::peak(pid)?.saturating_sub(before);
            report.add(measure, whose, megabytes(extra) / at_a_time as f64);
        }
    }
    let mut connection = Connection::open(endpoint).await?;
    let mut rates = Vec::new();
    let cpu_before = endpoint.pid.map(proc::processor_time).transpose()?;
    for _ in 0..REPEATS {
        let began = Instant::now();
        let bytes = list(&mut connection, endpoint, namespace).await?;
        rates.push(megabytes(bytes) / began.elapsed().as_secs_f64());
    }
    report.add(&RATE, whose, median(rates));
    if let Some((pid, before)) = endpoint.pid.zip(cpu_before) {
        let used = proc::processor_time(pid)? - before;
        report.add(&PROCESSOR, whose, super::millis(used) / REPEATS as f64);
    }
    Ok(OBJECTS)
}

/// That many LISTs at once.
async fn lists(endpoint: &Endpoint, namespace: &str, at_a_time: usize) -> anyhow::Result<()> {
    let mut tasks = JoinSet::new();
    for _ in 0..at_a_time {
        let mut connection = Connection::open(endpoint).await?;
        let request = request(endpoint, namespace);
        tasks.spawn_local(async move { read(&mut connection, &request).await });
    }
    while let Some(task) = tasks.join_next().await {
        task??;
    }
    Ok(())
}

async fn list(
    connection: &mut Connection,
    endpoint: &Endpoint,
    namespace: &str,
) -> anyhow::Result<u64> {
    read(connection, &request(endpoint, namespace)).await
}

fn request(endpoint: &Endpoint, namespace: &str) -> Template {
    Template::new(endpoint, "GET", &requests::config_maps(namespace), "")
}

/// The answer is the length of the body.
async fn read(connection: &mut Connection, request: &Template) -> anyhow::Result<u64> {
    let mut answer = Answer::new();
    connection
        .exchange(request.bytes(), &mut answer, |_| {})
        .await?;
    ensure!(
        answer.status == 200,
        "a LIST was answered {}",
        answer.status
    );
    // A list that lacks objects must not pass as a fast one.
    let least = OBJECTS * VALUE_BYTES as u64;
    ensure!(
        answer.body_bytes > least,
        "a LIST has only {} bytes",
        answer.body_bytes
    );
    Ok(answer.body_bytes)
}
