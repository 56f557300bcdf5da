//! Runs of the story: each in its own thread and runtime, several at once.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use super::{
    Perturbation, Script,
    progress::Progress,
    stage::{self, Played},
};
use crate::cluster::Snapshot;

/// The real time without progress after which a run is considered hung.
const HANGS: Duration = Duration::from_secs(300);

/// The factor by which a run with progress may take longer.
const PATIENCE: usize = 4;

/// Runs the story under each perturbation, several at once. The outcomes are in the order of the plan.
pub(super) fn play_all(
    script: &Script,
    start: &Snapshot,
    plan: &[Perturbation],
    jobs: usize,
) -> Vec<Result<Played, String>> {
    let outcomes: Vec<OnceLock<_>> = plan.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..jobs.min(plan.len()) {
            scope.spawn(|| {
                while let Some((perturbation, outcome)) = {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    plan.get(i).zip(outcomes.get(i))
                } {
                    outcome.get_or_init(|| play(script, start, Some(*perturbation)));
                }
            });
        }
    });
    let missing = || Err("the run did not take place".to_owned());
    outcomes
        .into_iter()
        .map(|outcome| outcome.into_inner().unwrap_or_else(missing))
        .collect()
}

/// Prepares the cluster that every run begins with.
pub(super) fn prepare(script: &Script) -> Result<Snapshot, String> {
    let program = script.program.clone();
    in_time(move |progress| async move { stage::prepare(&program, &progress).await })
}

/// Runs the story once.
pub(super) fn play(
    script: &Script,
    start: &Snapshot,
    perturbation: Option<Perturbation>,
) -> Result<Played, String> {
    let (script, start) = (script.clone(), start.clone());
    in_time(
        move |progress| async move { stage::play(script, &start, perturbation, progress).await },
    )
}

/// Runs a task in its own thread and runtime with virtual time, and fails if it hangs.
fn in_time<T, W, F>(work: W) -> Result<T, String>
where
    T: Send + 'static,
    W: FnOnce(Arc<Progress>) -> F + Send + 'static,
    F: Future<Output = Result<T, String>>,
{
    let progress = Arc::new(Progress::default());
    let seen = progress.clone();
    let (tell, told) = mpsc::channel();
    let thread = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build();
        let (runtime, outcome) = match runtime {
            Ok(runtime) => {
                let outcome = runtime.block_on(work(progress));
                (Some(runtime), outcome)
            }
            Err(error) => (None, Err(format!("no runtime: {error}"))),
        };
        // The receiver is gone if the run timed out. The program is cleaned up later.
        let _ = tell.send(outcome);
        drop(runtime);
    });
    let mut before = seen.to_string();
    let mut patience = 0..PATIENCE;
    let told = loop {
        let told = told.recv_timeout(HANGS);
        let now = seen.to_string();
        // A run that makes progress is only slow, up to a limit.
        let comes_on = now != std::mem::replace(&mut before, now.clone());
        let late = matches!(told, Err(mpsc::RecvTimeoutError::Timeout));
        if !late || !comes_on || patience.next().is_none() {
            break told;
        }
    };
    match told {
        Ok(outcome) => outcome,
        Err(mpsc::RecvTimeoutError::Timeout) => {
            Err(format!("it hangs: not finished after {HANGS:?}, {seen}"))
        }
        Err(mpsc::RecvTimeoutError::Disconnected) => Err(match thread.join() {
            Err(panic) => panic_message(&*panic),
            Ok(()) => "it ended without a message".to_owned(),
        }),
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
