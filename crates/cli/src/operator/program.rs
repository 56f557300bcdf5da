//! Building the operator of a project, and running `describe` on it.

use std::{
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use kubewright_operator::Model;
use kubewright_scaffold::{Error, Project, generate::read_model};
use serde_json::Value;

use crate::cluster::one_line;

/// A built operator.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) executable: PathBuf,
    /// The duration of the build.
    pub(crate) took: Duration,
}

/// The destination of cargo's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CargoOutput {
    /// Shown as it is written.
    Shown,
    /// Captured, for the error.
    Captured,
}

/// A failed build.
#[derive(Debug)]
pub(crate) enum BuildError {
    /// The build could not start.
    Refused(Error),
    /// The project does not compile, with the captured output.
    Compile(String),
}

impl From<BuildError> for Error {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Refused(refusal) => refusal,
            BuildError::Compile(said) => {
                let first = said.lines().find(|line| line.starts_with("error"));
                match first {
                    Some(first) => Error::new(
                        format_args!("the project does not compile: {}", one_line(first)),
                        "fix it; `cargo check` shows where",
                    ),
                    None => Error::new("the project does not compile", "fix the errors above"),
                }
            }
        }
    }
}

/// Returns a cargo command in the directory of a project.
pub(crate) fn cargo(project: &Project) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(project.root());
    // Variables of another package would make build scripts of dependencies run again.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let of_package = [
            "CARGO_PKG_",
            "CARGO_MANIFEST_",
            "CARGO_BIN_",
            "CARGO_CRATE_",
        ];
        if of_package.iter().any(|begins| text.starts_with(begins)) {
            command.env_remove(&name);
        }
    }
    command
}

/// Makes the error for a missing cargo.
pub(crate) fn no_cargo(error: &std::io::Error) -> Error {
    Error::new(
        format_args!("cannot run cargo: {error}"),
        "install Rust with rustup, and check that cargo is in PATH",
    )
}

/// Builds the operator of a project.
pub(crate) fn build(project: &Project, said: CargoOutput) -> Result<Program, BuildError> {
    build_by(cargo(project), project, said, |_| ())
}

/// Builds the operator in its own process group and passes its id to `started`, since Ctrl-C on the terminal does not
/// reach it.
pub(crate) fn build_apart(
    project: &Project,
    started: impl FnOnce(u32),
) -> Result<Program, BuildError> {
    let mut command = cargo(project);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.env("CARGO_TERM_COLOR", "never");
    build_by(command, project, CargoOutput::Captured, started)
}

fn build_by(
    mut command: Command,
    project: &Project,
    said: CargoOutput,
    started: impl FnOnce(u32),
) -> Result<Program, BuildError> {
    let began = Instant::now();
    command
        .args(["build", "--bins", "--message-format"])
        .arg("json-render-diagnostics")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(match said {
            CargoOutput::Shown => Stdio::inherit(),
            CargoOutput::Captured => Stdio::piped(),
        });
    let mut child = command
        .spawn()
        .map_err(|e| BuildError::Refused(no_cargo(&e)))?;
    started(child.id());
    let errors = child.stderr.take().map(|mut stderr| {
        std::thread::spawn(move || {
            let mut text = Vec::new();
            // Output up to an error is good enough.
            let _ = stderr.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        })
    });
    let mut built = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        built.extend(lines.filter_map(|line| executable(&line)));
    }
    let status = child
        .wait()
        .map_err(|e| BuildError::Refused(no_cargo(&e)))?;
    let kept = errors.and_then(|thread| thread.join().ok());
    if !status.success() {
        return Err(BuildError::Compile(kept.unwrap_or_default()));
    }
    let chosen = match &built[..] {
        [(_, only)] => Some(only),
        several => several
            .iter()
            .find(|(name, _)| *name == project.name)
            .map(|(_, path)| path),
    };
    let executable = chosen.cloned().ok_or_else(|| {
        BuildError::Refused(Error::new(
            format_args!("the project has no binary named {:?}", project.name),
            "add a src/main.rs, as `kubewright new` does",
        ))
    })?;
    let took = began.elapsed();
    Ok(Program { executable, took })
}

/// Parses the executable from a line of cargo's output.
fn executable(line: &str) -> Option<(String, PathBuf)> {
    let message: Value = serde_json::from_str(line).ok()?;
    let path = message.get("executable")?.as_str()?;
    let name = message.pointer("/target/name")?.as_str()?;
    Some((name.to_owned(), PathBuf::from(path)))
}

impl Program {
    /// Returns a program that exists already.
    pub(crate) fn at(executable: &Path) -> Self {
        Self {
            executable: executable.to_owned(),
            took: Duration::ZERO,
        }
    }

    fn wrong(&self, why: &str) -> Error {
        Error::new(
            format_args!(
                "{} cannot describe itself: {why}",
                self.executable.display()
            ),
            "call kubewright::operator::main in its main function, and check that it runs",
        )
    }

    /// Runs `describe` and parses the description.
    pub(crate) fn describe(&self) -> Result<Model, Error> {
        read_model(&self.description()?)
    }

    /// Runs `describe` and returns its output.
    pub(crate) fn description(&self) -> Result<String, Error> {
        let wrong = |why: &str| self.wrong(why);
        let output = Command::new(&self.executable)
            .arg("describe")
            .stdin(Stdio::null())
            .output()
            .map_err(|e| wrong(&e.to_string()))?;
        if !output.status.success() {
            return Err(wrong(&one_line(&String::from_utf8_lossy(&output.stderr))));
        }
        String::from_utf8(output.stdout).map_err(|e| wrong(&e.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_found_in_what_cargo_says() {
        let line = r#"{"reason":"compiler-artifact","target":{"name":"crew","kind":["bin"]},"executable":"/t/crew"}"#;
        assert_eq!(
            executable(line),
            Some(("crew".to_owned(), PathBuf::from("/t/crew")))
        );
        assert_eq!(
            executable(r#"{"target":{"name":"a"},"executable":null}"#),
            None
        );
        assert_eq!(executable("not JSON"), None);
    }

    #[test]
    fn the_first_error_of_the_compiler_is_the_sentence() {
        let said = "   Compiling x\nerror[E0425]: cannot find value `y`\n --> src/lib.rs:1:1\n";
        let refusal = Error::from(BuildError::Compile(said.to_owned()));
        assert_eq!(
            refusal.to_string(),
            "the project does not compile: error[E0425]: cannot find value `y`; fix it; `cargo check` shows where"
        );
    }
}
