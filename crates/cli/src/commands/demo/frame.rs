//! The picture of a running demo: 23 lines at most, as narrow as their text.

use std::time::Duration;

use super::{happening::Happening, screen::Notes};
use crate::commands::{style::Style, terminal::clock};

/// How many Services are shown.
const ROWS: usize = 3;

/// What is read off when the picture is drawn.
#[derive(Clone, Debug, Default)]
pub(super) struct Gauges {
    pub(super) queued: usize,
    pub(super) running: usize,
    pub(super) delayed: usize,
    /// When the next delayed key is due.
    pub(super) due: Option<Duration>,
    /// Services, their ports, whether they ask, and where their Ingress leads.
    pub(super) rows: Vec<Row>,
}

/// A Service, and the Ingress of its name.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    pub(super) service: String,
    pub(super) port: String,
    pub(super) asks: bool,
    pub(super) ingress: String,
}

/// The picture.
pub(super) fn lines(notes: &Notes, gauges: &Gauges, style: Style) -> Vec<String> {
    let up = notes.began.elapsed().as_secs();
    let mut lines = vec![
        format!(
            "{}   {}   {up} s   round {}   Ctrl-C stops",
            style.bold("kubewright demo"),
            notes.server,
            notes.round
        ),
        format!("join in: {}", style.cyan(&notes.join)),
        String::new(),
    ];
    let (number, of, title) = notes.step;
    lines.push(format!(
        "{}  {number}/{of} {}",
        heading("STORY", style),
        style.bold(title)
    ));
    lines.push(match &notes.verdict {
        Some(verdict) => format!("           {}", verdict.line(style)),
        None => String::new(),
    });
    lines.push(format!(
        "{}  {} queued   {} running   {}",
        heading("QUEUE", style),
        gauges.queued,
        gauges.running,
        delayed(gauges)
    ));
    lines.push(format!(
        "{}  {} events   {} reconciles, {} of them failed",
        heading("SO FAR", style),
        notes.events,
        notes.reconciles,
        notes.failures
    ));
    lines.push(String::new());
    lines.push(format!(
        "{}  {:<20} {:<6} {:<13} {}",
        heading("STATE", style),
        "SERVICE",
        "PORT",
        "ingress/http",
        "INGRESS"
    ));
    let rows = gauges.rows.iter().take(ROWS).map(|row| {
        let asks = if row.asks { "yes" } else { "-" };
        format!(
            "           {:<20} {:<6} {asks:<13} {}",
            row.service, row.port, row.ingress
        )
    });
    let mut rows: Vec<String> = rows.collect();
    rows.resize(ROWS, String::new());
    lines.append(&mut rows);
    if gauges.rows.len() > ROWS {
        let more = gauges.rows.len() - ROWS;
        lines.pop();
        lines.push(format!("           and {} more", more + 1));
    }
    lines.push(String::new());
    let recent = notes
        .recent
        .iter()
        .map(|(at, happening)| recent(*at, happening, style));
    lines.extend(recent);
    lines
}

fn recent(at: Duration, happening: &Happening, style: Style) -> String {
    format!("{}  {}", style.dim(&clock(at)), happening.line(style))
}

fn heading(text: &str, style: Style) -> String {
    style.dim(&format!("{text:<9}"))
}

fn delayed(gauges: &Gauges) -> String {
    match gauges.due {
        Some(due) => format!(
            "{} delayed, the next for {} ms",
            gauges.delayed,
            due.as_millis()
        ),
        None => format!("{} delayed", gauges.delayed),
    }
}
