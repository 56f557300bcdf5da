//! The `kubewright` tool: one file for each command. This is the only crate that prints, reads the environment or exits.

mod commands;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use commands::{
    exit::Exit,
    run::{become_, not_run},
};
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

    /// Makes definitions, roles, manifests, a chart, samples and a reference from what the operator says of itself.
    #[command(visible_alias = "manifests")]
    Generate(commands::generate::Generate),

    /// Makes Rust types of what others have defined.
    Import(commands::import::Import),

    /// Runs a project's operator on a cluster in this process, and keeps both in step with the files of the project.
    Dev(commands::dev::Dev),

    /// Runs the tests of a project; they need no cluster.
    Test(commands::test::Test),

    /// Builds the operator of a project and runs it here, against a cluster.
    Run(commands::run::Run),

    /// Brings the definitions of a project's kinds to a cluster.
    Install(commands::install::Install),

    /// Deletes the definitions of a project's kinds from a cluster, and so the objects of these kinds.
    Uninstall(commands::install::Uninstall),

    /// Brings a project's operator, and all that it needs, to a cluster.
    Deploy(commands::deploy::Deploy),

    /// Deletes from a cluster what `deploy` brought.
    Undeploy(commands::deploy::Undeploy),

    /// Tells what is known of an object: what its controllers did with it and why, its conditions, owners and events.
    Why(commands::why::Why),

    /// Shows how the controllers of an operator fare.
    Top(commands::top::Top),

    /// Shows what an object owns.
    Tree(commands::tree::Tree),

    /// Explains a kind and its fields.
    Explain(commands::explain::Explain),

    /// Looks whether what one needs is there: toolchain, cluster, permissions, ports.
    Doctor(commands::doctor::Doctor),

    /// Prints what a shell needs to complete the words of this tool.
    Completion(commands::completion::Completion),

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
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        // One sentence: what is wrong, and what to do.
        Err(error) if error.is::<Refusal>() => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
        Err(error) => match error.downcast_ref::<Exit>() {
            Some(Exit(code)) => ExitCode::from(*code),
            None => {
                eprintln!("Error: {error:?}");
                ExitCode::FAILURE
            }
        },
    }
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
        Command::Generate(generate) => generate.run(),
        Command::Import(import) => in_runtime(import.run()),
        Command::Dev(dev) => in_runtime(dev.run()),
        Command::Test(test) => test.run(),
        Command::Run(run) => become_(in_runtime(run.prepare())?, not_run),
        Command::Install(install) => in_runtime(install.run()),
        Command::Uninstall(uninstall) => in_runtime(uninstall.run()),
        Command::Deploy(deploy) => in_runtime(deploy.run()),
        Command::Undeploy(undeploy) => in_runtime(undeploy.run()),
        Command::Why(why) => in_runtime(why.run()),
        Command::Top(top) => in_runtime(top.run()),
        Command::Tree(tree) => in_runtime(tree.run()),
        Command::Explain(explain) => in_runtime(explain.run()),
        Command::Doctor(doctor) => in_runtime(doctor.run()),
        Command::Completion(completion) => completion.run(Arguments::command()),
        Command::Up(up) => in_runtime(up.run()),
        Command::Demo(demo) => in_runtime(demo.run()),
    }
}

/// For commands that talk to a network.
fn in_runtime<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands that do something, by all their words.
    fn leaves(command: &clap::Command, words: &str, found: &mut Vec<(String, bool)>) {
        let mut below = command.get_subcommands().peekable();
        if below.peek().is_none() {
            let output = command.get_arguments().find(|it| it.get_id() == "output");
            let takes = output.is_some_and(|it| it.get_short() == Some('o'));
            found.push((words.to_owned(), takes));
        }
        for one in below {
            leaves(one, &format!("{words} {}", one.get_name()), found);
        }
    }

    #[test]
    fn every_command_answers_programs_too() {
        let mut found = Vec::new();
        leaves(&Arguments::command(), "", &mut found);
        assert!(found.len() > 25, "{found:?}");
        let without: Vec<String> = found
            .into_iter()
            .filter_map(|(words, takes)| (!takes).then_some(words))
            .collect();
        // A script for a shell is for a program already.
        assert_eq!(without, [" completion"]);
    }

    #[test]
    fn the_arguments_are_sound() {
        Arguments::command().debug_assert();
    }
}
