//! The cases, one file each: the work, the contestants and the rows.
//!
//! A case is a row of [`ALL`] and a file with `run`, which fills in a section: its rows, and a contest that yields
//! their figures. Cases of processes (informer, work queue) compare a role of this program with programs of
//! `bench/peers`; cases of controllers do the same on a server, with `controllers`; cases of servers compare ours with
//! kube-apiserver, with `servers`.

mod admission;
mod aggregation;
mod apply;
mod cel;
mod controller_hello;
mod controller_idle;
mod controllers;
mod create;
mod create_durable;
mod custom_definitions;
mod custom_resources;
mod custom_start;
mod data_directory;
mod deployments;
mod documents;
mod durable_reads;
mod etcd;
mod forms;
mod get;
mod growth;
mod growth_tls;
mod informer;
mod informer_handlers;
mod informer_modes;
mod informer_scale;
mod leader;
mod ledger;
mod list;
mod list_forms;
mod list_pages;
mod openapi;
mod policies;
mod rbac;
mod reconcile;
mod reconcile_latency;
mod reviews;
mod servers;
mod start;
mod tokens;
mod tool;
mod watch;
mod watch_many;
mod webhooks;
mod widgets;
mod workloads;
mod workqueue;

use std::{future::Future, path::PathBuf, time::Duration};

use anyhow::ensure;
use tokio::{runtime::Builder, task::LocalSet};

use crate::{
    endpoint::Endpoint,
    peer::Peers,
    requests::Template,
    results::Section,
    server::PeerPrograms,
    wire::{Answer, Connection},
};

/// A case.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// A description of the work and of the figures.
    pub(crate) what: &'static str,
    pub(crate) run: fn(&Bench, &mut Section) -> anyhow::Result<()>,
}

/// The settings that all cases share.
pub(crate) struct Bench {
    pub(crate) quick: bool,
    /// The number of rounds, if it was given.
    pub(crate) rounds: Option<usize>,
    /// Milliseconds that are added to every sync of ours.
    pub(crate) added_sync_latency: Option<f64>,
    /// The path of our `kubewright`.
    pub(crate) server: PathBuf,
    /// The paths of kube-apiserver and etcd, if they were given.
    pub(crate) apiserver: Option<PeerPrograms>,
    pub(crate) peers: Peers,
}

/// All cases in the order of the document.
pub(crate) const ALL: [Case; 41] = [
    informer::CASE,
    informer_scale::CASE,
    informer_modes::CASE,
    informer_handlers::CASE,
    workqueue::CASE,
    reconcile::CASE,
    reconcile_latency::CASE,
    leader::CASE,
    controller_idle::CASE,
    controller_hello::CASE,
    start::CASE,
    create::CASE,
    create_durable::CASE,
    durable_reads::CASE,
    data_directory::CASE,
    ledger::CASE,
    etcd::CASE,
    deployments::CASE,
    apply::CASE,
    get::CASE,
    list::CASE,
    list_forms::CASE,
    list_pages::CASE,
    watch::CASE,
    watch_many::CASE,
    openapi::CASE,
    growth::CASE,
    growth_tls::CASE,
    custom_resources::CASE,
    custom_definitions::CASE,
    custom_start::CASE,
    cel::CASE,
    documents::CASE,
    tokens::CASE,
    rbac::CASE,
    webhooks::CASE,
    admission::CASE,
    policies::CASE,
    aggregation::CASE,
    workloads::CASE,
    tool::CASE,
];

/// The name of our column.
const OURS: &str = "ours";

impl Bench {
    /// Returns the number of rounds, with the default of a case.
    fn rounds(&self, by_itself: usize) -> usize {
        match self.rounds {
            Some(rounds) => rounds.max(1),
            None if self.quick => 1,
            None => by_itself,
        }
    }

    /// Returns a size, or the small one of a quick run.
    fn size<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }
}

/// Runs a future and its tasks on this thread alone, and leaves the other processors to the server.
pub(crate) fn on_one_thread<T>(future: impl Future<Output = T>) -> T {
    let runtime = Builder::new_current_thread().enable_all().build();
    LocalSet::new().block_on(&runtime.expect("a runtime on this thread starts"), future)
}

/// Sends a request on its own connection, and returns the body.
pub(crate) async fn ask(
    endpoint: &Endpoint,
    request: &Template,
    status: u16,
) -> anyhow::Result<String> {
    let (answered, body) = try_ask(endpoint, request).await?;
    ensure!(
        answered == status,
        "the server responded with {answered}: {body}"
    );
    Ok(body)
}

/// Sends a request on its own connection, and returns the response whatever its status.
async fn try_ask(endpoint: &Endpoint, request: &Template) -> anyhow::Result<(u16, String)> {
    let mut connection = Connection::open(endpoint).await?;
    let mut answer = Answer::new();
    let mut body = Vec::new();
    connection
        .exchange(request.bytes(), &mut answer, |data| {
            body.extend_from_slice(data)
        })
        .await?;
    Ok((answer.status, String::from_utf8(body)?))
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
