//! What commands with a plan share: `--dry-run`, `-o json`, and telling what was done.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};
use kubewright_scaffold::{Refusal, plan::Plan, project::Project};
use serde_json::{Value, json};

/// How a command answers.
#[derive(Args)]
pub(crate) struct Answer {
    /// Shows what would change as a diff, and changes nothing.
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    output: Output,
}

#[derive(Args, Default)]
pub(crate) struct Output {
    /// How to answer.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Format,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// Flags of kubebuilder that have no meaning here. They are read, so that its commands work unchanged.
#[derive(Args)]
pub(crate) struct Kubebuilder {
    #[arg(long, hide = true)]
    plugins: Option<String>,
    #[arg(long, hide = true)]
    make: Option<Option<bool>>,
}

impl Answer {
    /// Shows the plan, or carries it out and says what was done.
    pub(crate) fn give(&self, plan: &Plan, next: &str) -> anyhow::Result<()> {
        tell(&self.output, self.dry_run, plan, next)
    }

    /// For answers that are no plans: how to give one to programs, if a program asks.
    pub(crate) fn json(&self) -> Option<&Output> {
        Some(&self.output).filter(|output| output.is_json())
    }
}

/// Shows the plan, or carries it out and says what was done.
pub(crate) fn tell(output: &Output, dry_run: bool, plan: &Plan, next: &str) -> anyhow::Result<()> {
    if !dry_run {
        plan.write()?;
    }
    match (output.output, dry_run) {
        (Format::Json, _) => output.value(&described(plan, dry_run)),
        (Format::Text, true) => say(&(plan.diff() + &pastes(plan))),
        (Format::Text, false) => {
            let mut text = String::new();
            for change in plan.changes() {
                let what = match (&change.before, &change.after) {
                    (None, _) => "created",
                    (_, None) => "removed",
                    _ => "edited ",
                };
                text += &format!("{what} {}\n", change.path);
            }
            if plan.changes().is_empty() {
                text += "nothing to do\n";
            }
            text += &pastes(plan);
            if !next.is_empty() {
                text += &format!("next: {next}\n");
            }
            say(&text)
        }
    }
}

fn described(plan: &Plan, dry_run: bool) -> Value {
    let changes = plan.changes();
    let paths = |wanted: fn(&(bool, bool)) -> bool| {
        let of = |change: &&kubewright_scaffold::plan::Change| {
            wanted(&(change.before.is_some(), change.after.is_some()))
        };
        let paths = changes.iter().filter(of).map(|change| change.path.clone());
        paths.collect::<Vec<String>>()
    };
    let pastes: Vec<Value> = plan
        .pastes()
        .iter()
        .map(|paste| json!({"path": paste.path, "place": paste.place, "lines": paste.lines}))
        .collect();
    let mut answer = json!({
        "root": plan.root().display().to_string(),
        "dryRun": dry_run,
        "created": paths(|(before, _)| !before),
        "edited": paths(|(before, after)| *before && *after),
        "removed": paths(|(_, after)| !after),
        "leftToYou": pastes,
    });
    if dry_run {
        answer["diff"] = plan.diff().into();
    }
    answer
}

impl Output {
    pub(crate) fn is_json(&self) -> bool {
        self.output == Format::Json
    }

    pub(crate) fn value(&self, value: &Value) -> anyhow::Result<()> {
        say(&format!("{value:#}\n"))
    }
}

/// The project that the command was called in.
pub(crate) fn project() -> anyhow::Result<Project> {
    Ok(Project::find(&here()?)?)
}

/// The directory that the command was called in.
pub(crate) fn here() -> Result<PathBuf, Refusal> {
    std::env::current_dir().map_err(|e| Refusal::io("find", Path::new("the current directory"), &e))
}

/// Prints. Nobody listening any more is no reason to fail.
pub(crate) fn say(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}

/// Columns, as kubectl prints them.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = head.iter().map(|text| text.len()).collect();
    for row in rows {
        for (width, text) in widths.iter_mut().zip(row) {
            *width = (*width).max(text.len());
        }
    }
    let line = |cells: Vec<&str>| {
        let cells: Vec<String> = cells
            .iter()
            .zip(&widths)
            .map(|(text, width)| format!("{text:<width$}"))
            .collect();
        cells.join("   ").trim_end().to_owned() + "\n"
    };
    let mut out = line(head.to_vec());
    for row in rows {
        out += &line(row.iter().map(String::as_str).collect());
    }
    out
}

fn pastes(plan: &Plan) -> String {
    let mut text = String::new();
    for paste in plan.pastes() {
        text += &format!("left to you: add to {}, {}:\n", paste.path, paste.place);
        for line in &paste.lines {
            text += &format!("    {line}\n");
        }
    }
    text
}
