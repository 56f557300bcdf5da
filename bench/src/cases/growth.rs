//! The same operations with 1,000, 100,000 and 1,000,000 objects stored: none of them may cost more for it.
//!
//! In process the cost is the processor time of the thread that does it, averaged, so that rare expensive operations
//! count and other programs do not. Over TLS it is the median time of an answer on one connection.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, ensure};
use http::Request;
use kubewright_apiserver::{body::Body, server::ApiServer};
use kubewright_controlplane::ControlPlane;
use tokio::runtime::Builder;

use super::{Namespace, VALUE_BYTES, fill, median, micros, on_one_thread};
use crate::{
    Settings,
    endpoint::Endpoint,
    load::{Load, Numbers, counting, limited, scattered},
    proc,
    report::{Measure, Report, Whose},
    requests::{self, Template},
    server::Server,
};

/// What is measured, how often, and the request.
#[derive(Clone, Copy)]
enum Operation {
    Create,
    Get,
    Update,
    Page,
}

const OPERATIONS: [Operation; 4] = [
    Operation::Create,
    Operation::Get,
    Operation::Update,
    Operation::Page,
];
/// Objects on a page.
const PAGE: usize = 500;
/// How much more an operation may cost than with 1,000 objects. Larger trees and colder caches cost something; anything
/// that grows with the number of objects costs a hundred times as much, and more.
const TOLERANCE: f64 = 1.5;
/// Everything is measured so many times in turns, and the median counts.
const TURNS: usize = 5;
const IN_PROCESS: [u64; 3] = [1000, 100_000, 1_000_000];
const OVER_TLS: [u64; 2] = [1000, 100_000];
const PATH: &str = "/api/v1/namespaces/default/configmaps";

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Get => "get",
            Self::Update => "update",
            Self::Page => "page of 500",
        }
    }

    /// How often it is done in one turn.
    fn count(self) -> u64 {
        match self {
            Self::Create | Self::Get | Self::Update => 400,
            Self::Page => 40,
        }
    }
}

pub(super) fn run(settings: &Settings, report: &mut Report) -> anyhow::Result<()> {
    in_process(settings, report)?;
    let server = Server::start(&settings.server)?;
    on_one_thread(over_tls(&server.endpoint, settings, report))
}

fn in_process(settings: &Settings, report: &mut Report) -> anyhow::Result<()> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let plane = runtime.block_on(ControlPlane::builder().build());
    let server = plane.map_err(|e| anyhow::anyhow!("no control plane: {}", e.message))?;
    let server = server.server().clone();
    let next = Arc::new(AtomicU64::new(0));
    let mut first = [f64::NAN; OPERATIONS.len()];
    for stored in IN_PROCESS
        .into_iter()
        .filter(|count| *count <= settings.largest)
    {
        runtime.block_on(fill_in_process(&server, &next, stored))?;
        let mut costs = [(); OPERATIONS.len()].map(|()| Vec::new());
        for _ in 0..TURNS {
            for (operation, costs) in OPERATIONS.into_iter().zip(&mut costs) {
                let cost = runtime.block_on(measure(&server, &next, operation))?;
                costs.push(micros(cost) / operation.count() as f64);
            }
        }
        for ((operation, costs), first) in OPERATIONS.into_iter().zip(costs).zip(&mut first) {
            note(report, "", operation, stored, median(costs), first);
        }
    }
    Ok(())
}

/// Notes a cost. The first is the measure of the others.
fn note(
    report: &mut Report,
    how: &str,
    operation: Operation,
    stored: u64,
    cost: f64,
    first: &mut f64,
) {
    let mut measure = Measure::cost("", "us");
    if first.is_nan() {
        *first = cost;
    } else {
        measure = measure.target(*first * TOLERANCE);
    }
    let stored = if stored < 1_000_000 {
        format!("{}k", stored / 1000)
    } else {
        format!("{}M", stored / 1_000_000)
    };
    let name = format!("growth{how}: {} with {stored} stored", operation.name());
    report.add_named(name, &measure, Whose::Ours, cost);
}

/// Creates objects on all processors until there are so many.
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

/// The processor time of one turn of an operation.
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

/// A token to go on from, about half way through.
async fn middle(server: &ApiServer, stored: u64) -> anyhow::Result<String> {
    let half = Request::get(format!("{PATH}?limit={}", (stored / 2).max(1)));
    let response = server.handle(half.body(Body::empty())?).await;
    let mut body = std::pin::pin!(response.into_body());
    let mut token = None;
    // Read to the end, but keep only what the beginning says.
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
        // Another value each time, so that it is a change.
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

async fn over_tls(
    endpoint: &Endpoint,
    settings: &Settings,
    report: &mut Report,
) -> anyhow::Result<()> {
    let namespace = Namespace::make(endpoint).await?;
    let path = requests::config_maps(&namespace.name);
    let mut next = 0;
    let mut first = [f64::NAN; OPERATIONS.len()];
    for stored in OVER_TLS
        .into_iter()
        .filter(|count| *count <= settings.largest)
    {
        fill(endpoint, &namespace.name, next..stored, VALUE_BYTES).await?;
        next = stored;
        for (operation, first) in OPERATIONS.into_iter().zip(&mut first) {
            let one = format!("{path}/{}", requests::hole());
            let page = format!("{path}?limit={PAGE}");
            // An object of another length than the stored one is a change.
            let map = requests::config_map(VALUE_BYTES);
            let changed = requests::config_map(VALUE_BYTES + stored.ilog2() as usize);
            let (method, target, body) = match operation {
                Operation::Create => ("POST", &path, map.as_str()),
                Operation::Get => ("GET", &one, ""),
                Operation::Update => ("PUT", &one, changed.as_str()),
                Operation::Page => ("GET", &page, ""),
            };
            let count = operation.count() * 2;
            let numbers: Numbers = match operation {
                Operation::Create => counting(next, next + count),
                Operation::Update => counting(0, count),
                Operation::Get | Operation::Page => limited(scattered(stored), count),
            };
            let load = Load {
                endpoint,
                connections: 1,
                request: Template::new(endpoint, method, target, body),
                status: if matches!(operation, Operation::Create) {
                    201
                } else {
                    200
                },
                numbers,
                warm_up: Duration::ZERO,
                time: Duration::from_secs(20),
            };
            let time = micros(load.run().await?.percentile(50));
            if matches!(operation, Operation::Create) {
                next += count;
            }
            note(report, " over TLS", operation, stored, time, first);
        }
    }
    Ok(())
}
