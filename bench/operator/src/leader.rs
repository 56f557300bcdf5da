//! Two managers with one leader: the time from stopping it until the other has started its controllers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use anyhow::Context;
use kubewright_bench_operator::{Sample, Work, manager, median};
use kubewright_controller::{Group, ManagerError, leader_election::ElectionConfig};
use tokio::{sync::oneshot, task::JoinHandle};

/// Detects more than one leader at a time.
#[derive(Default)]
struct Leading {
    now: AtomicU64,
    overlaps: AtomicU64,
}

/// A running manager.
struct Candidate {
    /// The time at which it began to lead.
    leads: oneshot::Receiver<Instant>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), ManagerError>>,
}

impl Candidate {
    async fn start(work: &Work, leading: &Arc<Leading>) -> anyhow::Result<Self> {
        let election = ElectionConfig::new("leader", &work.namespace);
        let manager = manager(work).await?.leader_election(election).build()?;
        let (tell, leads) = oneshot::channel();
        let leading = leading.clone();
        manager.add(Group::LeaderElection, "work", |stop| async move {
            // The receiver is gone if the wait was given up.
            let _ = tell.send(Instant::now());
            if leading.now.fetch_add(1, SeqCst) > 0 {
                leading.overlaps.fetch_add(1, SeqCst);
            }
            stop.stopping().await;
            leading.now.fetch_sub(1, SeqCst);
            Ok(())
        })?;
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            let stopped = async { drop(stopped.await) };
            manager.run(stopped).await
        });
        Ok(Self { leads, stop, task })
    }
}

pub(super) async fn measure(work: &Work) -> anyhow::Result<Sample> {
    let leading = Arc::new(Leading::default());
    let mut first = Candidate::start(work, &leading).await?;
    (&mut first.leads).await.context("the first never leads")?;
    let mut times = Vec::new();
    for number in 0..work.hand_overs {
        let mut second = Candidate::start(work, &leading).await?;
        // It has tried and failed, and the leader is between two renewals.
        tokio::time::sleep(Duration::from_millis(500 + 331 * (number % 7))).await;
        let began = Instant::now();
        drop(first.stop);
        let led = (&mut second.leads)
            .await
            .context("the second never leads")?;
        times.push((led - began).as_secs_f64() * 1e3);
        ended(first.task).await?;
        first = second;
    }
    drop(first.stop);
    ended(first.task).await?;
    let mut sample = Sample::default();
    let middle = median(&times).unwrap_or(f64::NAN);
    let longest = times.iter().copied().fold(f64::NAN, f64::max);
    let figures = [("hand_over", middle), ("hand_over_longest", longest)];
    let figures = figures.map(|(key, figure)| (key.to_owned(), figure));
    sample.figures.extend(figures);
    let most = 1 + leading.overlaps.load(SeqCst);
    sample
        .digests
        .insert("leaders at once".to_owned(), most.to_string());
    Ok(sample)
}

/// The result of a manager in its own task.
async fn ended(task: tokio::task::JoinHandle<Result<(), ManagerError>>) -> anyhow::Result<()> {
    task.await?.context("the manager failed")
}
