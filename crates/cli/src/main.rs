//! The `kubewright` tool: one file for each command. This is the only crate that prints, reads the environment or exits.

mod commands;

use std::{ffi::OsString, path::Path, process::ExitCode};

use clap::{Parser, Subcommand};
use kubewright_scaffold::Refusal;

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
    /// Makes a project in a new directory.
    New(commands::new::New),

    /// Makes a project in this directory.
    Init(commands::new::Init),

    /// Adds to a project: an API.
    Create {
        #[command(subcommand)]
        what: Create,
    },

    /// Adds to a project: an API, a controller, a version.
    Add {
        #[command(subcommand)]
        what: Add,
    },

    /// Removes an API, a controller or a version from a project.
    Remove(commands::remove::Remove),

    /// Lists the kinds of a project and their controllers.
    List(commands::list::List),

    /// Tells what became of what was scaffolded.
    Status(commands::status::Status),

    /// Changes settings of a project.
    Edit(commands::edit::Edit),

    /// Makes Rust types of what others have defined.
    Import(commands::import::Import),

    /// Starts a Kubernetes API server in this process and writes a kubeconfig for it.
    Up(commands::up::Up),

    /// Shows a controller at work: a control plane, services coming and going, and a view of what the loop does.
    Demo(commands::demo::Demo),
}

#[derive(Subcommand)]
enum Create {
    /// Makes a kind, and a controller for it.
    Api(commands::api::Api),
}

#[derive(Subcommand)]
enum Add {
    /// Makes a kind, and a controller for it.
    Api(commands::api::Api),

    /// Makes a controller for a kind that is there.
    Controller(commands::controller::Controller),

    /// Makes another version of a kind.
    Version(commands::version::Version),
}

fn main() -> ExitCode {
    match run(Arguments::parse_from(arguments())) {
        Ok(()) => ExitCode::SUCCESS,
        // One sentence: what is wrong, and what to do.
        Err(error) if error.is::<Refusal>() => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("Error: {error:?}");
            ExitCode::FAILURE
        }
    }
}

/// The arguments; as `cargo kubewright`, cargo puts the name in front of them.
fn arguments() -> impl Iterator<Item = OsString> {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    let called = arguments.first().map(Path::new).and_then(Path::file_stem);
    let by_cargo = called.is_some_and(|name| name == "cargo-kubewright");
    if by_cargo && arguments.get(1).is_some_and(|word| word == "kubewright") {
        arguments.remove(1);
    }
    arguments.into_iter()
}

fn run(arguments: Arguments) -> anyhow::Result<()> {
    match arguments.command {
        Command::New(new) => new.run(),
        Command::Init(init) => init.run(),
        Command::Create {
            what: Create::Api(api),
        }
        | Command::Add {
            what: Add::Api(api),
        } => api.run(),
        Command::Add {
            what: Add::Controller(controller),
        } => controller.run(),
        Command::Add {
            what: Add::Version(version),
        } => version.run(),
        Command::Remove(remove) => remove.run(),
        Command::List(list) => list.run(),
        Command::Status(status) => status.run(),
        Command::Edit(edit) => edit.run(),
        Command::Import(import) => in_runtime(import.run()),
        Command::Up(up) => in_runtime(up.run()),
        Command::Demo(demo) => in_runtime(demo.run()),
    }
}

/// For commands that talk to a network.
fn in_runtime(work: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(work)
}
