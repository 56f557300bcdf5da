//! [`Report`]: how it is told what becomes of objects. What is under way shows on a terminal only, and is gone when it is done.

use std::io::{IsTerminal, Write};

use serde_json::{Value, json};

use super::{Action, Outcome};
use crate::commands::{planned::say, style::Style};

/// Where it is told.
pub(crate) struct Report {
    lines: bool,
    /// What is under way is shown on standard error.
    live: bool,
    style: Style,
}

impl Report {
    /// Lines for people; none if the answer is JSON.
    pub(crate) fn new(json: bool) -> Self {
        Self {
            lines: !json,
            live: !json && std::io::stderr().is_terminal(),
            style: Style::of(std::io::stdout().is_terminal()),
        }
    }

    /// Nothing is told.
    pub(crate) fn silent() -> Self {
        Self {
            lines: false,
            live: false,
            style: Style::Plain,
        }
    }

    /// What is under way.
    pub(crate) fn now(&self, what: &str) {
        if self.live {
            // Who cannot see it misses nothing.
            let _ = write!(std::io::stderr(), "\r\x1b[K{what} …");
            let _ = std::io::stderr().flush();
        }
    }

    /// What was done.
    pub(super) fn done(&self, outcome: &Outcome) {
        self.clear();
        if self.lines {
            let (word, after) = outcome.words();
            let word = match outcome.action {
                Action::Created | Action::Configured => self.style.green(word),
                Action::Deleted => self.style.yellow(word),
                Action::Unchanged | Action::NotFound => self.style.dim(word),
            };
            let took = self.style.dim(&format!("({:.1} s)", outcome.seconds));
            let title = format!("{}/{}", outcome.kind.to_lowercase(), outcome.name);
            // Nobody listening any more is no reason to stop.
            let _ = say(&format!("{title} {word}{after} {took}\n"));
        }
    }

    fn clear(&self) {
        if self.live {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }

    /// The whole, for programs.
    pub(crate) fn value(outcomes: &[Outcome]) -> Value {
        json!({ "objects": outcomes })
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Outcome {
    fn words(&self) -> (&'static str, &'static str) {
        let ready = match self.kind.as_str() {
            "CustomResourceDefinition" => ", established",
            "Deployment" => ", available",
            _ => "",
        };
        match self.action {
            Action::Created => ("created", ready),
            Action::Configured => ("configured", ready),
            Action::Unchanged => ("unchanged", ready),
            Action::Deleted => ("deleted", ""),
            Action::NotFound => ("not found", ""),
        }
    }
}
