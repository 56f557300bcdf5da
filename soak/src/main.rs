//! Mixed load with faults against `kubewright up`, checked by a model: `cargo xtask soak`.
//!
//! Workers create, update, patch, apply, delete and list objects of a built-in and a custom kind. Each one owns its objects, so
//! it knows what the server must hold. Watchers rebuild the state from events. Every write numbers its object one higher, so a
//! lost event is a gap. Faults are connections that are dropped in the middle of requests and watches, and watchers that read
//! too slowly.
//!
//! | module | contents |
//! |---|---|
//! | `kinds` | the two kinds, and their objects |
//! | `worker` | the writers and their model |
//! | `watcher` | watchers: steady, dropped again and again, slow |
//! | `process` | the server as a process: its memory and file descriptors |
//! | `tally` | the counts of everything that happened |
//! | `report` | the table |

mod kinds;
mod process;
mod report;
mod tally;
mod watcher;
mod worker;

use std::{
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context;
use clap::Parser;
use tokio::{sync::watch, time::sleep};

use crate::{
    kinds::Kind,
    process::{Sample, ServerProcess},
    tally::Tally,
    watcher::{Habit, Watcher},
    worker::Worker,
};

/// The time between two samples of the server.
const SAMPLE_EVERY: Duration = Duration::from_secs(5);

/// The time that watchers have to catch up when the load has ended.
const CATCH_UP: Duration = Duration::from_secs(30);

/// Runs mixed load with faults against a server, and prints what it costs
#[derive(Parser)]
#[command(name = "cargo xtask soak")]
struct Arguments {
    /// Length of the run
    #[arg(long, value_name = "N", default_value_t = 60)]
    minutes: u32,

    /// Operations per second, of all workers together
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,

    /// Number of workers
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=64))]
    workers: u32,

    /// The server to start [default: the `kubewright` next to this program]
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match soak(Arguments::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("soak: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the load, prints the table, and returns whether everything held.
async fn soak(arguments: Arguments) -> anyhow::Result<bool> {
    let program = match arguments.server {
        Some(program) => program,
        None => std::env::current_exe()?.with_file_name("kubewright"),
    };
    let server = ServerProcess::start(&program).await?;
    let kinds = kinds::install(server.client().await?).await?;
    let tally = Arc::new(Tally::default());
    let (stop, stopped) = watch::channel(false);
    let length = Duration::from_secs(60) * arguments.minutes;

    let mut workers = Vec::new();
    for number in 0..arguments.workers {
        let worker = Worker::new(number, server.client().await?, &kinds, tally.clone());
        let pause = Duration::from_secs(1) * arguments.workers / arguments.rate;
        workers.push(tokio::spawn(worker.run(
            server.config().clone(),
            pause,
            stopped.clone(),
        )));
    }
    let mut watchers = Vec::new();
    for kind in &kinds {
        for habit in [Habit::Steady, Habit::Flaky, Habit::Slow] {
            let watcher = Watcher::new(kind.clone(), habit, tally.clone());
            watchers.push(tokio::spawn(
                watcher.run(server.config().clone(), stopped.clone()),
            ));
        }
    }

    let samples = sample(&server, &tally, length).await?;
    stop.send(true).context("nobody is left to stop")?;
    let mut expected = Vec::new();
    for worker in workers {
        expected.extend(worker.await??);
    }
    let expected = kinds::by_kind(&kinds, expected);
    let end = Instant::now() + CATCH_UP;
    for watcher in watchers {
        watcher.await?.finish(&server, &expected, end).await?;
    }
    let client = server.client().await?;
    for kind in &kinds {
        let held = kinds::list(&kind.api(client.clone())).await?;
        tally.wrong_objects(kinds::differences(&held, &expected[&kind.name]));
    }
    let report = report::Report::new(arguments.minutes, samples, &tally);
    println!("{report}");
    Ok(report.holds())
}

/// Samples the server until the time is over, and prints a line each minute.
async fn sample(
    server: &ServerProcess,
    tally: &Tally,
    length: Duration,
) -> anyhow::Result<Vec<Sample>> {
    let start = Instant::now();
    let mut samples = Vec::new();
    let mut minute = 0;
    while start.elapsed() < length {
        sleep(SAMPLE_EVERY.min(length.saturating_sub(start.elapsed()))).await;
        let sample = server.sample(start.elapsed())?;
        if sample.at.as_secs() / 60 > minute {
            minute = sample.at.as_secs() / 60;
            eprintln!("{minute:>4} min  {sample}  {tally}");
        }
        samples.push(sample);
    }
    Ok(samples)
}

/// The kinds that the load is about.
type Kinds = Vec<Arc<Kind>>;
