//! The same operations in process with 1,000, 100,000 and 1,000,000 stored objects. Their cost must not grow.
//!
//! The cost is the processor time of the thread, averaged, so that rare expensive operations count and other programs
//! do not.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, ensure};
use http::Request;
use kubewright_apiserver::{ApiServer, Body};
use kubewright_kube_apiserver::KubeApiServer;
use tokio::runtime::{Builder, Runtime};

use super::{Bench, Case, micros, servers::VALUE_BYTES};
use crate::{
    contest::{Contestant, Digests, Sample, hold},
    load::scattered,
    proc, requests,
    results::Section,
    rows::Row,
};

pub(crate) const CASE: Case = Case {
    name: "growth",
    title: "the same operations with few and with many objects",
    what: "Ours alone, in process: processor time of the thread, a mean over 400 operations (40 pages of 500 objects from the \
           middle of the collection). The target of the larger counts is twice the figure with the fewest: few objects fit into \
           a processor's cache and many do not, which alone can cost that; anything that grows with the number of objects costs \
           a hundred times as much.",
    run,
};

/// A measured operation and its request.
#[derive(Clone, Copy)]
pub(super) enum Operation {
    Create,
    Get,
    Update,
    Page,
}

pub(super) const OPERATIONS: [Operation; 4] = [
    Operation::Create,
    Operation::Get,
    Operation::Update,
    Operation::Page,
];
/// The number of objects on a page.
pub(super) const PAGE: usize = 500;
/// The factor by which the cost may grow compared with the fewest objects.
const TOLERANCE: f64 = 2.0;
const PATH: &str = "/api/v1/namespaces/default/configmaps";

impl Operation {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Get => "get",
            Self::Update => "update",
            Self::Page => "page of 500",
        }
    }

    /// The number of repetitions in one turn.
    pub(super) fn count(self) -> u64 {
        match self {
            Self::Create | Self::Get | Self::Update => 400,
            Self::Page => 40,
        }
    }
}

/// Returns a row for each operation, and targets for all sizes except the first.
pub(super) fn rows(sizes: &[u64]) -> Vec<Row> {
    let row = |operation: Operation| {
        let row = Row::cost(operation.name(), operation.name(), "µs");
        let first = stored(sizes.first().copied().unwrap_or_default());
        let larger = sizes.iter().skip(1);
        larger.fold(row, |row, size| {
            row.at_most_times(&stored(*size), TOLERANCE, &first)
        })
    };
    OPERATIONS.map(row).into()
}

/// Returns the name of a column.
pub(super) fn stored(count: u64) -> String {
    match count {
        0..1_000_000 => format!("{}k stored", count / 1000),
        _ => format!("{}M stored", count / 1_000_000),
    }
}

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    let sizes = bench.size(&[1000, 100_000, 1_000_000][..], &[1000, 5000]);
    section.rows = rows(sizes);
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let contestants = sizes.iter().map(|&size| {
        let (mut filled, runtime) = (None, &runtime);
        Contestant::new(stored(size), move || {
            if filled.is_none() {
                filled = Some(Filled::make(runtime, size)?);
            }
            filled.as_ref().context("it was filled")?.turn(runtime)
        })
    });
    let contestants = contestants.collect();
    hold(section, bench.rounds(5), &Digests::new(), contestants);
    Ok(())
}

/// An API server in this process, filled with objects.
struct Filled {
    server: ApiServer,
    next: Arc<AtomicU64>,
}

impl Filled {
    fn make(runtime: &Runtime, stored: u64) -> anyhow::Result<Self> {
        let api = runtime.block_on(KubeApiServer::builder().build());
        let api =
            api.map_err(|e| anyhow::anyhow!("the API server did not start: {}", e.message))?;
        let (server, next) = (api.server().clone(), Arc::new(AtomicU64::new(0)));
        runtime.block_on(fill_in_process(&server, &next, stored))?;
        Ok(Self { server, next })
    }

    fn turn(&self, runtime: &Runtime) -> anyhow::Result<Sample> {
        let mut sample = Sample::default();
        for operation in OPERATIONS {
            let cost = runtime.block_on(measure(&self.server, &self.next, operation))?;
            let each = micros(cost) / operation.count() as f64;
            sample.figures.insert(operation.name().to_owned(), each);
        }
        Ok(sample)
    }
}

/// Creates objects on all processors up to a number.
async fn fill_in_process(
    server: &ApiServer,
    next: &Arc<AtomicU64>,
    stored: u64,
) -> anyhow::Result<()> {
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..2 {
        let (server, next) = (server.clone(), next.clone());
        tasks.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= stored {
                    next.fetch_sub(1, Ordering::Relaxed);
                    return anyhow::Ok(());
                }
                call(&server, request(Operation::Create, number, "")?, 201).await?;
                if number % 64 == 0 {
                    tokio::task::yield_now().await;
                }
            }
        });
    }
    while let Some(task) = tasks.join_next().await {
        task??;
    }
    Ok(())
}

/// Returns the processor time of one turn of an operation.
async fn measure(
    server: &ApiServer,
    next: &AtomicU64,
    operation: Operation,
) -> anyhow::Result<Duration> {
    let stored = next.load(Ordering::Relaxed);
    let token = match operation {
        Operation::Page => middle(server, stored).await?,
        _ => String::new(),
    };
    let somewhere = scattered(stored);
    let mut requests = Vec::new();
    for _ in 0..operation.count() {
        let number = match operation {
            Operation::Create => next.fetch_add(1, Ordering::Relaxed),
            _ => somewhere().unwrap_or(0),
        };
        requests.push(request(operation, number, &token)?);
    }
    let status = if matches!(operation, Operation::Create) {
        201
    } else {
        200
    };
    let before = proc::thread_time()?;
    for request in requests {
        call(server, request, status).await?;
    }
    Ok(proc::thread_time()? - before)
}

/// Returns a continue token about half way through.
async fn middle(server: &ApiServer, stored: u64) -> anyhow::Result<String> {
    let half = Request::get(format!("{PATH}?limit={}", (stored / 2).max(1)));
    let response = server.handle(half.body(Body::empty())?).await;
    let mut body = std::pin::pin!(response.into_body());
    let mut token = None;
    // Reads to the end, but keeps only the beginning.
    while let Some(frame) =
        std::future::poll_fn(|cx| http_body::Body::poll_frame(body.as_mut(), cx)).await
    {
        let frame = frame.map_err(|e| anyhow::anyhow!("a list broke off: {e}"))?;
        if let (None, Some(data)) = (&token, frame.data_ref()) {
            token = continue_token(&String::from_utf8_lossy(data));
        }
    }
    token.context("a part of a list has no continue token")
}

fn continue_token(text: &str) -> Option<String> {
    let token = text.split_once("\"continue\":\"")?.1.split_once('"')?.0;
    Some(token.to_owned())
}

fn request(operation: Operation, number: u64, token: &str) -> anyhow::Result<Request<Body>> {
    let name = format!("map-{number:010}");
    let json = |body: String| Body::from(body);
    let request = match operation {
        Operation::Create => Request::post(PATH),
        Operation::Get => Request::get(format!("{PATH}/{name}")),
        Operation::Update => Request::put(format!("{PATH}/{name}")),
        Operation::Page => Request::get(format!("{PATH}?limit={PAGE}&continue={token}")),
    };
    let body = match operation {
        Operation::Create => json(requests::config_map_named(&name, VALUE_BYTES)),
        // The value differs each time, so that it is a change.
        Operation::Update => json(requests::config_map_named(&name, VALUE_BYTES + 1).replacen(
            "abc",
            &format!("{:x}-", next_change()),
            1,
        )),
        Operation::Get | Operation::Page => Body::empty(),
    };
    Ok(request
        .header("content-type", "application/json")
        .body(body)?)
}

fn next_change() -> u64 {
    static CHANGES: AtomicU64 = AtomicU64::new(0);
    CHANGES.fetch_add(1, Ordering::Relaxed)
}

async fn call(server: &ApiServer, request: Request<Body>, status: u16) -> anyhow::Result<()> {
    const LARGEST: usize = 16 << 20;
    let response = server.handle(request).await;
    let answered = response.status();
    let body = response.into_body().collect_up_to(LARGEST).await;
    let body = body.map_err(|e| anyhow::anyhow!("an answer broke off: {e}"))?;
    ensure!(answered == status, "answered {answered}: {body:?}");
    Ok(())
}
