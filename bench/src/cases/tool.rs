//! The tool as the author of an operator uses it: scaffolding, building, checking, testing, developing.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use serde_json::Value;

use super::{Bench, Case, OURS, millis};
use crate::{
    contest::{Contestant, Digests, Sample, hold},
    results::Section,
    rows::Row,
};

pub(crate) const CASE: Case = Case {
    name: "tool",
    title: "the tool on an operator project",
    what: "Ours alone: `kubewright new` and `create api` in an empty directory; the first build of that project with dependencies that cargo \
           has downloaded, and that of its tests; `cargo build` after a change of the reconciler; `kubewright dev` from the moment a change of the reconciler \
           is saved until the new operator is ready; `generate --check` and `kubewright test` on the project as built. Debug builds, as \
           cargo makes them by default, in a target directory of their own. A quick run builds nothing.",
    run,
};

/// The file that is edited.
const CONTROLLER: &str = "src/controller/captain.rs";
const MESSAGE: &str = "the cluster matches the spec";

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![
        Row::cost("scaffold", "`new` and `create api`", "ms").at_most(200.0),
        Row::cost("first_build", "the first build", "s").at_most(110.0),
        Row::cost(
            "first_tests",
            "the first build of its tests, after that",
            "s",
        )
        .at_most(45.0),
        Row::cost("rebuild", "build after a change of the reconciler", "s").at_most(5.0),
        Row::cost("dev", "`dev`, from saved to running", "s").at_most(8.0),
        Row::cost("check", "`generate --check`, nothing changed", "s").at_most(1.0),
        Row::cost("tests", "the scaffolded tests, built", "s").at_most(1.0),
    ];
    let folder = Folder::new()?;
    let mut project: Option<Project> = None;
    let mut round = 0;
    let ours = Contestant::new(OURS, || {
        let mut sample = Sample::default();
        let mut note = |key: &str, figure: f64| sample.figures.insert(key.to_owned(), figure);
        round += 1;
        let made = Instant::now();
        let new = Project::scaffolded(&bench.server, &folder.0, &format!("crew-{round}"))?;
        note("scaffold", millis(made.elapsed()));
        if bench.quick {
            return Ok(sample);
        }
        let project = match &mut project {
            Some(project) => project,
            none => {
                note("first_build", seconds(|| new.cargo(&["build"]))?);
                note("first_tests", seconds(|| new.cargo(&["test", "--no-run"]))?);
                none.insert(new)
            }
        };
        project.change()?;
        note("rebuild", seconds(|| project.cargo(&["build"]))?);
        note("dev", project.saved_to_running()?);
        if project.tool(&["generate", "--help"]).is_ok() {
            project.tool(&["generate"])?;
            let check = || project.tool(&["generate", "--check"]).map(drop);
            note("check", seconds(check)?);
        }
        project.tool(&["test"])?;
        note("tests", seconds(|| project.tool(&["test"]).map(drop))?);
        Ok(sample)
    });
    hold(section, bench.rounds(3), &Digests::new(), vec![ours]);
    Ok(())
}

fn seconds(work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let began = Instant::now();
    work()?;
    Ok(began.elapsed().as_secs_f64())
}

/// A temporary directory.
struct Folder(PathBuf);

impl Folder {
    fn new() -> anyhow::Result<Self> {
        let name = format!("kubewright-bench-tool-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A project created by the tool.
struct Project {
    root: PathBuf,
    target: PathBuf,
    tool: PathBuf,
    changes: u32,
}

impl Project {
    fn scaffolded(tool: &Path, folder: &Path, name: &str) -> anyhow::Result<Self> {
        let tool = tool.canonicalize().context("our program is not there")?;
        let project = Self {
            root: folder.join(name),
            target: folder.join("target"),
            tool,
            changes: 0,
        };
        let mut new = Command::new(&project.tool);
        new.args(["new", name, "--domain", "example.com"]);
        ran(new.current_dir(folder))?;
        project.tool(&[
            "create",
            "api",
            "--group",
            "crew",
            "--version",
            "v1",
            "--kind",
            "Captain",
        ])?;
        Ok(project)
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", &self.target)
            // This is the usual setup.
            .env_remove("CARGO_INCREMENTAL");
        command
    }

    fn tool(&self, arguments: &[&str]) -> anyhow::Result<String> {
        ran(self.command(&self.tool).args(arguments))
    }

    fn cargo(&self, arguments: &[&str]) -> anyhow::Result<()> {
        ran(self.command(Path::new("cargo")).args(arguments)).map(drop)
    }

    /// Changes the reconciler.
    fn change(&mut self) -> anyhow::Result<()> {
        let path = self.root.join(CONTROLLER);
        let text = fs::read_to_string(&path)?;
        let (before, rest) = text.split_once(MESSAGE).context("no message to change")?;
        let (_, after) = rest.split_once('"').context("no end of the message")?;
        self.changes += 1;
        let text = format!("{before}{MESSAGE}, {}\"{after}", self.changes);
        Ok(fs::write(&path, text)?)
    }

    /// Returns the seconds from a saved change until `dev` reports that the operator is ready.
    fn saved_to_running(&mut self) -> anyhow::Result<f64> {
        let mut command = self.command(&self.tool);
        let command = command.args(["dev", "-o", "json"]);
        let mut dev = Dev(command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?);
        let out = dev.0.stdout.take().context("no output")?;
        let mut lines = BufReader::new(out).lines();
        let mut running = || {
            for line in lines.by_ref() {
                let line: Value = serde_json::from_str(&line?)?;
                match line["what"].as_str() {
                    Some("running") => return Ok(()),
                    Some("broken" | "ended" | "refused") => anyhow::bail!("{line}"),
                    _ => {}
                }
            }
            anyhow::bail!("dev has ended")
        };
        running()?;
        // The modification time must differ.
        std::thread::sleep(Duration::from_millis(20));
        let saved = Instant::now();
        self.change()?;
        running()?;
        Ok(saved.elapsed().as_secs_f64())
    }
}

/// A running `dev`; the operator ends with it.
struct Dev(Child);

impl Drop for Dev {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn ran(command: &mut Command) -> anyhow::Result<String> {
    let output = command.stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {said}");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
