//! A small shell, for the commands of simulated containers.
//!
//! It supports the scripts that are common in manifests: lists, pipelines, `if`, `while`, `until`, `for`, `case`, functions,
//! variables, `$(…)`, `$((…))`, patterns and redirections, and has the commands of a small image. It accesses only the files of
//! the container, and never starts a program of the machine. Time is that of the cluster's clock.
//!
//! | module | contents |
//! |---|---|
//! | `parse`, `syntax` | parsing of scripts |
//! | `expand`, `pattern`, `arithmetic` | expansion of words into arguments |
//! | `run` | execution of scripts |
//! | `stdio` | standard streams |
//! | `commands` | the commands |

mod arithmetic;
mod commands;
mod expand;
mod parse;
mod pattern;
mod run;
mod stdio;
mod syntax;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use kubewright_controller::Clock;
use parking_lot::Mutex;
use tokio::task::JoinHandle;

use crate::{files::Files, network::Network};
use run::Flow;
pub(crate) use stdio::{Reader, Stdio, Writer};

/// The exit code of a command that does not exist.
pub(crate) const NOT_FOUND: i32 = 127;

/// The environment of a shell: its container.
pub(crate) struct World {
    pub(crate) files: Files,
    pub(crate) hostname: String,
    pub(crate) ip: Option<String>,
    pub(crate) namespace: String,
    pub(crate) user: i64,
    pub(crate) group: i64,
    /// All groups of the user.
    pub(crate) groups: Vec<i64>,
    pub(crate) is_privileged: bool,
    pub(crate) clock: Clock,
    pub(crate) network: Network,
    /// The commands to run on signals.
    pub(crate) traps: Mutex<BTreeMap<String, Trap>>,
}

/// A command to run on a signal, with the variables and functions of the shell that has set it.
pub(crate) struct Trap {
    action: String,
    variables: BTreeMap<String, String>,
    functions: BTreeMap<String, Arc<syntax::Command>>,
}

/// A shell.
pub(crate) struct Shell {
    world: Arc<World>,
    variables: BTreeMap<String, String>,
    exported: BTreeSet<String>,
    directory: String,
    /// The positional parameters: `$0`, `$1`, …
    name: String,
    parameters: Vec<String>,
    status: i32,
    functions: BTreeMap<String, Arc<syntax::Command>>,
    options: Options,
    jobs: Vec<Job>,
    /// The number of enclosing conditions.
    tested: u32,
    /// The nesting depth of the current command.
    depth: u32,
    steps: u32,
}

/// The options of `set`.
#[derive(Clone, Copy, Default)]
struct Options {
    errexit: bool,
    nounset: bool,
    xtrace: bool,
}

/// A background job. It is aborted when its shell ends.
struct Job(JoinHandle<i32>);

impl Drop for Job {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Reports whether a command with that name exists.
pub(crate) fn has_command(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or_default();
    commands::NAMES.contains(&name)
}

/// Reports whether the shell can parse and run a script.
pub(crate) fn understands(script: &str) -> bool {
    parse::parse(script).is_ok()
}

impl Shell {
    pub(crate) fn new(
        world: Arc<World>,
        variables: BTreeMap<String, String>,
        directory: &str,
    ) -> Self {
        Self {
            exported: variables.keys().cloned().collect(),
            world,
            variables,
            directory: directory.to_owned(),
            name: "sh".to_owned(),
            parameters: Vec::new(),
            status: 0,
            functions: BTreeMap::new(),
            options: Options::default(),
            jobs: Vec::new(),
            tested: 0,
            depth: 0,
            steps: 1,
        }
    }

    /// Runs a command with its arguments. Returns its exit code.
    pub(crate) async fn execute(mut self, words: &[String], io: Stdio) -> i32 {
        let Some((name, rest)) = words.split_first() else {
            return 0;
        };
        match commands::run(&mut self, name, rest, &io).await {
            Flow::Exit(code) => code & 0xff,
            _ => self.status & 0xff,
        }
    }

    /// Runs a script. Returns its exit code.
    pub(crate) async fn evaluate(mut self, script: &str, io: Stdio) -> i32 {
        match self.nested(script, &io).await {
            Flow::Exit(code) => code & 0xff,
            _ => self.status & 0xff,
        }
    }

    /// Runs the command of a trap. Returns its exit code.
    pub(crate) async fn run_trap(mut self, trap: Trap, io: Stdio) -> i32 {
        self.variables = trap.variables;
        self.functions = trap.functions;
        self.evaluate(&trap.action, io).await
    }

    /// Returns a trap of this shell.
    fn trap(&self, action: &str) -> Trap {
        Trap {
            action: action.to_owned(),
            variables: self.variables.clone(),
            functions: self.functions.clone(),
        }
    }

    /// Returns a copy of this shell, whose changes do not affect the original.
    fn subshell(&self) -> Self {
        Self {
            world: self.world.clone(),
            variables: self.variables.clone(),
            exported: self.exported.clone(),
            directory: self.directory.clone(),
            name: self.name.clone(),
            parameters: self.parameters.clone(),
            status: self.status,
            functions: self.functions.clone(),
            options: self.options,
            jobs: Vec::new(),
            tested: self.tested,
            depth: self.depth,
            steps: self.steps,
        }
    }

    /// Returns the value of a variable or parameter.
    fn lookup(&self, name: &str) -> Option<String> {
        Some(match name {
            "?" => self.status.to_string(),
            "#" => self.parameters.len().to_string(),
            "@" | "*" => self.parameters.join(" "),
            "$" => "1".to_owned(),
            "!" => String::new(),
            "-" => String::new(),
            "0" => self.name.clone(),
            "PWD" => self.directory.clone(),
            "RANDOM" => self.random().to_string(),
            name => match name.parse::<usize>() {
                Ok(number) => self.parameters.get(number.checked_sub(1)?)?.clone(),
                Err(_) => self.variables.get(name)?.clone(),
            },
        })
    }

    fn variable(&self, name: &str) -> String {
        self.lookup(name).unwrap_or_default()
    }

    fn set(&mut self, name: &str, value: String) {
        self.variables.insert(name.to_owned(), value);
    }

    /// Returns a number from 0 to 32767 that is derived from the container, the time and the progress of the script.
    fn random(&self) -> u16 {
        let seed = [
            self.world.hostname.as_str(),
            &self.steps.to_string(),
            &(self.world.clock)().as_nanosecond().to_string(),
        ];
        let digits = crate::image::hex(&seed);
        u16::from_str_radix(&digits[..4], 16).unwrap_or_default() & 0x7fff
    }
}

#[cfg(test)]
mod tests;
