//! Chores of the workspace: `cargo xtask <chore>`, one module per chore.

mod bench;
mod codegen;
mod conformance;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask <chore>

  bench [ARG…]        measure ours beside the peers and write BENCHMARKS.md; see bench/README.md
  conformance [ARG…]  compare with the recorded answers of kube-apiserver; see conformance/README.md
  codegen [--check]   write the generated tables, or compare them
  tidy                check the rules that the compiler does not know";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (chore, rest) = match args.split_first() {
        Some((chore, rest)) => (chore.as_str(), rest),
        None => ("help", &args[..]),
    };
    let done = match chore {
        "bench" => bench::run(rest),
        "codegen" => codegen::run(rest),
        "conformance" => conformance::run(rest),
        "tidy" => tidy::run(rest),
        "help" | "--help" => {
            println!("{USAGE}");
            Ok(())
        }
        other => Err(anyhow::anyhow!("no chore {other:?}\n{USAGE}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask {chore}: {error:#}");
            ExitCode::FAILURE
        }
    }
}
