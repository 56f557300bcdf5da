//! The pieces of work, one file each: what is done, and what is measured.

mod create;
mod deployments;
mod get;
mod growth;
mod list;
mod openapi;
mod start;
mod watch;

use std::{future::Future, time::Duration};

use anyhow::{Context, ensure};
use clap::ValueEnum;
use tokio::{runtime::Builder, task::LocalSet};

use crate::{
    Settings,
    endpoint::Endpoint,
    load::{Load, counting},
    report::{Report, Whose},
    requests::{self, Template},
    server::Server,
    wire::{Answer, Connection},
};

/// A piece of work.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Case {
    Start,
    Create,
    Deployments,
    Get,
    List,
    Watch,
    Openapi,
    Growth,
    Informer,
}

impl Case {
    pub(crate) const ALL: [Self; 9] = [
        Self::Start,
        Self::Create,
        Self::Deployments,
        Self::Get,
        Self::List,
        Self::Watch,
        Self::Openapi,
        Self::Growth,
        Self::Informer,
    ];

    /// What it does, in a line.
    pub(crate) fn says(self) -> &'static str {
        match self {
            Self::Start => "start: from nothing to ready, and at rest",
            Self::Create => "create: small ConfigMaps over 32 connections",
            Self::Deployments => "deployments: 4 KB each over 32 connections",
            Self::Get => "get: one of 1,000 ConfigMaps over 32 connections",
            Self::List => "list: 49 MB in one answer",
            Self::Watch => "watch: one write, 1,000 watchers",
            Self::Openapi => "openapi: documents made when they are first asked for",
            Self::Growth => "growth: the same operations with few and with many objects",
            Self::Informer => "informer: a cache of pods from a replayed server",
        }
    }
}

/// Connections of the loads.
const CONNECTIONS: usize = 32;
/// Not counted at the beginning of a load.
const WARM_UP: Duration = Duration::from_millis(500);
/// The value of the ConfigMaps that are created and read.
const VALUE_BYTES: usize = 512;

/// Does a case's work on our server and, if there is one, on the peer.
pub(crate) fn run(
    case: Case,
    settings: &Settings,
    peer: Option<&Endpoint>,
    report: &mut Report,
) -> anyhow::Result<()> {
    match case {
        Case::Start => return start::run(settings, peer, report),
        Case::Growth => return growth::run(settings, report),
        Case::Informer => return crate::informer::run(report, settings.largest < 100_000),
        Case::Create | Case::Deployments | Case::Get | Case::List | Case::Watch | Case::Openapi => {
        }
    }
    let server = Server::start(&settings.server)?;
    on_one_thread(work(case, settings, &server.endpoint, Whose::Ours, report))?;
    drop(server);
    if let Some(peer) = peer {
        on_one_thread(work(case, settings, peer, Whose::Peers, report)).context("at the peer")?;
    }
    Ok(())
}

/// Runs a future, and the tasks it makes, on this thread alone: the rest of the machine is the server's.
fn on_one_thread<T>(future: impl Future<Output = T>) -> T {
    let runtime = Builder::new_current_thread().enable_all().build();
    LocalSet::new().block_on(&runtime.expect("a runtime on this thread starts"), future)
}

async fn work(
    case: Case,
    settings: &Settings,
    endpoint: &Endpoint,
    whose: Whose,
    report: &mut Report,
) -> anyhow::Result<()> {
    let namespace = Namespace::make(endpoint).await?;
    let name = &namespace.name;
    let created = match case {
        Case::Create => create::run(settings, endpoint, name, whose, report).await?,
        Case::Deployments => deployments::run(settings, endpoint, name, whose, report).await?,
        Case::Get => get::run(settings, endpoint, name, whose, report).await?,
        Case::List => list::run(endpoint, name, whose, report).await?,
        Case::Watch => watch::run(endpoint, name, whose, report).await?,
        Case::Openapi => openapi::run(endpoint, whose, report).await?,
        Case::Start | Case::Growth | Case::Informer => 0,
    };
    // Ours is thrown away as a whole.
    if whose == Whose::Peers {
        namespace.remove(endpoint, created).await?;
    }
    Ok(())
}

/// A namespace for the objects of one case.
struct Namespace {
    name: String,
}

impl Namespace {
    async fn make(endpoint: &Endpoint) -> anyhow::Result<Self> {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
        let name = format!("kubewright-bench-{}", since.as_millis());
        let body =
            format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{name}"}}}}"#);
        let request = Template::new(endpoint, "POST", "/api/v1/namespaces", &body);
        ask(endpoint, &request, 201)
            .await
            .context("cannot make a namespace")?;
        Ok(Self { name })
    }

    /// Deletes the numbered ConfigMaps below `created`, and then the namespace.
    async fn remove(self, endpoint: &Endpoint, created: u64) -> anyhow::Result<()> {
        let path = requests::config_maps(&self.name);
        let one = format!("{path}/{}", requests::hole());
        let load = Load {
            endpoint,
            connections: CONNECTIONS.min(created as usize),
            request: Template::new(endpoint, "DELETE", &one, ""),
            status: 200,
            numbers: counting(0, created),
            warm_up: Duration::ZERO,
            time: Duration::from_secs(120),
        };
        if created > 0 {
            load.run().await.context("cannot delete what was created")?;
        }
        let path = format!("/api/v1/namespaces/{}", self.name);
        ask(endpoint, &Template::new(endpoint, "DELETE", &path, ""), 200).await?;
        Ok(())
    }
}

/// Asks once on a connection of its own. The answer is the body.
async fn ask(endpoint: &Endpoint, request: &Template, status: u16) -> anyhow::Result<String> {
    let mut connection = Connection::open(endpoint).await?;
    let mut answer = Answer::new();
    let mut body = Vec::new();
    connection
        .exchange(request.bytes(), &mut answer, |data| {
            body.extend_from_slice(data)
        })
        .await?;
    let body = String::from_utf8(body)?;
    ensure!(
        answer.status == status,
        "the server answered {}: {body}",
        answer.status
    );
    Ok(body)
}

/// Creates the ConfigMaps with the numbers `from..to`.
async fn fill(
    endpoint: &Endpoint,
    namespace: &str,
    numbers: std::ops::Range<u64>,
    value_bytes: usize,
) -> anyhow::Result<()> {
    let path = requests::config_maps(namespace);
    let load = Load {
        endpoint,
        connections: CONNECTIONS,
        request: Template::new(endpoint, "POST", &path, &requests::config_map(value_bytes)),
        status: 201,
        numbers: counting(numbers.start, numbers.end),
        warm_up: Duration::ZERO,
        time: Duration::from_secs(120),
    };
    load.run().await.context("cannot create objects")?;
    Ok(())
}

/// The one in the middle.
fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
