//! The same operations over TLS with 1,000 and 100,000 stored objects. Their cost must not grow.

use std::time::Duration;

use super::{
    Bench, Case,
    growth::{OPERATIONS, Operation, PAGE, rows, stored},
    micros,
    servers::{VALUE_BYTES, fill, in_time, namespace},
};
use crate::{
    contest::{Contestant, Digests, Sample, hold},
    load::{Load, Numbers, counting, limited, scattered},
    requests::{self, Template},
    results::Section,
    rows::Row,
    server::Server,
};

pub(crate) const CASE: Case = Case {
    name: "growth-tls",
    title: "the same operations over TLS with few and with many objects",
    what: "Ours alone: the server's processor time for an answer on a single connection, of 2,000 operations (200 pages of 500 \
           objects) in a turn.",
    run,
};

/// The factor for the number of repetitions over TLS, since the time has a resolution of 10 ms.
const TIMES: u64 = 5;

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    let sizes = bench.size(&[1000, 100_000][..], &[1000, 3000]);
    let mut rows: Vec<Row> = rows(sizes);
    for row in &mut rows {
        row.label += " over TLS";
    }
    section.rows = rows;
    let contestants = sizes.iter().map(|&size| {
        let mut remote = None;
        Contestant::new(stored(size), move || {
            in_time(async {
                if remote.is_none() {
                    remote = Some(Remote::start(bench, size).await?);
                }
                match &mut remote {
                    Some(remote) => remote.turn(bench.quick).await,
                    None => Ok(Sample::default()),
                }
            })
        })
    });
    let contestants = contestants.collect();
    hold(section, bench.rounds(3), &Digests::new(), contestants);
    Ok(())
}

/// A server in its own process, filled with objects.
struct Remote {
    stored: u64,
    server: Server,
    namespace: String,
    next: u64,
    turns: usize,
}

impl Remote {
    async fn start(bench: &Bench, stored: u64) -> anyhow::Result<Self> {
        let server = Server::ours(&bench.server)?;
        let namespace = namespace(&server.endpoint).await?;
        fill(&server.endpoint, &namespace, stored, VALUE_BYTES).await?;
        Ok(Self {
            stored,
            server,
            namespace,
            next: stored,
            turns: 0,
        })
    }

    async fn turn(&mut self, quick: bool) -> anyhow::Result<Sample> {
        let mut sample = Sample::default();
        self.turns += 1;
        for operation in OPERATIONS {
            let count = operation.count() * if quick { 1 } else { TIMES };
            let time = self.operate(operation, count).await?;
            let each = micros(time) / count as f64;
            sample.figures.insert(operation.name().to_owned(), each);
        }
        Ok(sample)
    }

    /// Returns the server's processor time for a number of responses.
    async fn operate(&mut self, operation: Operation, count: u64) -> anyhow::Result<Duration> {
        let endpoint = &self.server.endpoint;
        let path = requests::config_maps(&self.namespace);
        let one = format!("{path}/{}", requests::hole());
        let page = format!("{path}?limit={PAGE}");
        let map = requests::config_map(VALUE_BYTES);
        // An object of another length than the stored one is a change.
        let changed = requests::config_map(VALUE_BYTES + self.turns);
        let (method, target, body) = match operation {
            Operation::Create => ("POST", &path, map.as_str()),
            Operation::Get => ("GET", &one, ""),
            Operation::Update => ("PUT", &one, changed.as_str()),
            Operation::Page => ("GET", &page, ""),
        };
        let numbers: Numbers = match operation {
            Operation::Create => counting(self.next, self.next + count),
            Operation::Update => counting(0, count.min(self.stored)),
            Operation::Get | Operation::Page => limited(scattered(self.stored), count),
        };
        let creates = matches!(operation, Operation::Create);
        let load = Load {
            endpoint,
            connections: 1,
            request: Template::new(endpoint, method, target, body),
            status: if creates { 201 } else { 200 },
            numbers,
            warm_up: Duration::ZERO,
            time: Duration::from_secs(60),
        };
        let outcome = load.run().await?;
        self.next += if creates { count } else { 0 };
        Ok(outcome.processor() * u32::try_from(count)?)
    }
}
