//! `cargo xtask conformance`: records the answers of a server, or compares them with the recorded ones.

use std::{collections::BTreeSet, fmt::Write, fs, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use futures_util::{StreamExt, stream};
use kubewright_conformance::{
    compare::{self, Comparison, Reasons, compare_file},
    definitions::{self, Project, recorded::Recording},
    folder,
    golden::{self, Golden, Recorded},
    identities::Identities,
    report::report,
    run::Outcome,
    scenario::{self, Scenario, ScenarioFile},
    server::Server,
    setup::Setup,
};

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
    /// The way the server of the kubeconfig is set up: plain, service-accounts, controllers or deny
    #[arg(long, requires = "kubeconfig", default_value_t = Setup::Plain)]
    setup: Setup,
    /// Folder of identities that the server of the kubeconfig was started with
    #[arg(long, requires = "kubeconfig")]
    identities: Option<PathBuf>,
    /// Make identities for a server in this folder, and do nothing else
    #[arg(long, exclusive = true)]
    write_identities: Option<PathBuf>,
    /// Compare the scenarios too that are marked as pending
    #[arg(long, conflicts_with_all = ["record", "report"])]
    pending: bool,
    /// Record the answers instead of comparing them
    #[arg(long, requires = "kubeconfig")]
    record: bool,
    /// Scenarios to record at once; with 1, nobody else's writes are seen in the versions of lists
    #[arg(long, requires = "record", default_value_t = 12)]
    at_once: usize,
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
    if let Some(folder) = &args.write_identities {
        Identities::generate()?.write(folder)?;
        return Ok(true);
    }
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
        Some(path) => {
            files.retain(|file| file.setup == args.setup);
            if args.setup != Setup::Plain {
                projects.clear();
            }
            let identities = args.identities.as_deref().map(Identities::read);
            let context = args.context.clone();
            Some(Server::of_kubeconfig(path, context, identities.transpose()?).await?)
        }
        None => None,
    };
    if args.record {
        let server = server.context("no server")?;
        record(&server, &files, args.at_once).await?;
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
    compare(server.as_ref(), &files, &projects, &args).await
}

async fn record(server: &Server, files: &[ScenarioFile], at_once: usize) -> Result<()> {
    let version = server.release().await?;
    let scenarios = files
        .iter()
        .flat_map(|file| file.scenarios.iter().map(move |scenario| (file, scenario)));
    let runs = scenarios.map(|(file, scenario)| async move {
        let steps = agreed(server, file.setup, scenario).await;
        let scenario = scenario.name.clone();
        let recorded = steps.map(|steps| Recorded { scenario, steps });
        (file.name.as_str(), recorded)
    });
    let recorded: Vec<_> = stream::iter(runs).buffered(at_once.max(1)).collect().await;
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
async fn agreed(server: &Server, setup: Setup, scenario: &Scenario) -> Result<Vec<Outcome>> {
    let mut before = compare::run(Some(server), setup, scenario).await?;
    let mut different = String::new();
    for _ in 0..ATTEMPTS {
        let now = compare::run(Some(server), setup, scenario).await?;
        if now == before {
            return Ok(now);
        }
        different.clear();
        for (i, (before, now)) in before.iter().zip(&now).enumerate() {
            for field in compare::differences(before, now)? {
                _ = writeln!(different, "    step {}: {field}", i + 1);
            }
        }
        before = now;
    }
    let name = &scenario.name;
    bail!("answers to {name:?} differ from run to run:\n{different}")
}

async fn compare(
    server: Option<&Server>,
    files: &[ScenarioFile],
    projects: &[Project],
    args: &Args,
) -> Result<bool> {
    let reasons = Reasons::load(&folder().join("differences.yaml"))?;
    let mut comparisons: Vec<Comparison> = Vec::new();
    let (mut releases, mut good) = (BTreeSet::new(), true);
    for file in files {
        let golden = golden::load(&folder().join("golden"), &file.name)?;
        let comparison = compare_file(server, file, &golden, &reasons, args.pending).await?;
        good &= tell(&comparison);
        releases.insert(golden.server);
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
    if args.report {
        let path = folder().join("../CONFORMANCE.md");
        fs::write(path, report(&comparisons, &releases))?;
    }
    Ok(good)
}

/// Prints the outcome of a comparison, and returns whether there are no unintended differences.
fn tell(comparison: &Comparison) -> bool {
    let equal = comparison.steps - comparison.differences.len();
    print!(
        "{}: {equal} of {} steps equal",
        comparison.file, comparison.steps
    );
    match comparison.pending.len() {
        0 => println!(),
        pending => println!(", {pending} scenarios pending"),
    }
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
