//! The output of commands that change files: a diff, or a list of the changed files.

use clap::Args;
use kubewright_scaffold::{Change, Plan};
use serde_json::{Value, json};

use super::{Output, say};

/// The flags of commands that change files.
#[derive(Args)]
pub(crate) struct PlanArgs {
    /// Print the changes as a diff without writing them
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    output: Output,
}

impl PlanArgs {
    /// Writes the planned changes and reports them, or prints the diff with `--dry-run`.
    pub(crate) fn carry_out(&self, plan: &Plan, next: &str) -> anyhow::Result<()> {
        report(&self.output, self.dry_run, plan, next)
    }

    /// Returns the output if its format is JSON.
    pub(crate) fn json(&self) -> Option<&Output> {
        Some(&self.output).filter(|output| output.is_json())
    }
}

/// Writes the planned changes and reports them, or prints the diff of a dry run. `next` is the suggested next command.
pub(crate) fn report(
    output: &Output,
    dry_run: bool,
    plan: &Plan,
    next: &str,
) -> anyhow::Result<()> {
    if !dry_run {
        plan.write()?;
    }
    match (output.is_json(), dry_run) {
        (true, _) => output.value(&described(plan, dry_run)),
        (false, true) => say(&(plan.diff() + &pastes(plan))),
        (false, false) => {
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
        let of = |change: &&Change| wanted(&(change.before.is_some(), change.after.is_some()));
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

fn pastes(plan: &Plan) -> String {
    let mut text = String::new();
    for paste in plan.pastes() {
        text += &format!("to do by hand: add to {}, {}:\n", paste.path, paste.place);
        for line in &paste.lines {
            text += &format!("    {line}\n");
        }
    }
    text
}
