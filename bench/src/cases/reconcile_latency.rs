//! The delay from a write until the object is reconciled, at 5,000 writes per second.

use std::{
    collections::HashMap,
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, bail, ensure};
use kubewright_bench_operator::{END, Mode, READY, Work};
use tokio::task::JoinSet;

use super::{
    Bench, Case, ask, controllers,
    servers::{self, VALUE_BYTES},
    try_ask,
};
use crate::{
    contest::Digests,
    endpoint::Endpoint,
    replay::corpus::Digest,
    requests::{self, Template},
    results::Section,
    rows::Row,
    wire::{Answer, Connection},
};

pub(crate) const CASE: Case = Case {
    name: "reconcile-latency",
    title: "from a write to its reconcile, at 5,000 writes per second",
    what: "5,000 ConfigMaps are updated in turn over 4 connections, 5,000 each second for ten seconds; each says when the request was \
           sent. A controller with one worker reads each from its cache when it is reconciled, and looks at the clock: the time is \
           that of the request, the server, the watch, the cache and the queue. Writer, server and controller share the machine. \
           At the end the controller must have seen the last write of every object.",
    run,
};

const CONNECTIONS: u64 = 4;
/// The time limit for the controller to become ready.
const PATIENCE: Duration = Duration::from_secs(60);
/// The interval between two readiness checks.
const LOOK: Duration = Duration::from_millis(20);

/// The writer.
#[derive(Clone, Copy)]
struct Writes {
    objects: u64,
    per_second: u64,
    count: u64,
}

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![
        Row::cost("p50", "median", "ms"),
        Row::cost("p99", "99 of 100 within", "ms").at_most(5.0),
        Row::rate("rate", "written", "/s"),
        Row::cost(
            "event_cpu_micros",
            "controller's processor time for one",
            "µs",
        ),
    ];
    let writes = Writes {
        objects: bench.size(5000, 200),
        per_second: bench.size(5000, 200),
        count: bench.size(50_000, 400),
    };
    let limit = Duration::from_secs(bench.size(180, 120));
    let rounds = (bench.rounds(3), limit);
    controllers::contest(
        bench,
        section,
        rounds,
        &Digests::new(),
        |server, program| {
            let endpoint = &server.endpoint;
            let namespace = servers::in_time(async {
                let namespace = servers::namespace(endpoint).await?;
                servers::fill(endpoint, &namespace, writes.objects, VALUE_BYTES).await?;
                Ok(namespace)
            })?;
            let program = program(Work {
                mode: Mode::Latency,
                namespace: namespace.clone(),
                objects: writes.objects,
                ..Work::default()
            })?;
            thread::scope(|scope| {
                let running = scope.spawn(|| program.run());
                let written = servers::in_time(async {
                    wait_until_ready(endpoint, &namespace, || running.is_finished()).await?;
                    write(endpoint, &namespace, writes).await
                });
                let heard = running
                    .join()
                    .unwrap_or_else(|_| bail!("waiting for the controller panicked"));
                // An error of the controller explains an error of the writer.
                let mut sample = heard?;
                let (rate, digest) = written?;
                sample.figures.insert("rate".to_owned(), rate);
                ensure!(
                    sample.digests.get("seen") == Some(&digest),
                    "scores nothing: it has not seen the last write of every object"
                );
                Ok(sample)
            })
        },
    );
    Ok(())
}

/// Waits until the controller signals readiness by creating an object.
async fn wait_until_ready(
    endpoint: &Endpoint,
    namespace: &str,
    has_ended: impl Fn() -> bool,
) -> anyhow::Result<()> {
    let path = format!("{}/{READY}", requests::config_maps(namespace));
    let look = Template::new(endpoint, "GET", &path, "");
    let began = Instant::now();
    while try_ask(endpoint, &look).await?.0 != 200 {
        ensure!(!has_ended(), "the controller ended before it was ready");
        ensure!(
            began.elapsed() < PATIENCE,
            "the controller did not become ready"
        );
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

/// Writes at an even pace, and returns the rate and a digest of the last writes.
async fn write(
    endpoint: &Endpoint,
    namespace: &str,
    writes: Writes,
) -> anyhow::Result<(f64, String)> {
    let Writes { objects, .. } = writes;
    // An object is always written over the same connection.
    ensure!(
        objects % CONNECTIONS == 0,
        "{objects} objects cannot be shared out"
    );
    let began = Instant::now();
    let mut tasks = JoinSet::new();
    for number in 0..CONNECTIONS {
        let writer = Writer {
            connection: Connection::open(endpoint).await?,
            address: endpoint.address.clone(),
            token: endpoint.token.clone(),
            path: requests::config_maps(namespace),
            writes,
        };
        tasks.spawn_local(writer.run(number, began));
    }
    let mut last = HashMap::new();
    while let Some(task) = tasks.join_next().await {
        last.extend(task??);
    }
    let rate = writes.count as f64 / began.elapsed().as_secs_f64();
    let body = requests::config_map_named(END, 1);
    let end = Template::new(endpoint, "POST", &requests::config_maps(namespace), &body);
    ask(endpoint, &end, 201).await?;
    let mut digest = Digest::default();
    for (object, stamp) in last {
        digest.add(
            &format!("{namespace}/{}", name(object)),
            "",
            &stamp.to_string(),
        );
    }
    Ok((rate, digest.text()))
}

fn name(object: u64) -> String {
    format!("map-{object:010}")
}

/// Writes over one connection.
struct Writer {
    connection: Connection,
    address: String,
    token: String,
    path: String,
    writes: Writes,
}

impl Writer {
    /// Sends every n-th write, and returns the time of the last write of each object.
    async fn run(mut self, number: u64, began: Instant) -> anyhow::Result<HashMap<u64, u64>> {
        let Writes {
            objects,
            per_second,
            count,
        } = self.writes;
        let mut answer = Answer::new();
        let mut last = HashMap::new();
        for write in (number..count).step_by(CONNECTIONS as usize) {
            let due = began + Duration::from_secs_f64(write as f64 / per_second as f64);
            tokio::time::sleep_until(due.into()).await;
            let object = write % objects;
            let stamp = SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros();
            let stamp = u64::try_from(stamp).context("the clock is wrong")?;
            let request = self.request(object, stamp);
            self.connection
                .exchange(request.as_bytes(), &mut answer, |_| {})
                .await?;
            ensure!(
                answer.status == 200,
                "a write was answered {}",
                answer.status
            );
            last.insert(object, stamp);
        }
        Ok(last)
    }

    fn request(&self, object: u64, stamp: u64) -> String {
        let name = name(object);
        let body = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}},"data":{{"at":"{stamp}"}}}}"#
        );
        format!(
            "PUT {}/{name} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            self.path,
            self.address,
            self.token,
            body.len()
        )
    }
}
