//! Sessions on the pages, played from the first command to the last: each prints what the page shows.
//!
//! `kubewright up` takes a port of its own. Names and revisions that differ between runs are carried over to later commands. A
//! read is repeated until it matches, as a reader would who is faster than the cluster.
#![cfg(unix)]

use std::{
    collections::BTreeMap,
    env, fs,
    path::Path,
    process::Command,
    sync::LazyLock,
    time::{Duration, Instant},
};

use regex::Regex;

use crate::{
    process::{PATIENCE, Process},
    server::Folder,
    shown::{is_shown, lines_of, page},
    skipped,
};

/// The texts that later commands name and that differ between runs: pods, and the revision of an object.
static NAMES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b[a-z]+-[0-9a-f]{8,10}-[0-9a-z]{5}\b|^\d+(?: \{)").expect("a pattern")
});

/// A command and the output that a page shows below it.
struct Step {
    command: String,
    output: Vec<String>,
}

/// A shell in a folder.
struct Shell {
    folder: Folder,
    variables: BTreeMap<String, String>,
    /// The text on the page, and that of this run.
    names: Vec<(String, String)>,
    server: Option<Process>,
}

/// Returns the sessions of a page: its blocks of commands and outputs.
fn sessions(path: &str) -> Vec<Vec<Step>> {
    let text = page(path);
    let blocks = text.split("```console\n").skip(1);
    let blocks = blocks.map(|block| block.split("```").next().unwrap_or_default());
    blocks.map(steps).collect()
}

fn steps(block: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step {
                command: command.to_owned(),
                output: Vec::new(),
            }),
            (None, Some(step)) => step.output.push(line.to_owned()),
            (None, None) => panic!("{line:?} is below no command"),
        }
    }
    steps
}

impl Shell {
    fn new() -> Self {
        let tool = Path::new(env!("CARGO_BIN_EXE_kubewright"));
        let mut paths = vec![tool.parent().expect("a folder").to_owned()];
        paths.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
        let path = env::join_paths(paths).expect("a path");
        let path = path.into_string().expect("a path in UTF-8");
        Self {
            folder: Folder::new(),
            variables: BTreeMap::from([("PATH".to_owned(), path)]),
            names: Vec::new(),
            server: None,
        }
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(self.folder.path());
        command.envs(&self.variables);
        command
    }

    /// Runs a command, and returns its output, both streams in one.
    fn run(&self, line: &str) -> String {
        Process::start(self.command(line), None).finish().0
    }

    fn play(&mut self, steps: &[Step]) {
        for step in steps {
            let mut line = step
                .command
                .replace("cargo run --release -- ", "kubewright ");
            for (shown, real) in &self.names {
                line = line.replace(shown, real);
            }
            if let Some((name, value)) = line
                .strip_prefix("export ")
                .and_then(|it| it.split_once('='))
            {
                self.variables.insert(name.to_owned(), value.to_owned());
            } else if line.starts_with("kubewright up") {
                self.up(&line, &step.output);
            } else if line.starts_with("kill ") {
                self.server.take().expect("a server").kill();
            } else {
                self.compare(&line, &step.output);
            }
        }
    }

    /// Starts a server, whose first lines the page shows.
    fn up(&mut self, line: &str, output: &[String]) {
        let line = format!("exec {} --listen 127.0.0.1:0", line.trim_end_matches(" &"));
        let mut server = Process::start(self.command(&line), None);
        let enough = |text: &str| text.matches('\n').count() >= output.len();
        let text = server.output_until(PATIENCE, enough);
        assert_is_shown(&line, output, &text);
        if !text.starts_with("error: ") {
            self.server = Some(server);
        }
    }

    fn compare(&mut self, line: &str, output: &[String]) {
        let began = Instant::now();
        let reads = ["get", "logs", "exec"];
        let reads = reads
            .iter()
            .any(|verb| line.starts_with(&format!("kubectl {verb} ")));
        let mut printed = self.run(line);
        while reads && !matches(output, &printed) && began.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(200));
            printed = self.run(line);
        }
        assert_is_shown(line, output, &printed);
        for (shown, real) in output.iter().zip(printed.lines()) {
            let names = |line: &str| -> Vec<String> {
                let found = NAMES.find_iter(line);
                found
                    .map(|name| name.as_str().trim_end_matches(" {").to_owned())
                    .collect()
            };
            for (shown, real) in names(shown).into_iter().zip(names(real)) {
                if !self.names.iter().any(|(known, _)| *known == shown) {
                    self.names.push((shown, real));
                }
            }
        }
    }
}

/// Reports whether a page shows an output. Rows of a table of pods are sorted by their random names.
fn matches(page: &[String], printed: &str) -> bool {
    let sorted = |text: &str| {
        let mut lines = lines_of(text);
        lines.sort();
        lines
    };
    let text = page.join("\n");
    is_shown(page, printed) || (text.contains("READY ") && sorted(&text) == sorted(printed))
}

#[track_caller]
fn assert_is_shown(line: &str, page: &[String], printed: &str) {
    assert!(
        matches(page, printed),
        "{line}\nthe page shows:\n{}\nthe command prints:\n{printed}",
        page.join("\n")
    );
}

/// Reports whether kubectl can be called.
fn kubectl() -> bool {
    let called = Command::new("kubectl")
        .args(["version", "--client"])
        .output();
    let is_there = called.is_ok_and(|output| output.status.success());
    if !is_there {
        skipped("transcripts: there is no kubectl");
    }
    is_there
}

#[test]
fn the_session_of_the_readme_is_real() {
    if !kubectl() {
        return;
    }
    let sessions = sessions("README.md");
    let mut session = sessions
        .into_iter()
        .find(|steps| steps[0].command.ends_with("-- up"));
    let steps = session.as_mut().expect("a session with `up`");
    // It would never end.
    steps.retain(|step| !step.command.ends_with(" -w"));
    Shell::new().play(steps);
}

#[test]
fn the_sessions_with_pods_are_real() {
    if !kubectl() {
        return;
    }
    let mut shell = Shell::new();
    let sessions = sessions("docs/book/src/howto/workloads.md");
    assert!(sessions.len() >= 3);
    for steps in sessions {
        shell.play(&steps);
    }
}

#[test]
fn the_session_with_another_user_is_real() {
    if !kubectl() {
        return;
    }
    let sessions = sessions("docs/book/src/howto/permissions.md");
    assert!(!sessions.is_empty());
    for steps in sessions {
        Shell::new().play(&steps);
    }
}

#[test]
fn the_sessions_with_a_data_directory_are_real() {
    if !kubectl() {
        return;
    }
    let mut shell = Shell::new();
    let sessions = sessions("docs/book/src/reference/store.md");
    let [killed, restored, damaged] = sessions.as_slice() else {
        panic!("{} sessions", sessions.len());
    };
    shell.play(killed);
    shell.run("kubewright store backup data --to backup");
    shell.server.take().expect("a server").signal("INT");
    shell.play(restored);
    // The page says that a byte in the middle of the log was changed.
    shell.run("cp -r data broken");
    damage(&shell.folder.path().join("broken/wal"));
    shell.play(damaged);
}

/// Changes a byte of the only segment of a log.
fn damage(log: &Path) {
    let files = fs::read_dir(log).expect("a log").flatten();
    let mut segments = files
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|end| end == "wal"));
    let segment = segments.next().expect("a segment");
    let mut bytes = fs::read(&segment).expect("a segment");
    bytes[40 * 4096 + 200] ^= 1;
    fs::write(&segment, bytes).expect("a segment");
}
