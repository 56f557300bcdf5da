//! The lines of the live view: state of the operator, controllers, failing keys, recent events.
//!
//! The view has the size of the terminal. The recent events get all lines that are left, newest at the bottom. Long lines are
//! broken, so that the text at their end is seen.

use super::screen::{Notes, State, times};
use crate::{
    operator::endpoint::{ControllerStatus, KeyStatus},
    terminal::{
        Size, clock,
        style::Style,
        wrap::{columns, wrap},
    },
};

/// The width of the first column.
const HEADING: usize = 11;

/// The indentation of broken lines of recent events: the width of the clock and the word after it.
const EVENT: usize = 19;

/// The maximum number of lines of one recent event, failing key or state.
const BROKEN: usize = 5;

/// Formats the view.
pub(super) fn lines(notes: &Notes, style: Style, size: Size) -> Vec<String> {
    let mut view = View {
        lines: Vec::new(),
        size,
    };
    view.head(notes, style);
    view.add(
        HEADING,
        &format!("{}{}", heading("OPERATOR", style), state(notes, style)),
    );
    match &notes.broken {
        // A few lines are left for recent events.
        Some(said) => {
            let most = size.lines.saturating_sub(view.lines.len() + 5).max(5);
            view.compiler(said, most);
        }
        None => view.controllers(notes, style),
    }
    view.lines.push(String::new());
    view.recent(notes, style);
    view.lines.truncate(size.lines);
    view.lines
}

struct View {
    lines: Vec<String>,
    size: Size,
}

impl View {
    /// Adds a line, broken if it is too long.
    fn add(&mut self, indent: usize, line: &str) {
        let rows = wrap(line, self.size.columns, indent, BROKEN);
        self.lines.extend(rows);
    }

    fn head(&mut self, notes: &Notes, style: Style) {
        let up = notes.began.elapsed().as_secs();
        let title = format!(
            "{} {}   {}   up {up} s   Ctrl-C stops",
            style.bold("kubewright dev"),
            notes.title,
            notes.server
        );
        self.add(0, &title);
        let join = format!("kubectl {} get crds", notes.flags);
        self.add(0, &format!("join in: {}", style.cyan(&join)));
        if !notes.console.is_empty() {
            let console = style.cyan(&notes.console);
            self.add(0, &format!("console: {console}   o opens it"));
        }
        self.lines.push(String::new());
    }

    /// Adds the first errors of the compiler.
    fn compiler(&mut self, said: &str, most: usize) {
        let all: Vec<String> = said
            .lines()
            .flat_map(|line| wrap(&format!("  {line}"), self.size.columns, 4, BROKEN))
            .collect();
        let left = all.len().saturating_sub(most);
        self.lines.extend(all.into_iter().take(most));
        if left > 0 {
            self.lines
                .push(format!("  … {left} more lines; `cargo check` shows all"));
        }
    }

    fn controllers(&mut self, notes: &Notes, style: Style) {
        let all = &notes.controllers.controllers;
        // The numbers come from a program that may report anything.
        let sum = |numbers: &mut dyn Iterator<Item = u64>| numbers.fold(0, u64::saturating_add);
        let runs = sum(&mut all.iter().map(|controller| controller.runs));
        let failures = sum(&mut all.iter().map(|controller| controller.failures));
        let so_far = heading("SO FAR", style);
        self.add(
            HEADING,
            &format!(
                "{so_far}reconciled {}, failed {}",
                often(runs),
                often(failures)
            ),
        );
        // A third of the height is for controllers and failing keys each.
        let most = (self.size.lines / 3).saturating_sub(4).max(2);
        for (at, controller) in all.iter().take(most).enumerate() {
            let head = heading(if at == 0 { "LOOPS" } else { "" }, style);
            self.add(HEADING, &format!("{head}{}", loop_line(controller, style)));
        }
        if all.len() > most {
            self.lines
                .push(format!("{:HEADING$}and {} more", "", all.len() - most));
        }
        let failing: Vec<&KeyStatus> = all
            .iter()
            .flat_map(|controller| &controller.keys)
            .filter(|key| key.failed())
            .collect();
        let until = self.lines.len() + most;
        for (at, key) in failing.iter().enumerate() {
            if self.lines.len() >= until {
                self.lines
                    .push(format!("{:HEADING$}and {} more", "", failing.len() - at));
                break;
            }
            let head = heading(if at == 0 { "FAILING" } else { "" }, style);
            let result = style.red(key.last_result.as_deref().unwrap_or_default());
            self.add(
                HEADING,
                &format!("{head}{:<20} {result}{}", key.key, due(key)),
            );
        }
    }

    /// Adds the newest events that fit.
    fn recent(&mut self, notes: &Notes, style: Style) {
        let mut left = self.size.lines.saturating_sub(self.lines.len());
        let mut blocks = Vec::new();
        for entry in notes.recent.newest_first() {
            let line = entry.event.line(style);
            let mut line = line.lines().next().unwrap_or_default().to_owned();
            if entry.count > 1 {
                line.push_str(&times(entry.count, style));
            }
            let line = format!("{} {line}", style.dim(&clock(entry.at)));
            let rows = wrap(&line, self.size.columns, EVENT, BROKEN);
            if rows.len() > left {
                break;
            }
            left -= rows.len();
            blocks.push(rows);
        }
        self.lines.extend(blocks.into_iter().rev().flatten());
    }
}

fn state(notes: &Notes, style: Style) -> String {
    match &notes.state {
        State::Starting => "starting".to_owned(),
        State::Building {
            since,
            why,
            progress,
        } => {
            let progress = match progress.as_str() {
                "" => String::new(),
                progress => format!("; {progress}"),
            };
            format!(
                "{} for {:.1} s: {why}{progress}",
                style.yellow("building"),
                since.elapsed().as_secs_f64()
            )
        }
        State::Running { line } => line.clone(),
        State::Ended { how } => style.red(&format!("ended: {how}")),
    }
}

fn loop_line(controller: &ControllerStatus, style: Style) -> String {
    format!(
        "{:<20} {} queued   {} running   {} waiting{}",
        controller.name,
        controller.queued,
        controller.processing,
        controller.delayed,
        trouble(controller, style)
    )
}

fn often(count: u64) -> String {
    match count {
        0 => "never".to_owned(),
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

/// Returns a source that is not synced.
fn trouble(controller: &ControllerStatus, style: Style) -> String {
    let source = controller
        .sources
        .iter()
        .find(|source| source.state != "synced");
    match source {
        Some(source) => {
            let error = source.error.clone().unwrap_or_default();
            style.yellow(&format!("   {} {} {error}", source.name, source.state))
        }
        None => String::new(),
    }
}

fn due(key: &KeyStatus) -> String {
    match key.due_in_seconds {
        Some(seconds) => format!("; retried in {seconds:.0} s"),
        None => String::new(),
    }
}

fn heading(text: &str, style: Style) -> String {
    let heading = style.dim(text);
    let padding = HEADING.saturating_sub(columns(text));
    format!("{heading}{:padding$}", "")
}

#[cfg(test)]
mod tests;
