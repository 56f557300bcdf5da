//! Peers in their own processes: built once, run with a time limit, reporting one line of JSON.

use std::{
    cell::OnceCell,
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};

use crate::contest::{Contestant, Sample};

/// The time limit for building a peer, including downloads.
const BUILD_LIMIT: Duration = Duration::from_secs(900);

/// The programs of the peers, built when the first case needs them, or the reason why one could not be built.
pub(crate) struct Peers {
    /// The directory `bench/peers`.
    sources: PathBuf,
    /// The build directory.
    target: PathBuf,
    go: OnceCell<Result<(), String>>,
    kube_rs: OnceCell<Result<(), String>>,
}

/// A program that takes part in a case.
#[derive(Clone, Copy)]
pub(crate) enum Peer {
    /// A program of `bench/peers/go`.
    Go(&'static str),
    /// The program of `bench/peers/kube-rs`.
    KubeRs,
}

impl Peers {
    pub(crate) fn new(sources: PathBuf, target: PathBuf) -> Self {
        Self {
            sources,
            target,
            go: OnceCell::new(),
            kube_rs: OnceCell::new(),
        }
    }

    /// Returns a contestant that runs a peer with these arguments.
    pub(crate) fn contestant<'a>(
        &self,
        name: &str,
        peer: Peer,
        limit: Duration,
        arguments: impl Fn() -> Vec<String> + 'a,
    ) -> Contestant<'a> {
        match self.command(peer) {
            Ok(command) => Contestant::new(name, move || run(command().args(arguments()), limit)),
            Err(reason) => Contestant::absent(name, reason),
        }
    }

    /// Returns the command of the program, or the reason why there is none.
    pub(crate) fn command(&self, peer: Peer) -> Result<impl Fn() -> Command + 'static, String> {
        let program = self.program(peer)?;
        Ok(move || {
            let mut command = Command::new(&program);
            // All sides are compared with list and watch.
            command.env("KUBE_FEATURE_WatchListClient", "false");
            command
        })
    }

    /// Returns the built program, or the reason why there is none.
    fn program(&self, peer: Peer) -> Result<PathBuf, String> {
        match peer {
            Peer::Go(name) => {
                self.go.get_or_init(|| self.build_go()).clone()?;
                Ok(self.target.join("go").join(name))
            }
            Peer::KubeRs => {
                self.kube_rs.get_or_init(|| self.build_kube_rs()).clone()?;
                Ok(self.target.join("kube-rs/release/kube-rs-peer"))
            }
        }
    }

    fn build_go(&self) -> Result<(), String> {
        let mut command = Command::new("go");
        command
            .args(["build", "-buildvcs=false", "-o"])
            .arg(self.target.join("go/"))
            .args(["./informer", "./workqueue", "./controller"]);
        build("the peers in Go", command, &self.sources.join("go"))
    }

    fn build_kube_rs(&self) -> Result<(), String> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command
            .args(["build", "--release", "--locked", "--target-dir"])
            .arg(self.target.join("kube-rs"));
        build(
            "the peer on kube-rs",
            command,
            &self.sources.join("kube-rs"),
        )
    }
}

/// Runs a program that prints a sample as its last line.
pub(crate) fn run(command: &mut Command, limit: Duration) -> anyhow::Result<Sample> {
    sample(&finish(command, limit)?)
}

/// A program that works until its standard input is closed. It is killed when it is dropped before.
pub(crate) struct Running(Option<Program>);

impl Running {
    /// Starts the program.
    pub(crate) fn start(command: &mut Command) -> anyhow::Result<Self> {
        Program::start(command.stdin(Stdio::piped())).map(|program| Self(Some(program)))
    }

    /// Returns the id of the process.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.0.as_ref().map(|program| program.child.id())
    }

    /// Sends the last input, which ends the program, and returns the sample that it prints as its last line.
    pub(crate) fn finish(mut self, input: &str, limit: Duration) -> anyhow::Result<Sample> {
        let mut program = self.0.take().context("the program has ended")?;
        if let Some(mut stdin) = program.child.stdin.take() {
            stdin.write_all(input.as_bytes())?;
        }
        sample(&program.finish(limit)?)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut program) = self.0.take() {
            // It may have ended by itself.
            let _ = program.child.kill();
            let _ = program.child.wait();
        }
    }
}

fn build(what: &str, mut command: Command, folder: &Path) -> Result<(), String> {
    eprintln!("building {what}");
    let built = finish(command.current_dir(folder), BUILD_LIMIT);
    built
        .map(drop)
        .map_err(|error| format!("build failed: {error:#}"))
}

/// Runs a program to its end and returns what it printed. One that takes too long is killed.
fn finish(command: &mut Command, limit: Duration) -> anyhow::Result<String> {
    Program::start(command.stdin(Stdio::null()))?.finish(limit)
}

/// Returns the sample in the last line of an output.
fn sample(output: &str) -> anyhow::Result<Sample> {
    let line = output.lines().last().unwrap_or_default();
    serde_json::from_str(line).with_context(|| format!("no figures in its output: {line:?}"))
}

/// A process whose output is read.
struct Program {
    name: String,
    child: Child,
    stdout: thread::JoinHandle<String>,
    stderr: thread::JoinHandle<String>,
}

impl Program {
    fn start(command: &mut Command) -> anyhow::Result<Self> {
        let name = Path::new(command.get_program()).file_name();
        let name = name.unwrap_or_default().to_string_lossy().into_owned();
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot run {name}"))?;
        Ok(Self {
            stdout: drain(child.stdout.take().context("no output")?),
            stderr: drain(child.stderr.take().context("no output")?),
            name,
            child,
        })
    }

    /// Waits for the end and returns the output.
    fn finish(mut self, limit: Duration) -> anyhow::Result<String> {
        // The output of a killed process is not waited for, since its children may hold it open.
        let Some(status) = wait(&mut self.child, limit)? else {
            bail!(
                "{} had not finished after {} s and was killed",
                self.name,
                limit.as_secs()
            );
        };
        let stdout = self.stdout.join().unwrap_or_default();
        let stderr = self.stderr.join().unwrap_or_default();
        let said: Vec<&str> = stderr.trim().lines().rev().take(3).collect();
        let said: Vec<&str> = said.into_iter().rev().collect();
        ensure!(status.success(), "{} failed: {}", self.name, said.join(" "));
        Ok(stdout)
    }
}

/// Returns the status, or none if the process had to be killed.
fn wait(child: &mut Child, limit: Duration) -> anyhow::Result<Option<ExitStatus>> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Reads to the end, so that the process never blocks.
fn drain(mut from: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // Output up to an error is kept.
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn the_last_line_is_the_sample() {
        let script = r#"echo first; echo '{"figures":{"a":1.5},"cpu_seconds":2}'"#;
        let sample = run(&mut shell(script), Duration::from_secs(60)).unwrap();
        assert_eq!(sample.figures["a"], 1.5);
        assert_eq!(sample.cpu_seconds, 2.0);
    }

    #[test]
    fn a_program_runs_until_its_input_is_closed() {
        let running = Running::start(&mut shell("exec cat")).unwrap();
        assert!(running.pid().is_some());
        let input = r#"{"figures":{"a":2.5}}"#;
        let sample = running.finish(input, Duration::from_secs(60)).unwrap();
        assert_eq!(sample.figures["a"], 2.5);
    }

    #[test]
    fn a_program_that_hangs_is_killed_and_named() {
        let error = run(&mut shell("exec sleep 600"), Duration::from_millis(50)).unwrap_err();
        assert!(error.to_string().contains("sh had not finished"), "{error}");
    }

    #[test]
    fn a_program_that_fails_is_quoted() {
        let error = run(
            &mut shell("echo no pods >&2; exit 3"),
            Duration::from_secs(60),
        );
        assert_eq!(error.unwrap_err().to_string(), "sh failed: no pods");
        let error = run(
            &mut Command::new("no-such-program"),
            Duration::from_secs(60),
        );
        assert!(error.unwrap_err().to_string().contains("cannot run"));
    }
}
