//! The protocol between the benchmarks and programs that run controllers. Ours are next to it: `main.rs`, and the
//! smallest one, `bin/kubewright-bench-hello.rs`; `bench/peers/go/controller` speaks the same protocol.
//!
//! They run on as many threads as there are processors, which is the default, and with the allocator of operators made
//! by `kubewright new`. They are separate programs so that their size is that of an operator.

pub mod proc;

use std::{collections::BTreeMap, future::Future};

use anyhow::Context;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kubewright_controller::{Manager, ManagerBuilder};
use serde::{Deserialize, Serialize};

/// The name of the ConfigMap that tells the writer of a latency case that the controller is ready.
pub const READY: &str = "ready";

/// The name of the ConfigMap that tells the controller that the writer is done.
pub const END: &str = "end";

/// A piece of work.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Work {
    /// The task.
    pub mode: Mode,
    /// The path of a kubeconfig.
    pub kubeconfig: String,
    /// The namespace of the objects.
    pub namespace: String,
    /// The number of objects.
    pub objects: u64,
    /// The number of concurrent reconciles.
    pub workers: usize,
    /// The number of reconciles of every object without a write.
    pub noops: u64,
    /// The number of status writes of every object.
    pub writes: u64,
    /// The number of leadership changes.
    pub hand_overs: u64,
    /// The time for which an idle program is observed.
    pub idle_millis: u64,
    /// The directory of the certificate of webhooks.
    pub certificates: String,
    /// The port of webhooks.
    pub port: u16,
}

/// A task.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Runs many reconciles that do nothing, read their object, or write its status.
    #[default]
    Reconcile,
    /// Reconciles objects that are changed by another program, and records the delays.
    Latency,
    /// Idles.
    Idle,
    /// Hands over leadership.
    Leader,
    /// Serves webhooks until the standard input ends, which is a review to answer in process.
    Webhooks,
}

/// The result of one turn. Programs print it as one line of JSON.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Sample {
    /// The figures by the key of their row.
    pub figures: BTreeMap<String, f64>,
    /// Digests of the contents at a point of the run, by the name of the point.
    pub digests: BTreeMap<String, String>,
    /// The total processor time.
    pub cpu_seconds: f64,
    /// The peak of resident memory.
    pub peak_bytes: f64,
    /// The name and version of the measured software.
    pub versions: BTreeMap<String, String>,
}

/// A digest that does not depend on the order of objects: the sum of a hash of key, uid and version of each.
#[derive(Clone, Copy, Default)]
pub struct Digest(u64);

impl Digest {
    /// Adds an object.
    pub fn add(&mut self, key: &str, uid: &str, version: &str) {
        let text = [key, "|", uid, "|", version];
        let bytes = text.iter().flat_map(|part| part.bytes());
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        self.0 = self.0.wrapping_add(hash);
    }

    /// Returns the digest in its comparable form.
    pub fn text(self) -> String {
        format!("{:016x}", self.0)
    }
}

/// Returns the median; for an even number, the mean of the two in the middle.
pub fn median(figures: &[f64]) -> Option<f64> {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = *sorted.get(sorted.len().checked_sub(1)? / 2)?;
    Some((lower + upper) / 2.0)
}

/// Does the work given as the first argument, and prints the result with the resources that the process used.
pub fn run<F>(measure: impl FnOnce(Work) -> F) -> anyhow::Result<()>
where
    F: Future<Output = anyhow::Result<Sample>>,
{
    let work = std::env::args().nth(1).context("the work is missing")?;
    let work: Work = serde_json::from_str(&work)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let mut sample = runtime.block_on(measure(work))?;
    let me = [std::process::id()];
    sample.cpu_seconds = proc::processor_time(&me)?.as_secs_f64();
    sample.peak_bytes = proc::peak(&me)? as f64;
    println!("{}", serde_json::to_string(&sample)?);
    Ok(())
}

/// Creates a manager that caches the namespace of the work.
pub async fn manager(work: &Work) -> anyhow::Result<ManagerBuilder> {
    let kubeconfig = Kubeconfig::read_from(&work.kubeconfig)?;
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await?;
    let client = kube::Client::try_from(config)?;
    Ok(Manager::builder(client).namespaces([work.namespace.as_str()]))
}

/// Runs the manager until the measurement is done.
pub async fn while_running<T>(
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
