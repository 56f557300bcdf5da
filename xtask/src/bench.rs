//! `bench [OPTIONS]`: builds the tool and the benchmarks with the `dist` profile and runs them.
//!
//! The benchmark program builds its peers and writes `BENCHMARKS.md`. Options are passed through unchanged; `--help` and
//! `--list` are answered from the files that the program prints too, since building it takes minutes.

use std::{fs, path::Path};

use anyhow::Context;

use crate::cargo;

pub(crate) fn run(args: &[String]) -> anyhow::Result<()> {
    if let Some(file) = args.iter().find_map(|arg| answer(arg)) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../bench")
            .join(file);
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        print!("{text}");
        return Ok(());
    }
    // The benchmarks look for the tool and the operators in the directory that they run from.
    let build = ["build", "--profile", "dist", "--bins"];
    let packages = ["-p", "kubewright-cli", "-p", "kubewright-bench-operator"];
    cargo::run(build.iter().chain(&packages))?;
    let bench = ["run", "--profile", "dist", "-q", "-p", "kubewright-bench"];
    let args = args.iter().map(String::as_str);
    cargo::run(bench.into_iter().chain(["--"]).chain(args))
}

/// Returns the file in `bench/` that answers an option without a build.
fn answer(option: &str) -> Option<&'static str> {
    match option {
        "-h" | "--help" => Some("help.txt"),
        "--list" => Some("cases.txt"),
        _ => None,
    }
}
