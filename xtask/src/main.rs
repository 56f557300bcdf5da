//! Maintenance tasks of the workspace: `cargo xtask <task>`, one module per task.

mod bench;
mod cargo;
mod codegen;
mod conformance;
mod deps;
mod features;
mod fuzz;
mod metadata;
mod pod_security;
mod public_api;
mod soak;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "Runs a maintenance task of the workspace

Usage: cargo xtask <TASK>

Tasks:
  bench [OPTIONS]        Measure Kubewright and its peers and write BENCHMARKS.md (see bench --help)
  codegen [--check]      Write the generated tables, or compare them with the files
  conformance [OPTIONS]  Compare a server with recorded answers of kube-apiserver (see conformance/README.md)
  deps                   Check licences, sources, duplicate versions and uses of all dependencies
  features               Build every crate without features, and with each feature alone
  fuzz [TARGET...]       Run fuzz targets under libFuzzer (see fuzz --help)
  pod-security           Pack upstream's example pods for the Pod Security Standards into a file of tests
  public-api             Check which dependencies public signatures name
  soak [OPTIONS]         Run mixed load with faults against a server and print what it costs (see soak --help)
  tidy                   Check the rules that the compiler does not know";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (task, rest) = match args.split_first() {
        Some((task, rest)) => (task.as_str(), rest),
        None => ("help", &args[..]),
    };
    let done = match task {
        "bench" => bench::run(rest),
        "codegen" => codegen::run(rest),
        "conformance" => conformance::run(rest),
        "deps" => deps::run(rest),
        "features" => features::run(rest),
        "fuzz" => fuzz::run(rest),
        "pod-security" => pod_security::run(rest),
        "public-api" => public_api::run(rest),
        "soak" => soak::run(rest),
        "tidy" => tidy::run(rest),
        "help" | "--help" | "-h" => {
            println!("{USAGE}");
            Ok(())
        }
        other => Err(anyhow::anyhow!("unknown task {other:?}\n\n{USAGE}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask {task}: {error:#}");
            ExitCode::FAILURE
        }
    }
}
