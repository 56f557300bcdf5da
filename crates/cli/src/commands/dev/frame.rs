//! The lines of the live view: state of the operator, controllers, failing keys, recent events.

use super::screen::{Notes, State};
use crate::{
    operator::endpoint::{ControllerStatus, KeyStatus},
    terminal::{clock, style::Style},
};

/// The maximum numbers of controllers, failing keys and compiler lines in the view.
const CONTROLLERS: usize = 5;
const FAILING: usize = 3;
const SAID: usize = 12;

/// Formats the view.
pub(super) fn lines(notes: &Notes, style: Style) -> Vec<String> {
    let up = notes.began.elapsed().as_secs();
    let mut lines = vec![
        format!(
            "{} {}   {}   {up} s   Ctrl-C stops",
            style.bold("kubewright dev"),
            notes.title,
            notes.server
        ),
        format!(
            "join in: {}",
            style.cyan(&format!("kubectl {} get crds", notes.flags))
        ),
        String::new(),
        format!("{}  {}", heading("OPERATOR", style), state(notes, style)),
    ];
    match &notes.broken {
        Some(said) => lines.extend(said.lines().take(SAID).map(|line| format!("  {line}"))),
        None => controllers(notes, style, &mut lines),
    }
    lines.push(String::new());
    for (at, event) in &notes.recent {
        let line = event.line(style);
        let line = line.lines().next().unwrap_or_default();
        lines.push(format!("{} {line}", style.dim(&clock(*at))));
    }
    lines
}

fn state(notes: &Notes, style: Style) -> String {
    match &notes.state {
        State::Starting => "starting".to_owned(),
        State::Building { since, why } => format!(
            "{} for {:.1} s: {why}",
            style.yellow("building"),
            since.elapsed().as_secs_f64()
        ),
        State::Running { line } => line.clone(),
        State::Ended { how } => style.red(&format!("ended: {how}")),
    }
}

fn controllers(notes: &Notes, style: Style, lines: &mut Vec<String>) {
    let all = &notes.controllers.controllers;
    // The numbers come from a program that may report anything.
    let sum = |numbers: &mut dyn Iterator<Item = u64>| numbers.fold(0, u64::saturating_add);
    let runs = sum(&mut all.iter().map(|controller| controller.runs));
    let failures = sum(&mut all.iter().map(|controller| controller.failures));
    lines.push(format!(
        "{}  reconciled {}, failed {}",
        heading("SO FAR", style),
        times(runs),
        times(failures)
    ));
    for (at, controller) in all.iter().take(CONTROLLERS).enumerate() {
        let head = if at == 0 { "LOOPS" } else { "" };
        lines.push(format!(
            "{}  {:<20} {} queued   {} running   {} delayed{}",
            heading(head, style),
            controller.name,
            controller.queued,
            controller.processing,
            controller.delayed,
            trouble(controller, style)
        ));
    }
    let failing = all
        .iter()
        .flat_map(|controller| &controller.keys)
        .filter(|key| key.failed());
    for (at, key) in failing.take(FAILING).enumerate() {
        let head = if at == 0 { "FAILING" } else { "" };
        lines.push(format!(
            "{}  {:<20} {}{}",
            heading(head, style),
            key.key,
            style.red(key.last_result.as_deref().unwrap_or_default()),
            due(key)
        ));
    }
}

fn times(count: u64) -> String {
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
        Some(seconds) => format!(", retry in {seconds:.0} s"),
        None => String::new(),
    }
}

fn heading(text: &str, style: Style) -> String {
    style.dim(&format!("{text:<9}"))
}
