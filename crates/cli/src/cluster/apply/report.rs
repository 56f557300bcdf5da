//! [`Report`]: the progress and results of applying objects. Progress is shown on terminals only, and erased when done.

use std::io::{IsTerminal, Write};

use serde_json::{Value, json};

use super::{Action, Outcome};
use crate::{output::say, terminal::style::Style};

/// The destination of progress and results.
pub(crate) struct Report {
    lines: bool,
    /// True if progress is shown on standard error.
    live: bool,
    style: Style,
}

impl Report {
    /// True if results are printed as lines; false if the output is JSON.
    pub(crate) fn new(json: bool) -> Self {
        Self {
            lines: !json,
            live: !json && std::io::stderr().is_terminal(),
            style: Style::of(std::io::stdout().is_terminal()),
        }
    }

    /// Reports nothing.
    pub(crate) fn silent() -> Self {
        Self {
            lines: false,
            live: false,
            style: Style::Plain,
        }
    }

    /// Shows the current step.
    pub(crate) fn now(&self, what: &str) {
        if self.live {
            // Progress that cannot be shown is not an error.
            let _ = write!(std::io::stderr(), "\r\x1b[K{what} …");
            let _ = std::io::stderr().flush();
        }
    }

    /// Prints a result.
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
            // A closed pipe is not an error.
            let _ = say(&format!("{title} {word}{after} {took}\n"));
        }
    }

    fn clear(&self) {
        if self.live {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }

    /// Formats all results as JSON.
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
