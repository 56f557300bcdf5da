//! The `kubewright` tool. This is the only crate that prints, reads the environment or exits.
//!
//! | module | contents |
//! |---|---|
//! | `commands` | one file or folder for each command |
//! | `project` | the project that a command was called in |
//! | `operator` | the project's operator: building it, its description, its endpoints |
//! | `cluster` | clusters: the flags that select one, a local one, kinds, manifests, apply |
//! | `output`, `terminal` | printing; live views |
//! | `process`, `signal`, `exit` | processes, signals and exit codes |

mod cluster;
mod commands;
mod exit;
mod operator;
mod output;
mod process;
mod project;
mod signal;
mod terminal;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use kubewright_scaffold::Error;

use exit::Exit;
use process::{not_run, replace_with};

/// A server allocates many small objects on several threads, and the system's allocator is the slowest part of that.
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
    /// Create a project in a new directory
    New(commands::new::New),

    /// Create a project in the current directory
    Init(commands::new::Init),

    /// Scaffold a Kubernetes API
    Create {
        #[command(subcommand)]
        what: commands::add::Create,
    },

    /// Add an API, a controller or a version to the project
    Add {
        #[command(subcommand)]
        what: commands::add::Add,
    },

    /// Remove an API, a controller or a version from the project
    Remove(commands::remove::Remove),

    /// List the kinds of the project and their controllers
    List(commands::list::List),

    /// Show which scaffolded files have changed
    Status(commands::status::Status),

    /// Change the settings of the project
    Edit(commands::edit::Edit),

    /// Generate CRDs, RBAC roles, manifests, a Helm chart, samples and API docs
    #[command(visible_alias = "manifests")]
    Generate(commands::generate::Generate),

    /// Import CRDs or kubebuilder projects as Rust types
    Import(commands::import::Import),

    /// Run the operator on a local cluster and rebuild it when files change
    Dev(Box<commands::dev::Dev>),

    /// Run the tests of the project; no cluster is needed
    Test(commands::test::Test),

    /// Build the operator and run it on this machine against a cluster, which calls its webhooks if it can
    Run(commands::run::Run),

    /// Install the CRDs of the project into a cluster
    Install(commands::install::Install),

    /// Uninstall the CRDs of the project from a cluster, with all objects of their kinds
    Uninstall(commands::install::Uninstall),

    /// Rewrite stored objects in the storage version of their kind, so that older versions can be removed
    Migrate(commands::migrate::Migrate),

    /// Deploy the operator to a cluster
    Deploy(commands::deploy::Deploy),

    /// Undeploy the operator from a cluster
    Undeploy(commands::deploy::Undeploy),

    /// Explain the state of an object: conditions, owners, events and recent reconciles
    Why(commands::why::Why),

    /// Show the revisions of an object with their differences
    History(commands::history::History),

    /// Show who wrote each line of an object, and when
    Blame(commands::blame::Blame),

    /// Show the requests that wrote, or those that were refused
    Requests(commands::requests::Requests),

    /// Open the console of a running session or of a cluster in the browser
    Console(commands::console::Console),

    /// Compare the permissions of the operator with those it used
    Audit(commands::audit::Audit),

    /// Show queue, latency and error figures of the operator's controllers
    Top(commands::top::Top),

    /// Show the objects that an object owns
    Tree(commands::tree::Tree),

    /// Describe a kind and its fields
    Explain(commands::explain::Explain),

    /// Check the toolchain, cluster, permissions and ports
    Doctor(commands::doctor::Doctor),

    /// Check the webhooks, permissions and generated files of the project, without a cluster
    Lint(commands::lint::Lint),

    /// Show the versions of this program and of Kubernetes
    Version(commands::version::Version),

    /// Generate a shell completion script
    Completion(commands::completion::Completion),

    /// Start a local Kubernetes API server and write its kubeconfig
    Up(Box<commands::up::Up>),

    /// Look into a data directory of `up`, back it up, restore or repair it
    Store {
        #[command(subcommand)]
        what: commands::store::Store,
    },

    /// Make a directory that Go tests with envtest can use as KUBEBUILDER_ASSETS
    Envtest(commands::envtest::Envtest),

    /// Show a controller at work on a local cluster
    Demo(commands::demo::Demo),
}

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    let outcome = match commands::envtest::Asset::called(arguments.next().as_ref()) {
        Some(asset) => asset.run(arguments.collect()),
        None => run(Arguments::parse()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // A sentence that says what is wrong and what to do.
        Err(error) if is_sentence(&error) => {
            output::warn(format_args!("error: {error}"));
            ExitCode::from(2)
        }
        Err(error) => match error.downcast_ref::<Exit>() {
            Some(Exit(code)) => ExitCode::from(*code),
            None => {
                output::warn(format_args!("Error: {error:?}"));
                ExitCode::FAILURE
            }
        },
    }
}

/// Returns whether an error is meant for the user: it says what is wrong and what to do.
fn is_sentence(error: &anyhow::Error) -> bool {
    use kubewright_cluster::{Error as ClusterError, OpenError};
    error.is::<Error>()
        || error.is::<OpenError>()
        || matches!(
            error.downcast_ref(),
            Some(ClusterError::DataDir(_) | ClusterError::Key { .. })
        )
}

fn run(arguments: Arguments) -> anyhow::Result<()> {
    match arguments.command {
        Command::New(new) => new.run(),
        Command::Init(init) => init.run(),
        Command::Create { what } => what.run(),
        Command::Add { what } => what.run(),
        Command::Remove(remove) => remove.run(),
        Command::List(list) => list.run(),
        Command::Status(status) => status.run(),
        Command::Edit(edit) => edit.run(),
        Command::Generate(generate) => generate.run(),
        Command::Import(import) => in_runtime(import.run()),
        Command::Dev(dev) => in_runtime(dev.run()),
        Command::Test(test) => test.run(),
        Command::Run(run) => match in_runtime(run.run())? {
            Some(command) => replace_with(command, not_run),
            None => Ok(()),
        },
        Command::Install(install) => in_runtime(install.run()),
        Command::Uninstall(uninstall) => in_runtime(uninstall.run()),
        Command::Migrate(migrate) => in_runtime(migrate.run()),
        Command::Deploy(deploy) => in_runtime(deploy.run()),
        Command::Undeploy(undeploy) => in_runtime(undeploy.run()),
        Command::Why(why) => in_runtime(why.run()),
        Command::History(history) => in_runtime(history.run()),
        Command::Blame(blame) => in_runtime(blame.run()),
        Command::Requests(requests) => in_runtime(requests.run()),
        Command::Console(console) => in_runtime(console.run()),
        Command::Audit(audit) => audit.run(),
        Command::Top(top) => in_runtime(top.run()),
        Command::Tree(tree) => in_runtime(tree.run()),
        Command::Explain(explain) => in_runtime(explain.run()),
        Command::Doctor(doctor) => in_runtime(doctor.run()),
        Command::Lint(lint) => lint.run(),
        Command::Version(version) => version.run(),
        Command::Completion(completion) => completion.run(Arguments::command()),
        Command::Up(up) => match up.clock() {
            rate if rate.is_normal() => in_runtime(up.run()),
            rate => rate.run(up.run()),
        },
        Command::Store { what } => what.run(),
        Command::Envtest(envtest) => envtest.run(),
        Command::Demo(demo) => in_runtime(demo.run()),
    }
}

/// Runs a command that uses the network.
fn in_runtime<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Collects the commands without subcommands, and whether they accept `-o`.
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
        // A shell script is for a program already.
        assert_eq!(without, [" completion"]);
    }

    #[test]
    fn the_arguments_are_sound() {
        Arguments::command().debug_assert();
    }
}
