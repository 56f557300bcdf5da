//! The informer: how much processor time and memory a cache costs, and how fast it follows.
//!
//! The server is a replay: it makes pods from a seed and sends them over plain HTTP, so that what is measured is the client.
//! Server and client are processes of their own; the client's processor time and memory are read from `/proc`. Every
//! figure is gated by a digest: a cache that lacks one object scores nothing.
//!
//! | module | what it holds |
//! |---|---|
//! | `corpus` | pods of 6.9 KB, the same for the same number |
//! | `replay` | the server |
//! | `client` | the informer under measurement |

mod client;
mod corpus;
mod replay;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::report::{Measure, Report, Whose};

/// The first argument of the processes that the benchmark starts for itself.
const ROLE: &str = "informer-role";

/// One piece of work for a client process.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Work {
    url: String,
    pods: u64,
    events: u64,
    handlers: usize,
    compressed: bool,
    watch_list: bool,
    /// Read every object once as a typed value.
    typed: bool,
    /// Have everything listed again.
    relist: bool,
}

/// What a client process found.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Found {
    sync_cpu_seconds: f64,
    sync_wall_seconds: f64,
    typed_cpu_seconds: f64,
    bytes_per_pod: f64,
    json_per_pod: f64,
    peak_to_steady: f64,
    relist_peak_to_steady: f64,
    events_per_cpu_second: f64,
    lookup_micros: f64,
}

/// Runs this process as server or client of the benchmark, if it was started as one.
pub(crate) fn role() -> Option<anyhow::Result<()>> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next()? != ROLE {
        return None;
    }
    Some(match arguments.next().as_deref() {
        Some("server") => replay::serve(),
        Some("client") => client::run(&arguments.next().unwrap_or_default()),
        _ => Err(anyhow::anyhow!("an unknown role")),
    })
}

/// Measures, and notes the figures.
pub(crate) fn run(report: &mut Report, quick: bool) -> anyhow::Result<()> {
    let sizes: &[u64] = if quick {
        &[10_000]
    } else {
        &[10_000, 50_000, 200_000]
    };
    for &pods in sizes {
        let found = measure(Work {
            pods,
            relist: true,
            typed: pods <= 50_000,
            ..Work::default()
        })?;
        let per_pod = found.sync_cpu_seconds * 1e6 / pods as f64;
        let cpu = Measure::cost("informer: sync", "µs CPU/pod").target(15.0);
        report.add_named(
            format!("informer: list of {pods} pods"),
            &cpu,
            Whose::Ours,
            per_pod,
        );
        let over = Measure::cost("informer: memory over JSON", "B/pod").target(600.0);
        let extra = found.bytes_per_pod - found.json_per_pod;
        report.add_named(
            format!("informer: memory over JSON, {pods} pods"),
            &over,
            Whose::Ours,
            extra,
        );
        let peak = Measure::cost("informer: peak/steady", "x").target(1.2);
        report.add_named(
            format!("informer: peak/steady in sync, {pods} pods"),
            &peak,
            Whose::Ours,
            found.peak_to_steady,
        );
        report.add_named(
            format!("informer: peak/steady in relist, {pods} pods"),
            &peak,
            Whose::Ours,
            found.relist_peak_to_steady,
        );
        let lookup = Measure::cost("informer: indexed lookup", "µs");
        report.add_named(
            format!("informer: indexed lookup, {pods} pods"),
            &lookup,
            Whose::Ours,
            found.lookup_micros,
        );
        if found.typed_cpu_seconds > 0.0 {
            let typed = Measure::cost("informer: read once typed", "µs CPU/pod").reference(52.0);
            let per_pod = found.typed_cpu_seconds * 1e6 / pods as f64;
            report.add_named(
                format!("informer: list and read once typed, {pods} pods"),
                &typed,
                Whose::Ours,
                per_pod,
            );
        }
    }
    let pods = sizes[sizes.len() / 2];
    let found = measure(Work {
        pods,
        watch_list: true,
        ..Work::default()
    })?;
    let cpu = Measure::cost("informer: watch-list", "µs CPU/pod").target(15.0);
    report.add_named(
        format!("informer: watch-list of {pods} pods"),
        &cpu,
        Whose::Ours,
        found.sync_cpu_seconds * 1e6 / pods as f64,
    );
    let found = measure(Work {
        pods,
        compressed: true,
        ..Work::default()
    })?;
    let packed = Measure::cost("informer: compressed", "B/pod").target(2500.0);
    report.add_named(
        format!("informer: compressed, {pods} pods"),
        &packed,
        Whose::Ours,
        found.bytes_per_pod,
    );
    report.add_named(
        format!("informer: compressed list of {pods} pods"),
        &Measure::cost("", "µs CPU/pod"),
        Whose::Ours,
        found.sync_cpu_seconds * 1e6 / pods as f64,
    );
    let events = if quick { 50_000 } else { 200_000 };
    for handlers in [1, 100] {
        let found = measure(Work {
            pods: 1000,
            events,
            handlers,
            ..Work::default()
        })?;
        let rate = Measure::rate("informer: watch", "events/CPU s").target(60_000.0);
        report.add_named(
            format!("informer: watch, {handlers} handler(s)"),
            &rate,
            Whose::Ours,
            found.events_per_cpu_second,
        );
    }
    Ok(())
}

fn measure(work: Work) -> anyhow::Result<Found> {
    let (server, url) = start_server()?;
    let work = Work { url, ..work };
    let result = Command::new(std::env::current_exe()?)
        .args([ROLE, "client", &serde_json::to_string(&work)?])
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start the client");
    drop(server);
    let output = result?;
    anyhow::ensure!(output.status.success(), "the client failed: {work:?}");
    let found: Found = serde_json::from_slice(&output.stdout).context("the client's figures")?;
    eprintln!("  {work:?}\n  {found:?}");
    Ok(found)
}

/// A server process, ended when it is dropped.
struct ReplayServer(Child);

impl Drop for ReplayServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start_server() -> anyhow::Result<(ReplayServer, String)> {
    let mut child = Command::new(std::env::current_exe()?)
        .args([ROLE, "server"])
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the replay server")?;
    let output = child.stdout.take().context("the server says nothing")?;
    let server = ReplayServer(child);
    let mut url = String::new();
    BufReader::new(output).read_line(&mut url)?;
    Ok((server, url.trim().to_owned()))
}
