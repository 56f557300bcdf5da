//! The events that `dev` shows, as lines or as JSON.

use serde::Serialize;

use crate::terminal::style::Style;

/// An event of a development session.
#[derive(Clone, Debug, Serialize)]
#[serde(
    tag = "what",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub(super) enum DevEvent {
    /// The cluster is ready.
    Cluster {
        server: String,
        /// The flags for kubectl: `--context kind`.
        flags: String,
    },
    /// The operator is being built.
    Building { why: String },
    /// The operator does not compile.
    Broken { said: String },
    /// A CRD or a sample was applied.
    Applied { object: String, action: String },
    /// A step failed.
    Refused { why: String },
    /// The operator is ready.
    Running {
        pid: u32,
        address: String,
        build_seconds: f64,
        /// The time since the change that triggered the build.
        #[serde(skip_serializing_if = "Option::is_none")]
        since_saved_seconds: Option<f64>,
    },
    /// The operator has ended by itself.
    Ended { how: String },
    /// A controller has reconciled a key.
    Reconcile {
        controller: String,
        key: String,
        trigger: String,
        result: String,
        seconds: f64,
        failed: bool,
    },
    /// A controller ran more often than single runs are shown.
    Missed { controller: String, count: u64 },
    /// An Event about an object was recorded.
    Event {
        warning: bool,
        object: String,
        reason: String,
        note: String,
    },
    /// The operator logged a line.
    Log { line: String },
}

impl DevEvent {
    /// Returns whether the live view lists the event.
    pub(super) fn is_recent(&self) -> bool {
        match self {
            Self::Cluster { .. } => false,
            // Successful applies show up as reconciles.
            Self::Log { line } => line.contains("WARN") || line.contains("ERROR"),
            _ => true,
        }
    }

    pub(super) fn line(&self, style: Style) -> String {
        match self {
            Self::Cluster { server, flags } => format!(
                "{} {server}; try: kubectl {flags} get crds, or k9s {flags}",
                style.cyan("cluster  ")
            ),
            Self::Building { why } => format!("{} {why}", style.cyan("build    ")),
            Self::Broken { said } => {
                let begins = style.red("broken   ");
                let lines: Vec<String> = said.lines().map(|line| format!("  {line}")).collect();
                format!(
                    "{begins} the operator does not compile; the old one keeps running\n{}",
                    lines.join("\n")
                )
            }
            Self::Applied { object, action } => {
                format!("{} {object} {action}", style.cyan("applied  "))
            }
            Self::Refused { why } => format!("{} {why}", style.red("refused  ")),
            Self::Running {
                pid,
                build_seconds,
                since_saved_seconds,
                ..
            } => {
                let built = format!("built in {build_seconds:.1} s");
                let measure = match since_saved_seconds {
                    Some(seconds) => format!("{seconds:.1} s after the change, {built}"),
                    None => built,
                };
                let measure = style.dim(&format!("({measure})"));
                format!("{} process {pid} ready {measure}", style.green("running  "))
            }
            Self::Ended { how } => format!("{} the operator ended: {how}", style.red("ended    ")),
            Self::Reconcile {
                controller,
                key,
                trigger,
                result,
                seconds,
                failed,
            } => {
                let kind = style.yellow("reconcile");
                let result = match failed {
                    true => style.red(result),
                    false => style.green(result),
                };
                let took = style.dim(&format!("({:.1} ms)", seconds * 1e3));
                format!("{kind} {controller} {key:<16} {trigger:<18} -> {result} {took}")
            }
            Self::Missed { controller, count } => {
                let kind = style.yellow("reconcile");
                format!("{kind} {controller} {count} more")
            }
            Self::Event {
                warning,
                object,
                reason,
                note,
            } => {
                let kind = match warning {
                    true => style.red("event    "),
                    false => style.cyan("event    "),
                };
                format!("{kind} {object} {reason}: {note}")
            }
            Self::Log { line } => format!("{} {line}", style.dim("log      ")),
        }
    }
}
