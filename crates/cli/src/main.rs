//! The `kubewright` tool: one file for each command. This is the only crate that prints, reads the environment or exits.

mod commands;

use clap::{Parser, Subcommand};

/// A server makes and drops many small things on several threads; the system's allocator is the slowest part of that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(
    name = "kubewright",
    version,
    about = "Everything needed to program Kubernetes in Rust"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Starts a Kubernetes API server in this process and writes a kubeconfig for it.
    Up(commands::up::Up),
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        match arguments.command {
            Command::Up(up) => up.run().await,
        }
    })
}
