//! The events that the demo shows, each as a line: those of the script, and those of the control loop.

use std::time::Duration;

use serde_json::{Value, json};

use super::controller::Change;
use crate::terminal::style::Style;

/// An event of the demo.
#[derive(Clone, Debug)]
pub(super) enum DemoEvent {
    /// The script changes something, shown as a kubectl command.
    Act(String),
    /// Something happens to the cluster that nobody asked for.
    Fault(String),
    /// An expectation was met.
    Found(String),
    /// An expectation was not met.
    Missed(String),
    /// A watch of the controller delivered a relevant event.
    Event {
        resource: String,
        verb: &'static str,
        key: String,
    },
    /// The controller has reconciled a key.
    Reconcile(Reconcile),
}

/// One run of the reconciler.
#[derive(Clone, Debug)]
pub(super) struct Reconcile {
    pub(super) key: String,
    /// The cause of the run.
    pub(super) cause: String,
    pub(super) outcome: Outcome,
    pub(super) took: Duration,
    /// The number of queued keys at the end of the run.
    pub(super) queued: usize,
}

/// The outcome of a reconcile.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    Done(Change),
    /// The reconcile is retried.
    Failed(String),
    /// The reconcile is not retried until something changes.
    Refused(String),
}

impl DemoEvent {
    pub(super) fn line(&self, style: Style) -> String {
        match self {
            Self::Act(command) => style.bold(&format!("$ {command}")),
            Self::Fault(what) => style.red(&format!("! {what}")),
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

    /// Formats the event as JSON.
    pub(super) fn value(&self) -> Value {
        match self {
            Self::Act(command) => json!({"what": "act", "command": command}),
            Self::Fault(text) => json!({"what": "fault", "text": text}),
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
            Self::Failed(error) => style.red(&format!("error, will retry: {error}")),
            Self::Refused(error) => style.red(&format!("error: {error}")),
        }
    }
}
