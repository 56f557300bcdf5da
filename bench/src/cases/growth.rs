//! The same operations with 1,000, 100,000 and 1,000,000 objects stored: none of them may cost more for it.
//!
//! In process the cost is the processor time of the thread that does it, averaged, so that rare expensive operations
//! count and other programs do not. Over TLS it is the processor time of the server for an answer, on one connection.

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
const TOLERANCE: f64 = 2.0;
/// Few and many take turns, so that what else the machine does meets both. In process the median of the turns counts.
const TURNS: usize = 5;
/// Over TLS an operation is done so many times as often.
const OVER_TLS_TIMES: u64 = 2;
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
    on_one_thread(over_tls(settings, report))
}

/// A control plane in this process, filled.
struct Filled {
    stored: u64,
    server: ApiServer,
    next: Arc<AtomicU64>,
    costs: [Vec<f64>; OPERATIONS.len()],
}

fn in_process(settings: &Settings, report: &mut Report) -> anyhow::Result<()> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let mut planes = Vec::new();
    for stored in IN_PROCESS
        .into_iter()
        .filter(|count| *count <= settings.largest)
    {
        let plane = runtime.block_on(ControlPlane::builder().build());
        let plane = plane.map_err(|e| anyhow::anyhow!("no control plane: {}", e.message))?;
        let (server, next) = (plane.server().clone(), Arc::new(AtomicU64::new(0)));
        runtime.block_on(fill_in_process(&server, &next, stored))?;
        let costs = Default::default();
        planes.push(Filled {
            stored,
            server,
            next,
            costs,
        });
    }
    for _ in 0..TURNS {
        for plane in &mut planes {
            for (operation, costs) in OPERATIONS.into_iter().zip(&mut plane.costs) {
                let cost = runtime.block_on(measure(&plane.server, &plane.next, operation))?;
                costs.push(micros(cost) / operation.count() as f64);
            }
        }
    }
    let mut first = [f64::NAN; OPERATIONS.len()];
    for plane in planes {
        for ((operation, costs), first) in OPERATIONS.into_iter().zip(plane.costs).zip(&mut first) {
            note(report, "", operation, plane.stored, median(costs), first);
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

/// A server in a process of its own, filled.
struct Remote {
    stored: u64,
    server: Server,
    namespace: String,
    next: u64,
    times: [Duration; OPERATIONS.len()],
}

async fn over_tls(settings: &Settings, report: &mut Report) -> anyhow::Result<()> {
    let mut remotes = Vec::new();
    for stored in OVER_TLS
        .into_iter()
        .filter(|count| *count <= settings.largest)
    {
        let server = Server::start(&settings.server)?;
        let namespace = Namespace::make(&server.endpoint).await?.name;
        fill(&server.endpoint, &namespace, 0..stored, VALUE_BYTES).await?;
        let times = Default::default();
        remotes.push(Remote {
            stored,
            server,
            namespace,
            next: stored,
            times,
        });
    }
    for turn in 0..TURNS {
        for remote in &mut remotes {
            for operation in OPERATIONS {
                remote.turn(operation, turn).await?;
            }
        }
    }
    let mut first = [f64::NAN; OPERATIONS.len()];
    for remote in remotes {
        for ((operation, time), first) in OPERATIONS.into_iter().zip(remote.times).zip(&mut first) {
            let answers = operation.count() * OVER_TLS_TIMES * TURNS as u64;
            let cost = micros(time) / answers as f64;
            note(report, " over TLS", operation, remote.stored, cost, first);
        }
    }
    Ok(())
}

impl Remote {
    /// One turn of an operation. What counts is the sum over the turns, as the time is told in steps of 10 ms.
    async fn turn(&mut self, operation: Operation, turn: usize) -> anyhow::Result<()> {
        let endpoint = &self.server.endpoint;
        let path = requests::config_maps(&self.namespace);
        let one = format!("{path}/{}", requests::hole());
        let page = format!("{path}?limit={PAGE}");
        let map = requests::config_map(VALUE_BYTES);
        // An object of another length than the stored one is a change.
        let changed = requests::config_map(VALUE_BYTES + 1 + turn);
        let (method, target, body) = match operation {
            Operation::Create => ("POST", &path, map.as_str()),
            Operation::Get => ("GET", &one, ""),
            Operation::Update => ("PUT", &one, changed.as_str()),
            Operation::Page => ("GET", &page, ""),
        };
        let count = operation.count() * OVER_TLS_TIMES;
        let numbers: Numbers = match operation {
            Operation::Create => counting(self.next, self.next + count),
            Operation::Update => counting(0, count),
            Operation::Get | Operation::Page => limited(scattered(self.stored), count),
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
        let used = load.run().await?.processor_in_all();
        self.times[operation as usize] += used.context("the server has no process")?;
        if matches!(operation, Operation::Create) {
            self.next += count;
        }
        Ok(())
    }
}
