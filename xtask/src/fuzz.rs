//! `fuzz [TARGET...] [--minutes N]`: runs fuzz targets under libFuzzer, one after the other.
//!
//! New inputs are kept in `fuzz/libfuzzer/found/<target>`, which is not part of the repository. An input that fails is written
//! there too, with the name that libFuzzer prints; a small copy of it in `fuzz/corpus/<target>` makes it a test.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, bail, ensure};

use crate::cargo;

const USAGE: &str = "Usage: cargo xtask fuzz [TARGET...] [--minutes N] [--list]

Runs fuzz targets under libFuzzer: all of them, or those that are named, for N minutes each (default 10).
Needs a C++ compiler; no nightly toolchain.";

/// The instrumentation that libFuzzer needs: counters of edges, and the operands of comparisons.
const RUSTFLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                         -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
                         -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares";

/// The most memory of a target, in megabytes.
const MEMORY: &str = "-rss_limit_mb=2048";

/// The most time for one input, in seconds.
const TIMEOUT: &str = "-timeout=20";

/// The largest input, in bytes. Whole documents and requests need more than the default of libFuzzer to reach limits.
fn longest(target: &str) -> &'static str {
    match target {
        "json" | "yaml" | "protobuf" | "requests" | "connection" | "schemas" | "etcd-messages"
        | "webhook-reviews" => "-max_len=131072",
        _ => "-max_len=8192",
    }
}

pub(crate) fn run(args: &[String]) -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut targets = Vec::new();
    let mut minutes: u64 = 10;
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "-h" | "--help" => {
                println!("{USAGE}");
                return Ok(());
            }
            "--list" => {
                println!("{}", known(&root)?.join("\n"));
                return Ok(());
            }
            "--minutes" => {
                let value = args.next().context("--minutes needs a number")?;
                minutes = value.parse().context("--minutes needs a number")?;
            }
            name => targets.push(name.to_owned()),
        }
    }
    let known = known(&root)?;
    if let Some(unknown) = targets.iter().find(|name| !known.contains(name)) {
        bail!(
            "there is no target {unknown:?}; there are {}",
            known.join(", ")
        );
    }
    if targets.is_empty() {
        targets = known;
    }
    let program = build(&root)?;
    for target in targets {
        fuzz(&root, &program, &target, minutes)?;
    }
    Ok(())
}

/// Returns the names of the targets, which are those of the directories of their inputs.
fn known(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root.join("fuzz/corpus"))? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Builds the program with instrumentation, and returns its path.
fn build(root: &Path) -> anyhow::Result<PathBuf> {
    // With an explicit target, build scripts and derives are compiled without the flags.
    let version = Command::new("rustc").arg("-vV").output()?;
    let version = String::from_utf8(version.stdout)?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.context("rustc does not name its host")?;
    let directory = root.join("fuzz/libfuzzer");
    let mut command = cargo::command();
    command
        .current_dir(&directory)
        .args(["build", "--release", "--target", host, "--target-dir"])
        .arg(directory.join("target"))
        .env("RUSTFLAGS", RUSTFLAGS);
    ensure!(command.status()?.success(), "{command:?} failed");
    Ok(directory.join("target").join(host).join("release/fuzz"))
}

fn fuzz(root: &Path, program: &Path, target: &str, minutes: u64) -> anyhow::Result<()> {
    let found = root.join("fuzz/libfuzzer/found").join(target);
    fs::create_dir_all(&found)?;
    let seconds = minutes.saturating_mul(60);
    println!("fuzzing {target} for {minutes} min");
    let mut command = Command::new(program);
    command
        .env("KUBEWRIGHT_FUZZ", target)
        .args([
            MEMORY,
            TIMEOUT,
            longest(target),
            "-print_final_stats=1",
            "-verbosity=1",
        ])
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/failed-", found.display()))
        .arg(&found)
        .arg(root.join("fuzz/corpus").join(target));
    ensure!(
        command.status()?.success(),
        "{target} failed: see {}",
        found.display()
    );
    Ok(())
}
