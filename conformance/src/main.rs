//! `cargo xtask conformance`: records the answers of a server, or compares them with the recorded ones.

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use futures_util::{StreamExt, stream};
use kubewright_conformance::{
    compare::{self, Comparison, Reasons, compare_file},
    definitions::{self, Project, recorded::Recording},
    folder,
    golden::{self, Golden, Recorded},
    report::report,
    run::Outcome,
    scenario::{self, Scenario, ScenarioFile},
    server::Server,
};

/// The number of concurrent scenarios.
const AT_ONCE: usize = 12;

/// The number of attempts until two runs of a scenario agree.
const ATTEMPTS: usize = 4;

/// Runs the scenarios against a server and compares its answers with those of kube-apiserver
#[derive(Parser)]
#[command(name = "cargo xtask conformance")]
struct Args {
    /// Kubeconfig of the server to test [default: a new server in this process for each scenario]
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
    /// Kubeconfig context to use [default: the current context]
    #[arg(long, requires = "kubeconfig")]
    context: Option<String>,
    /// Record the answers instead of comparing them
    #[arg(long, requires = "kubeconfig")]
    record: bool,
    /// Generate new requests from the schemas of CRDs instead of repeating the recorded ones
    #[arg(long, requires = "record")]
    remake: bool,
    /// Write CONFORMANCE.md
    #[arg(long, conflicts_with = "record")]
    report: bool,
    /// Scenario files or areas to run, by prefix [default: all]
    names: Vec<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Args::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("conformance: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: Args) -> Result<bool> {
    let mut files = scenario::load(&folder().join("scenarios"))?;
    let mut projects = definitions::load()?;
    if !args.names.is_empty() {
        let named = |name: &str| args.names.iter().any(|n| name.starts_with(n.as_str()));
        files.retain(|file| named(&file.name));
        projects.retain(|project| named(&project.name));
        let found = files.len() + projects.len();
        ensure!(found > 0, "no scenario file matches");
    }
    let server = match &args.kubeconfig {
        Some(path) => Some(Server::of_kubeconfig(path, args.context.clone()).await?),
        None => None,
    };
    if args.record {
        let server = server.context("no server")?;
        record(&server, &files).await?;
        for project in &projects {
            let kept = match args.remake {
                true => None,
                false => Recording::load(&folder().join("golden"), project).ok(),
            };
            let recording = definitions::record(&server, project, kept).await?;
            recording.save(&folder().join("golden"), project)?;
            println!("{}: {}", project.name, recording.about(project));
        }
        return Ok(true);
    }
    let whole = args.names.is_empty();
    ensure!(whole || !args.report, "a report covers all scenarios");
    compare(server.as_ref(), &files, &projects, args.report).await
}

async fn record(server: &Server, files: &[ScenarioFile]) -> Result<()> {
    let version = server.release().await?;
    let scenarios = files
        .iter()
        .flat_map(|file| file.scenarios.iter().map(move |scenario| (file, scenario)));
    let runs = scenarios.map(|(file, scenario)| async move {
        let steps = agreed(server, scenario).await;
        let scenario = scenario.name.clone();
        let recorded = steps.map(|steps| Recorded { scenario, steps });
        (file.name.as_str(), recorded)
    });
    let recorded: Vec<_> = stream::iter(runs).buffered(AT_ONCE).collect().await;
    let mut failures = Vec::new();
    for file in files {
        let of_file = recorded.iter().filter(|(name, _)| *name == file.name);
        let mut scenarios = Vec::new();
        for (_, steps) in of_file {
            match steps {
                Ok(recorded) => scenarios.push(recorded.clone()),
                Err(error) => failures.push(format!("{}: {error:#}", file.name)),
            }
        }
        if scenarios.len() < file.scenarios.len() {
            continue;
        }
        let steps: usize = scenarios.iter().map(|s| s.steps.len()).sum();
        let server = version.clone();
        golden::save(
            &folder().join("golden"),
            &file.name,
            &Golden { server, scenarios },
        )?;
        println!("{}: {steps} steps recorded", file.name);
    }
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}

/// Repeats a scenario until two runs in a row agree, since random answers cannot be recorded.
async fn agreed(server: &Server, scenario: &Scenario) -> Result<Vec<Outcome>> {
    let mut before = compare::run(Some(server), scenario).await?;
    for _ in 0..ATTEMPTS {
        let now = compare::run(Some(server), scenario).await?;
        if now == before {
            return Ok(now);
        }
        before = now;
    }
    bail!("answers to {:?} differ from run to run", scenario.name)
}

async fn compare(
    server: Option<&Server>,
    files: &[ScenarioFile],
    projects: &[Project],
    write: bool,
) -> Result<bool> {
    let reasons = Reasons::load(&folder().join("differences.yaml"))?;
    let mut comparisons: Vec<Comparison> = Vec::new();
    let (mut release, mut good) = (String::new(), true);
    for file in files {
        let golden = golden::load(&folder().join("golden"), &file.name)?;
        let comparison = compare_file(server, file, &golden, &reasons).await?;
        good &= tell(&comparison);
        release = golden.server;
        comparisons.push(comparison);
    }
    for project in projects {
        let recording = Recording::load(&folder().join("golden"), project)?;
        let comparison = definitions::compare(server, project, &recording, &reasons).await?;
        good &= tell(&comparison);
        comparisons.push(comparison);
    }
    let names: Vec<&str> = comparisons.iter().map(|c| c.file.as_str()).collect();
    for reason in reasons.unused(&names) {
        good = false;
        println!("a reason without a difference: {reason}");
    }
    let (steps, different) = comparisons
        .iter()
        .fold((0, 0), |(s, d), c| (s + c.steps, d + c.differences.len()));
    println!("{} of {steps} steps equal", steps - different);
    if write {
        let path = folder().join("../CONFORMANCE.md");
        fs::write(path, report(&comparisons, &release))?;
    }
    Ok(good)
}

/// Prints the outcome of a comparison, and returns whether there are no unintended differences.
fn tell(comparison: &Comparison) -> bool {
    let equal = comparison.steps - comparison.differences.len();
    println!(
        "{}: {equal} of {} steps equal",
        comparison.file, comparison.steps
    );
    for difference in comparison.unexplained() {
        println!(
            "  {}, step {}: {}",
            difference.scenario, difference.step, difference.title
        );
        for field in &difference.fields {
            println!("    {field}");
        }
    }
    comparison.unexplained().next().is_none()
}
