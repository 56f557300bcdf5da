//! Our managers: the same work as `bench/peers/go/controller`, from the same argument.
//!
//! | mode | what it does |
//! |---|---|
//! | `reconcile` | many reconciles that do nothing, read their object, or write its status |
//! | `latency` | reconciles objects that somebody else changes, and notes how late |
//! | `idle` | is idle |
//! | `leader` | hands the lead over |
//!
//! They run on as many threads as there are processors, as programs do unless they say otherwise.

mod idle;
mod latency;
mod leader;
mod reconcile;

use std::{future::Future, time::Duration};

use anyhow::Context;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kubewright_controller::{Manager, ManagerError, manager::ManagerBuilder};
use serde::{Deserialize, Serialize};

use crate::{contest::Sample, proc};

/// What the writer of a latency case is told when the controller is ready, and tells it at the end: names of ConfigMaps.
pub(crate) const READY: &str = "ready";
pub(crate) const END: &str = "end";

/// One piece of work.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Work {
    pub(crate) mode: Mode,
    pub(crate) kubeconfig: String,
    pub(crate) namespace: String,
    /// How many objects there are.
    pub(crate) objects: u64,
    /// How many reconciles run at once.
    pub(crate) workers: usize,
    /// How often every object is reconciled without a write.
    pub(crate) noops: u64,
    /// How often its status is written.
    pub(crate) writes: u64,
    pub(crate) hand_overs: u64,
    /// How long it is looked at while it is idle.
    pub(crate) idle_millis: u64,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    #[default]
    Reconcile,
    Latency,
    Idle,
    Leader,
}

pub(super) fn run(work: &str) -> anyhow::Result<Sample> {
    let work: Work = serde_json::from_str(work)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        match work.mode {
            Mode::Reconcile => reconcile::measure(&work).await,
            Mode::Latency => latency::measure(&work).await,
            Mode::Idle => idle::measure(&work).await,
            Mode::Leader => leader::measure(&work).await,
        }
    })
}

impl Work {
    /// A manager that caches one namespace.
    async fn manager(&self) -> anyhow::Result<ManagerBuilder> {
        let kubeconfig = Kubeconfig::read_from(&self.kubeconfig)?;
        let options = KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await?;
        let client = kube::Client::try_from(config)?;
        Ok(Manager::builder(client).namespaces([self.namespace.as_str()]))
    }
}

/// Runs the manager until the measuring is done.
async fn while_running<T>(
    manager: &Manager,
    measure: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    tokio::select! {
        ended = manager.run(std::future::pending()) => {
            ended?;
            Err(anyhow::anyhow!("the manager ended"))
        }
        measured = measure => measured,
    }
}

/// Processor time of this process.
fn processor_time() -> anyhow::Result<Duration> {
    proc::processor_time(&[std::process::id()])
}

/// What a manager in a task of its own ended with.
async fn ended(task: tokio::task::JoinHandle<Result<(), ManagerError>>) -> anyhow::Result<()> {
    task.await?.context("the manager failed")
}
