//! Printing: text for people, JSON for programs.

mod plan;

use std::{fmt::Display, io::Write, path::Path};

use clap::{Args, ValueEnum};
use kubewright_scaffold::Error;
use serde_json::Value;

pub(crate) use plan::{PlanArgs, report};

/// The flag that selects the output format.
#[derive(Args, Default)]
pub(crate) struct Output {
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Format,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Human-readable text
    #[default]
    Text,
    /// JSON
    Json,
}

impl Output {
    /// Returns whether the output is JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.output == Format::Json
    }

    /// Prints a JSON value.
    pub(crate) fn value(&self, value: &Value) -> anyhow::Result<()> {
        say(&format!("{value:#}\n"))
    }
}

/// Prints a text. A closed pipe is not an error.
pub(crate) fn say(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(e) => Err(Error::io("write to", Path::new("standard output"), &e).into()),
    }
}

/// Prints a line to standard error. Failures are ignored.
pub(crate) fn warn(line: impl Display) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Prints a line. A closed pipe is not an error.
pub(crate) fn say_line(line: &str) -> anyhow::Result<()> {
    say(&format!("{line}\n"))
}

/// Formats columns as kubectl does.
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
