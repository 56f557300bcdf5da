//! The events that `dev` shows, as lines or as JSON.

use std::time::Duration;

use serde::Serialize;

use crate::terminal::{clock, style::Style};

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
        /// The URL of the console.
        #[serde(skip_serializing_if = "Option::is_none")]
        console: Option<String>,
    },
    /// The operator is being built.
    Building { why: String },
    /// The build has come this far.
    Progress {
        /// The number of crates that are built.
        done: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        total: Option<usize>,
        /// The crate that is built, or what cargo does.
        now: String,
    },
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
    /// The operator runs and is not ready yet.
    NotReady { pid: u32, why: String },
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
    /// The cluster calls the webhooks of the operator.
    Called { webhooks: String, url: String },
    /// The cluster does not call the webhooks of the operator.
    NotCalled { webhooks: String, why: String },
    /// A webhook of the operator has answered a review.
    Review {
        kind: String,
        object: String,
        operation: String,
        /// The path of the webhook.
        webhook: String,
        verdict: String,
        allowed: bool,
        seconds: f64,
    },
    /// There were more reviews than single ones are shown.
    MissedReviews { count: u64 },
    /// A request of the operator was denied.
    Denied {
        user: String,
        /// The permission it lacks: `list secrets`.
        permission: String,
        /// The statement that declares the rule in the operator.
        declaration: String,
        /// The rule in the YAML of a role.
        yaml: String,
    },
    /// An Event about an object was recorded.
    Event {
        warning: bool,
        object: String,
        reason: String,
        note: String,
    },
    /// A pod that belongs to an object of the operator has another state.
    Pod {
        pod: String,
        /// The object of the operator: `webapp/shop`.
        owner: String,
        state: String,
        /// The cause of a failure.
        #[serde(skip_serializing_if = "String::is_empty")]
        why: String,
        failed: bool,
    },
    /// The operator logged a line. Level and target are empty if it printed the line itself.
    Log {
        level: String,
        target: String,
        line: String,
    },
}

impl DevEvent {
    /// Returns whether the live view lists the event.
    pub(super) fn is_recent(&self) -> bool {
        match self {
            Self::Cluster { .. } | Self::Progress { .. } => false,
            // What the framework does is shown in other ways.
            Self::Log { level, target, .. } => {
                matches!(level.as_str(), "WARN" | "ERROR") || !target.starts_with("kubewright")
            }
            _ => true,
        }
    }

    /// Returns whether another event reports the same: the log of a failed reconcile.
    pub(super) fn is_told_otherwise(&self) -> bool {
        match self {
            Self::Log { target, line, .. } => {
                target.starts_with("kubewright_controller") && line.starts_with("reconcile failed")
            }
            _ => false,
        }
    }

    /// Returns whether the event is the failure of a reconcile, of a pod or of the operator.
    pub(super) fn is_failure(&self) -> bool {
        matches!(
            self,
            Self::Reconcile { failed: true, .. }
                | Self::Pod { failed: true, .. }
                | Self::Ended { .. }
        )
    }

    /// Returns whether another event is the same once more: a reconcile with the same outcome for the same key, the same state
    /// of a pod, or an end with the same cause.
    pub(super) fn repeats(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Ended { how }, Self::Ended { how: other_how }) => how == other_how,
            (
                Self::Pod { pod, state, .. },
                Self::Pod {
                    pod: other_pod,
                    state: other_state,
                    ..
                },
            ) => (pod, state) == (other_pod, other_state),
            (
                Self::Reconcile {
                    controller,
                    key,
                    trigger,
                    result,
                    failed,
                    ..
                },
                Self::Reconcile {
                    controller: other_controller,
                    key: other_key,
                    trigger: other_trigger,
                    result: other_result,
                    failed: other_failed,
                    ..
                },
            ) => {
                (controller, key, result) == (other_controller, other_key, other_result)
                    && failed == other_failed
                    // Retries have another trigger than the first run.
                    && (*failed || trigger == other_trigger)
            }
            _ => false,
        }
    }

    pub(super) fn line(&self, style: Style) -> String {
        match self {
            Self::Cluster {
                server,
                flags,
                console,
            } => {
                let console = console.as_deref().unwrap_or("none; --no-console was given");
                format!(
                    "{} {server}; try: kubectl {flags} get crds, or k9s {flags}\n{} {} {console}",
                    style.cyan("cluster  "),
                    clock(Duration::ZERO),
                    style.cyan("console  ")
                )
            }
            Self::Building { why } => format!("{} {why}", style.cyan("build    ")),
            Self::Progress { done, total, now } => {
                let text = progress(*done, *total, now);
                format!("{} {text}", style.cyan("build    "))
            }
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
            Self::NotReady { pid, why } => format!(
                "{} process {pid}, not ready: {why}",
                style.yellow("running  ")
            ),
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
                let took = style.dim(&format!(", took {:.1} ms", seconds * 1e3));
                format!("{kind} {controller} {key:<16} {trigger:<18} -> {result}{took}")
            }
            Self::Missed { controller, count } => {
                let kind = style.yellow("reconcile");
                format!("{kind} {controller} {count} more")
            }
            Self::Called { webhooks, url } => {
                let begins = style.green("webhooks ");
                format!("{begins} called at {url}: {webhooks}")
            }
            Self::NotCalled { webhooks, why } => {
                let begins = style.yellow("webhooks ");
                format!("{begins} not called, {why}: {webhooks}")
            }
            Self::Review {
                kind,
                object,
                operation,
                webhook,
                verdict,
                allowed,
                seconds,
            } => {
                let begins = style.yellow("review   ");
                let verdict = match allowed {
                    true => style.green(verdict),
                    false => style.red(verdict),
                };
                let took = style.dim(&format!(", took {:.1} ms", seconds * 1e3));
                format!("{begins} {kind} {object:<16} {operation:<7} {webhook} -> {verdict}{took}")
            }
            Self::MissedReviews { count } => {
                format!("{} {count} more", style.yellow("review   "))
            }
            Self::Denied {
                permission,
                declaration,
                yaml,
                ..
            } => {
                let begins = style.red("denied   ");
                let yaml: Vec<String> = yaml.lines().map(|line| format!("  {line}")).collect();
                format!(
                    "{begins} the operator may not {permission}; add {declaration} or to its role:\n{}",
                    yaml.join("\n")
                )
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
            Self::Pod {
                pod,
                owner,
                state,
                why,
                failed,
            } => {
                let (kind, state) = match failed {
                    true => (style.red("pod      "), style.red(state)),
                    false => (style.cyan("pod      "), state.clone()),
                };
                let why = match why.as_str() {
                    "" => String::new(),
                    why => format!(": {why}"),
                };
                format!("{kind} {pod} of {owner} {state}{why}")
            }
            Self::Log { level, line, .. } => {
                let kind = style.dim("log      ");
                let level = match level.as_str() {
                    "ERROR" => style.red("ERROR "),
                    "WARN" => style.yellow("WARN "),
                    "" => String::new(),
                    other => format!("{other} "),
                };
                format!("{kind} {level}{line}")
            }
        }
    }
}

/// Formats the progress of a build: `112 of 218 crates, Compiling kube-client v5.0.0`.
pub(super) fn progress(done: usize, total: Option<usize>, now: &str) -> String {
    match (done, total) {
        (0, _) => now.to_owned(),
        (done, Some(total)) if done <= total => format!("{done} of {total} crates, {now}"),
        (done, _) => format!("{done} crates, {now}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_runs_and_delays_are_distinguished() {
        let run = DevEvent::Reconcile {
            controller: "captain".into(),
            key: "default/a".into(),
            trigger: "captains added".into(),
            result: "requeue after 30s".into(),
            seconds: 0.0002,
            failed: false,
        };
        assert_eq!(
            run.line(Style::Plain),
            "reconcile captain default/a        captains added     -> requeue after 30s, took 0.2 ms"
        );
    }

    #[test]
    fn the_first_line_of_a_denied_request_has_the_statement_to_paste() {
        let denied = DevEvent::Denied {
            user: "system:serviceaccount:crew-system:crew-controller-manager".into(),
            permission: "list secrets".into(),
            declaration: r#"operator.rule("", &["secrets"], &["get", "list", "watch"]);"#.into(),
            yaml: "- apiGroups: [\"\"]\n  resources: [\"secrets\"]".into(),
        };
        assert_eq!(
            denied.line(Style::Plain),
            "denied    the operator may not list secrets; add operator.rule(\"\", &[\"secrets\"], &[\"get\", \"list\", \"watch\"]); or to its role:\n  - apiGroups: [\"\"]\n    resources: [\"secrets\"]"
        );
    }

    #[test]
    fn a_failure_is_shown_once_by_its_reconcile() {
        let log = |target: &str, line: &str| DevEvent::Log {
            level: "WARN".into(),
            target: target.into(),
            line: line.into(),
        };
        assert!(
            log(
                "kubewright_controller::controller::work",
                "reconcile failed error=no"
            )
            .is_told_otherwise()
        );
        assert!(!log("crew::controller", "reconcile failed, alas").is_told_otherwise());
        assert!(!log("kubewright_controller::events", "giving up an event").is_told_otherwise());
    }

    #[test]
    fn progress_counts_crates_as_soon_as_there_are_some() {
        assert_eq!(
            progress(0, Some(9), "Updating the index"),
            "Updating the index"
        );
        assert_eq!(
            progress(3, Some(9), "Compiling a"),
            "3 of 9 crates, Compiling a"
        );
        assert_eq!(
            progress(10, Some(9), "Compiling a"),
            "10 crates, Compiling a"
        );
    }
}
