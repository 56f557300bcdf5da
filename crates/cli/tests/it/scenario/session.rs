//! Runs a scenario: every command with a folder, a kubeconfig and a namespace of the scenario's own.

use std::{path::Path, process::Command, time::Duration};

use super::{
    pattern::{Values, filled_in, matches},
    text::{Part, Scenario, Step, words},
};
use crate::process::{PATIENCE, Process};

/// The environment in which commands run.
pub(crate) struct Surroundings<'a> {
    /// The command that `kubectl` stands for.
    pub(crate) kubectl: &'a Path,
    /// The working directory, which is also the home directory, so that no cache of another server is used.
    pub(crate) folder: &'a Path,
    /// The kubeconfig with the namespace.
    pub(crate) kubeconfig: &'a Path,
}

/// A scenario under way.
pub(crate) struct Session<'a> {
    surroundings: Surroundings<'a>,
    values: Values,
    background: Option<Background>,
}

/// A command that was started with `&`, and how much of its output has been compared.
struct Background {
    process: Process,
    compared: usize,
}

/// The output of a step that does not match.
pub(crate) struct Answer {
    pub(crate) output: String,
    pub(crate) exit: i32,
}

/// The silence after which the output of a background command counts as complete while recording.
const SILENCE: Duration = Duration::from_secs(2);

impl<'a> Session<'a> {
    pub(crate) fn new(surroundings: Surroundings<'a>) -> Self {
        Self {
            surroundings,
            values: Values::new(),
            background: None,
        }
    }

    /// Runs all steps and stops at the first that does not answer as expected.
    pub(crate) fn run(mut self, scenario: &Scenario) -> Result<(), String> {
        for part in &scenario.parts {
            let Part::Step(step) = part else { continue };
            if let Err(answer) = self.step(step, false)? {
                let exit = match (answer.exit, step.exit) {
                    (code, expected) if code == expected => String::new(),
                    (code, expected) => format!("\nexit code {code}, expected {expected}"),
                };
                return Err(format!(
                    "$ {}\n--- expected\n{}\n--- actual\n{}{exit}",
                    step.command, step.expected, answer.output
                ));
            }
        }
        match self.background {
            Some(_) => Err("a command is still running: end it with `$ wait` or `$ kill`".into()),
            None => Ok(()),
        }
    }

    /// Runs one step. The inner error is an answer other than the expected one.
    pub(crate) fn step(
        &mut self,
        step: &Step,
        recording: bool,
    ) -> Result<Result<(), Answer>, String> {
        let command = filled_in(&step.command, &self.values);
        let answer = match command.as_str() {
            "fg" => self.background_output(&step.expected, recording)?,
            "kill" => {
                let Background { process, compared } =
                    self.background.take().ok_or("nothing to end")?;
                Answer {
                    output: process.kill()[compared..].to_owned(),
                    exit: 0,
                }
            }
            "wait" => {
                let Background { process, compared } =
                    self.background.take().ok_or("nothing to wait for")?;
                let (output, status) = process.finish();
                Answer {
                    output: output[compared..].to_owned(),
                    exit: status.code().unwrap_or(-1),
                }
            }
            command => match command.strip_suffix(" &") {
                Some(command) => {
                    if self.background.is_some() {
                        return Err(format!(
                            "one command at a time in the background: {command}"
                        ));
                    }
                    let process = Process::start(self.command(command)?, None);
                    self.background = Some(Background {
                        process,
                        compared: 0,
                    });
                    self.background_output(&step.expected, recording)?
                }
                None => self.foreground(command, step.input.as_deref())?,
            },
        };
        let expected =
            answer.exit == step.exit && matches(&step.expected, &answer.output, &mut self.values);
        Ok(if expected { Ok(()) } else { Err(answer) })
    }

    /// Keeps the values of the placeholders in an output.
    pub(crate) fn remember(&mut self, expected: &str, actual: &str) {
        matches(expected, actual, &mut self.values);
    }

    fn foreground(&self, command: &str, input: Option<&str>) -> Result<Answer, String> {
        let input = input.map(|input| filled_in(input, &self.values));
        if let Some(file) = command.strip_prefix("cat >") {
            let text = input.ok_or("cat without input")?;
            std::fs::write(self.surroundings.folder.join(file), text)
                .map_err(|error| error.to_string())?;
            return Ok(Answer {
                output: String::new(),
                exit: 0,
            });
        }
        if let Some(file) = command.strip_prefix("cat ") {
            let path = self.surroundings.folder.join(file);
            let read = std::fs::read_to_string(&path);
            return Ok(Answer {
                output: read.map_err(|error| format!("{}: {error}", path.display()))?,
                exit: 0,
            });
        }
        let (output, status) = Process::start(self.command(command)?, input).finish();
        Ok(Answer {
            output,
            exit: status.code().unwrap_or(-1),
        })
    }

    /// Waits for output in the background that has not been compared yet.
    fn background_output(&mut self, expected: &str, recording: bool) -> Result<Answer, String> {
        let Background { process, compared } = self
            .background
            .as_mut()
            .ok_or("nothing in the background")?;
        let patience = if recording { SILENCE } else { PATIENCE };
        let from = *compared;
        let text = process.output_until(patience, |text| {
            let complete = text.is_empty() || text.ends_with('\n');
            let unknown = recording && expected.is_empty();
            complete && !unknown && matches(expected, &text[from..], &mut Values::new())
        });
        *compared = text.len();
        Ok(Answer {
            output: text[from..].to_owned(),
            exit: 0,
        })
    }

    fn command(&self, command: &str) -> Result<Command, String> {
        let words = words(command)?;
        let mut words = words.iter().peekable();
        let mut variables = Vec::new();
        while let Some(variable) = words.next_if(|word| is_variable(word)) {
            variables.extend(variable.split_once('='));
        }
        let Surroundings {
            kubectl,
            folder,
            kubeconfig,
        } = self.surroundings;
        let mut command = match words.next().map(String::as_str) {
            Some("kubectl") => Command::new(kubectl),
            Some("curl") => Command::new("curl"),
            other => return Err(format!("neither kubectl nor curl: {other:?}")),
        };
        command
            .args(words)
            .current_dir(folder)
            .env("HOME", folder)
            .env("KUBECACHEDIR", folder.join("cache"))
            .env("KUBECONFIG", kubeconfig)
            .env("TMPDIR", folder)
            .env("TZ", "UTC")
            .envs(variables);
        Ok(command)
    }
}

fn is_variable(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
    })
}
