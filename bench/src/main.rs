//! Speed and size compared with the peers: `cargo xtask bench`.
//!
//! Each case does a piece of work with ours and the peers in turn, and yields a section. The sections are kept between
//! runs, and `BENCHMARKS.md` is written from them.
//!
//! | module | contents |
//! |---|---|
//! | `cases` | the cases, one file each |
//! | `contest` | rounds in which ours and the peers take turns |
//! | `peer` | peers in their own processes |
//! | `roles` | processes that the benchmark starts for itself: our side of such cases |
//! | `replay` | the server that informers are measured against |
//! | `results`, `rows`, `report` | the results, the targets, the document |
//! | `machine` | the machine and the versions |
//! | `server`, `endpoint` | API servers that the benchmark starts; calling one |
//! | `wire` | the client of the load generator: the parts of HTTP/1.1 over TLS that a load needs |
//! | `load`, `requests` | connections that send one request after another; the bytes of requests |

// The derive refers to `::kubewright`.
extern crate kubewright_resource as kubewright;

mod cases;
mod contest;
mod endpoint;
mod load;
mod machine;
mod peer;
mod replay;
mod report;
mod requests;
mod results;
mod roles;
mod rows;
mod server;
mod wire;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use anyhow::{Context, bail};
use clap::Parser;
use kubewright_bench_operator::proc;

use crate::{
    cases::{Bench, Case},
    machine::Machine,
    peer::Peers,
    results::{Results, Section},
    server::PeerPrograms,
};

/// The help text. `cargo xtask bench --help` prints the same file without building this program.
const HELP: &str = include_str!("../help.txt");

/// The names and titles of the cases. `cargo xtask bench --list` prints the same file without building this program.
const CASES: &str = include_str!("../cases.txt");

/// The options, which `help.txt` describes.
#[derive(Parser)]
#[command(name = "kubewright-bench", override_help = HELP)]
struct Arguments {
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    #[arg(long)]
    quick: bool,
    #[arg(long, value_name = "COUNT")]
    rounds: Option<usize>,
    #[arg(long, value_name = "FILE", requires = "peer_etcd")]
    peer_apiserver: Option<PathBuf>,
    #[arg(long, value_name = "FILE", requires = "peer_apiserver")]
    peer_etcd: Option<PathBuf>,
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    #[arg(long, value_name = "MS")]
    added_sync_latency: Option<f64>,
    #[arg(long)]
    check: bool,
    #[arg(long)]
    list: bool,
}

fn main() -> ExitCode {
    let done = match roles::play() {
        Some(result) => result.map(|()| ExitCode::SUCCESS),
        None => run(Arguments::parse()),
    };
    done.unwrap_or_else(|error| {
        eprintln!("bench: {error:#}");
        ExitCode::FAILURE
    })
}

fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    if arguments.list {
        print!("{CASES}");
        return Ok(ExitCode::SUCCESS);
    }
    let chosen = chosen(&arguments.only)?;
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (kept, document) = (here.join("results.json"), here.join("../BENCHMARKS.md"));
    let bench = bench(&arguments, here)?;
    let mut results = Results::load(&kept)?;
    let names: Vec<&str> = cases::ALL.iter().map(|case| case.name).collect();
    let mut broken = false;
    let mut done = Vec::new();
    for case in chosen {
        eprintln!("{}: {}", case.name, case.title);
        let section = section(&case, &bench);
        broken |= section.broken.is_some();
        // The results are written after each case, so that an interrupted run keeps them.
        results.merge(section.clone(), &names);
        results.save(&kept)?;
        fs::write(&document, report::document(&results))
            .with_context(|| format!("cannot write {}", document.display()))?;
        println!("{}", report::section(&section, &results));
        done.push(section);
    }
    let verdicts = report::verdicts(&done.iter().collect::<Vec<_>>());
    println!(
        "{} targets met, {} missed, {} not measured; see BENCHMARKS.md",
        verdicts.met,
        verdicts.missed.len(),
        verdicts.open
    );
    if broken || (arguments.check && !verdicts.missed.is_empty()) {
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the cases of those names in document order; all if there is no name.
fn chosen(names: &[String]) -> anyhow::Result<Vec<Case>> {
    let known = |name: &String| cases::ALL.iter().any(|case| case.name == name.as_str());
    if let Some(name) = names.iter().find(|name| !known(name)) {
        let all: Vec<&str> = cases::ALL.iter().map(|case| case.name).collect();
        bail!("unknown case {name:?}; the cases are {}", all.join(", "));
    }
    let mut chosen = cases::ALL.to_vec();
    chosen.retain(|case| names.is_empty() || names.iter().any(|name| name == case.name));
    Ok(chosen)
}

fn bench(arguments: &Arguments, here: &Path) -> anyhow::Result<Bench> {
    let given = |flag: &Option<PathBuf>, variable: &str| {
        flag.clone()
            .or_else(|| std::env::var_os(variable).map(PathBuf::from))
    };
    let apiserver = given(&arguments.peer_apiserver, "KUBEWRIGHT_PEER_APISERVER");
    let etcd = given(&arguments.peer_etcd, "KUBEWRIGHT_PEER_ETCD");
    let programs = apiserver.zip(etcd);
    let target = std::env::current_exe()?;
    let target = target.parent().and_then(Path::parent);
    let target = target.context("this program is not in a target directory")?;
    Ok(Bench {
        quick: arguments.quick,
        rounds: arguments.rounds,
        added_sync_latency: arguments.added_sync_latency,
        server: match &arguments.server {
            Some(path) => path.clone(),
            None => server::beside_this_program()?,
        },
        apiserver: programs.map(|(apiserver, etcd)| PeerPrograms { apiserver, etcd }),
        peers: Peers::new(here.join("peers"), target.join("bench-peers")),
    })
}

/// Runs a case. The section of a failed case gives the reason.
fn section(case: &Case, bench: &Bench) -> Section {
    let began = Instant::now();
    let mut section = Section::new(case.name, case.title, case.what);
    section.versions = machine::versions();
    if let Err(error) = (case.run)(bench, &mut section) {
        eprintln!("{} failed: {error:#}", case.name);
        section.broken = Some(format!("{error:#}"));
    }
    section.quick = bench.quick;
    section.seconds = began.elapsed().as_secs_f64();
    section.taken = jiff::Timestamp::now().strftime("%F").to_string();
    section.machine = Machine::this();
    section
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_list_names_every_case() {
        let lines = cases::ALL.map(|case| format!("{:<20} {}\n", case.name, case.title));
        assert_eq!(CASES, lines.concat(), "update bench/cases.txt");
    }

    #[test]
    fn the_help_names_every_option() {
        for argument in Arguments::command().get_arguments() {
            let option = format!("--{} ", argument.get_long().unwrap());
            assert!(HELP.contains(&option), "update bench/help.txt: {option}");
        }
    }
}
