//! What is shown: each thing that the story does or finds, and each thing that the loop does about it, as a line.

use std::time::Duration;

use ingress_manager::Change;
use serde_json::{Value, json};

use crate::commands::style::Style;

/// Something that happened.
#[derive(Clone, Debug)]
pub(super) enum Happening {
    /// The story does something, in kubectl's words.
    Act(String),
    /// The story finds what it should.
    Found(String),
    /// The story does not find what it should.
    Missed(String),
    /// The controller's watch brings an event that counts.
    Event {
        resource: String,
        verb: &'static str,
        key: String,
    },
    /// The controller has looked at a key.
    Reconcile(Reconcile),
}

/// One run of the reconciler.
#[derive(Clone, Debug)]
pub(super) struct Reconcile {
    pub(super) key: String,
    /// What made it run.
    pub(super) cause: String,
    pub(super) outcome: Outcome,
    pub(super) took: Duration,
    /// How many keys waited when it had ended.
    pub(super) queued: usize,
}

/// How it ended.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    Done(Change),
    /// It is tried again.
    Failed(String),
    /// It waits for something to happen.
    Refused(String),
}

impl Happening {
    pub(super) fn line(&self, style: Style) -> String {
        match self {
            Self::Act(command) => style.bold(&format!("$ {command}")),
            Self::Found(what) => format!("{} {what}", style.green("ok")),
            Self::Missed(what) => format!("{} {what}", style.red("FAILED")),
            Self::Event {
                resource,
                verb,
                key,
            } => {
                let kind = style.cyan("watch    ");
                format!("{kind}  {key:<14} {resource} {verb}")
            }
            Self::Reconcile(reconcile) => reconcile.line(style),
        }
    }

    /// The same, for programs.
    pub(super) fn value(&self) -> Value {
        match self {
            Self::Act(command) => json!({"what": "act", "command": command}),
            Self::Found(text) => json!({"what": "found", "text": text}),
            Self::Missed(text) => json!({"what": "missed", "text": text}),
            Self::Event {
                resource,
                verb,
                key,
            } => json!({"what": "event", "resource": resource, "verb": verb, "key": key}),
            Self::Reconcile(reconcile) => json!({
                "what": "reconcile",
                "key": reconcile.key,
                "cause": reconcile.cause,
                "outcome": reconcile.outcome.text(Style::Plain),
                "failed": reconcile.outcome.is_failure(),
                "took": reconcile.took.as_secs_f64(),
                "queued": reconcile.queued,
            }),
        }
    }
}

impl Reconcile {
    fn line(&self, style: Style) -> String {
        let Self {
            key,
            cause,
            outcome,
            took,
            queued,
        } = self;
        let kind = style.yellow("reconcile");
        let took = format!("{:.1} ms", took.as_secs_f64() * 1e3);
        let depth = if *queued > 0 {
            format!(", {queued} queued")
        } else {
            String::new()
        };
        let outcome = outcome.text(style);
        let measure = style.dim(&format!("({took}{depth})"));
        format!("{kind}  {key:<14} {cause:<17} -> {outcome} {measure}")
    }
}

impl Outcome {
    pub(super) fn is_failure(&self) -> bool {
        !matches!(self, Self::Done(_))
    }

    fn text(&self, style: Style) -> String {
        match self {
            Self::Done(Change::Nothing) => style.dim("nothing to do"),
            Self::Done(change) => style.green(&change.to_string()),
            Self::Failed(error) => style.red(&format!("error, tried again: {error}")),
            Self::Refused(error) => style.red(&format!("error: {error}")),
        }
    }
}
