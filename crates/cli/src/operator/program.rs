//! Building the operator of a project, and running `describe` on it.

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use kubewright_operator::Model;
use kubewright_scaffold::{
    Error, Project,
    generate::{read_model, validate},
};
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
    /// Printed unchanged.
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
    build_by(cargo(project), project, said, |_| (), &|_| ())
}

/// The progress of a build.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress<'a> {
    /// The number of crates that are built.
    pub(crate) done: usize,
    /// The last message of cargo, such as `Compiling kube-client v5.0.0`.
    pub(crate) now: &'a str,
}

/// Reports progress.
type OnProgress<'a> = &'a (dyn Fn(Progress<'_>) + Sync);

/// Counts the crates that a whole build of a project compiles. Resolves the dependencies first if necessary.
pub(crate) fn count_crates(project: &Project) -> Option<usize> {
    let output = cargo(project)
        .args([
            "tree",
            "--edges",
            "normal,build",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ])
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let crates: BTreeSet<&str> = text
        .lines()
        .map(|line| line.trim_end_matches(" (*)"))
        .filter(|line| !line.is_empty())
        .collect();
    (output.status.success() && !crates.is_empty()).then_some(crates.len())
}

/// Builds the operator in its own process group and passes its id to `started`, since Ctrl-C on the terminal does not
/// reach it.
pub(crate) fn build_apart(
    project: &Project,
    started: impl FnOnce(u32),
    progress: OnProgress<'_>,
) -> Result<Program, BuildError> {
    let mut command = cargo(project);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.env("CARGO_TERM_COLOR", "never");
    build_by(command, project, CargoOutput::Captured, started, progress)
}

fn build_by(
    mut command: Command,
    project: &Project,
    said: CargoOutput,
    started: impl FnOnce(u32),
    progress: OnProgress<'_>,
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
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let watched = Watched::default();
    let (built, kept) = std::thread::scope(|scope| {
        let errors = stderr.map(|stderr| scope.spawn(|| watched.messages(stderr, progress)));
        let built = stdout.map_or_else(Vec::new, |stdout| watched.artifacts(stdout, progress));
        let kept = errors.and_then(|thread| thread.join().ok());
        (built, kept)
    });
    let status = child
        .wait()
        .map_err(|e| BuildError::Refused(no_cargo(&e)))?;
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

/// The progress of a running cargo, according to its output.
#[derive(Default)]
struct Watched {
    done: AtomicUsize,
    now: Mutex<String>,
}

impl Watched {
    fn report(&self, progress: OnProgress<'_>) {
        let now = self
            .now
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        progress(Progress {
            done: self.done.load(Ordering::Relaxed),
            now: &now,
        });
    }

    /// Reads the messages for people, and returns them.
    fn messages(&self, stderr: impl Read, progress: OnProgress<'_>) -> String {
        let mut text = String::new();
        // Output up to an error is good enough.
        for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            if is_step(&line) {
                let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
                // Without the path of a local package.
                line.trim()
                    .split(" (")
                    .next()
                    .unwrap_or_default()
                    .clone_into(&mut now);
                drop(now);
                self.report(progress);
            }
            text.push_str(&line);
            text.push('\n');
        }
        text
    }

    /// Reads the messages for programs, and returns the executables.
    fn artifacts(&self, stdout: impl Read, progress: OnProgress<'_>) -> Vec<(String, PathBuf)> {
        let mut built = Vec::new();
        let mut crates = BTreeSet::new();
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            let message: Value = serde_json::from_str(&line).unwrap_or_default();
            built.extend(executable(&message));
            if message["reason"] == "compiler-artifact"
                && let Some(id) = message["package_id"].as_str()
                && crates.insert(id.to_owned())
            {
                self.done.store(crates.len(), Ordering::Relaxed);
                self.report(progress);
            }
        }
        built
    }
}

/// Reports whether a line of cargo shows its progress: `   Compiling serde v1.0.0`.
fn is_step(line: &str) -> bool {
    let steps = [
        "Updating",
        "Locking",
        "Downloading",
        "Downloaded",
        "Compiling",
        "Blocking",
    ];
    let word = line.trim_start().split(' ').next().unwrap_or_default();
    line.starts_with(' ') && steps.contains(&word)
}

/// Parses the executable from a message of cargo.
fn executable(message: &Value) -> Option<(String, PathBuf)> {
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

    /// Runs `describe`, parses the description, and checks that a server would accept its CRDs.
    pub(crate) fn describe(&self) -> Result<Model, Error> {
        let model = read_model(&self.description()?)?;
        validate(&model)?;
        Ok(model)
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
        let line = r#"{"reason":"compiler-artifact","target":{"name":"crew","kind":["bin"]},"executable":"/t/crew"}
            {"target":{"name":"a"},"executable":null}
            not JSON"#;
        let built =
            Watched::default().artifacts(line.replace("\n            ", "\n").as_bytes(), &|_| ());
        assert_eq!(built, [("crew".to_owned(), PathBuf::from("/t/crew"))]);
    }

    #[test]
    fn progress_follows_the_output_of_cargo() {
        let seen = Mutex::new(Vec::new());
        let note = |step: Progress<'_>| {
            let step = format!("{} {}", step.done, step.now);
            seen.lock().unwrap().push(step);
        };
        let watched = Watched::default();
        let said =
            "    Updating crates.io index\n   Compiling crew v0.1.0 (/home/me/crew)\nerror: no\n";
        assert_eq!(watched.messages(said.as_bytes(), &note), said);
        let artifact =
            |id: &str| format!("{{\"reason\":\"compiler-artifact\",\"package_id\":\"{id}\"}}\n");
        let lines = [artifact("a"), artifact("a"), artifact("b")].concat();
        watched.artifacts(lines.as_bytes(), &note);
        assert_eq!(
            *seen.lock().unwrap(),
            [
                "0 Updating crates.io index",
                "0 Compiling crew v0.1.0",
                "1 Compiling crew v0.1.0",
                "2 Compiling crew v0.1.0"
            ]
        );
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
