//! How fast and how small the API server is: `cargo xtask bench [CASE…]`.
//!
//! Each case does a piece of work against a server in a process of its own, over TLS, and yields figures; the figures of
//! all cases are printed as one table beside their targets and beside kube-apiserver's. With `--peer` the same work is
//! also done against another API server in the same run.
//!
//! | module | what it holds |
//! |---|---|
//! | `cases` | the pieces of work, one file each |
//! | `wire` | the load generator's client: HTTP/1.1 over TLS, as little of it as a load needs |
//! | `informer` | the cache of a cluster, against a replayed server |
//! | `load` | connections that send one request after another |
//! | `requests` | the bytes of requests, made once and numbered |
//! | `endpoint`, `server` | where a server is; one that we started |
//! | `proc` | memory and processor time of a process |
//! | `report` | targets, figures, the table |

mod cases;
mod endpoint;
mod informer;
mod load;
mod proc;
mod report;
mod requests;
mod server;
mod wire;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use anyhow::{Context, ensure};
use clap::Parser;

use crate::{cases::Case, report::Report};

/// Measures the API server and prints a table.
#[derive(Parser)]
#[command(name = "kubewright-bench")]
struct Arguments {
    /// What to measure: start, create, get, list, watch, growth, informer. Everything unless said otherwise.
    cases: Vec<Case>,

    /// The `kubewright` to measure. The one beside this program unless said otherwise.
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,

    /// A kubeconfig of an API server that does the same work in the same run.
    #[arg(long, value_name = "FILE")]
    peer: Option<PathBuf>,

    /// The peer's process, where its memory and processor time are to be read.
    #[arg(long, value_name = "PID", requires = "peer")]
    peer_pid: Option<u32>,

    /// How long each load lasts.
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0)]
    seconds: f64,

    /// The most objects of the growth case.
    #[arg(long, value_name = "COUNT", default_value_t = 1_000_000)]
    largest: u64,

    /// Fail if a target is missed.
    #[arg(long)]
    check: bool,
}

/// What all cases need to know.
pub(crate) struct Settings {
    server: PathBuf,
    load_time: Duration,
    largest: u64,
}

fn main() -> ExitCode {
    // Processes that a case starts for itself.
    if let Some(result) = informer::role() {
        return match result {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("bench: {error:#}");
                ExitCode::FAILURE
            }
        };
    }
    match run(Arguments::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    ensure!(
        (0.1..=60.0).contains(&arguments.seconds),
        "--seconds is between 0.1 and 60"
    );
    let settings = Settings {
        server: match arguments.server {
            Some(path) => path,
            None => server::beside_this_program()?,
        },
        load_time: Duration::from_secs_f64(arguments.seconds),
        largest: arguments.largest,
    };
    let peer = match &arguments.peer {
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            let mut peer = endpoint::Endpoint::from_kubeconfig(&text)?;
            peer.pid = arguments.peer_pid;
            Some(peer)
        }
        None => None,
    };
    let cases = if arguments.cases.is_empty() {
        Case::ALL.to_vec()
    } else {
        arguments.cases
    };
    let mut report = Report::new(peer.is_some());
    for case in cases {
        eprintln!("{}", case.says());
        cases::run(case, &settings, peer.as_ref(), &mut report)
            .with_context(|| format!("the case {case:?} broke off"))?;
    }
    print!("{report}");
    if arguments.check && report.missed() > 0 {
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}
