//! The lines of the live view. The most recent events that fit are at the bottom.

use std::time::Duration;

use super::{event::DemoEvent, screen::Notes};
use crate::terminal::{clock, style::Style};

/// The maximum number of displayed Services.
const ROWS: usize = 3;

/// The state of the queue and the cluster at the time of drawing.
#[derive(Clone, Debug, Default)]
pub(super) struct Gauges {
    pub(super) queued: usize,
    pub(super) running: usize,
    pub(super) delayed: usize,
    /// The time until the next delayed key is due.
    pub(super) due: Option<Duration>,
    /// The Services with their Ingresses.
    pub(super) rows: Vec<Row>,
}

/// A Service and the Ingress of its name.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    pub(super) service: String,
    pub(super) port: String,
    pub(super) asks: bool,
    pub(super) ingress: String,
}

/// Formats the view for a terminal of `height` lines.
pub(super) fn lines(notes: &Notes, gauges: &Gauges, style: Style, height: usize) -> Vec<String> {
    let up = notes.began.elapsed().as_secs();
    let mut lines = vec![
        format!(
            "{}   {}   {up} s   round {}   Ctrl-C stops",
            style.bold("kubewright demo"),
            notes.server,
            notes.round
        ),
        format!("join in: {}", style.cyan(&notes.join)),
        match notes.console.as_str() {
            "" => String::new(),
            url => format!("console: {}   o opens it", style.cyan(url)),
        },
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
        "{}  {} events   {} reconciles, {} failed",
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
    // One line is left free, since a full last line makes some terminals scroll.
    let room = height.saturating_sub(lines.len() + 1);
    let unseen = notes.recent.len().saturating_sub(room);
    let recent = notes
        .recent
        .iter()
        .skip(unseen)
        .map(|(at, event)| recent(*at, event, style));
    lines.extend(recent);
    lines.truncate(height.saturating_sub(1));
    lines
}

fn recent(at: Duration, event: &DemoEvent, style: Style) -> String {
    format!("{}  {}", style.dim(&clock(at)), event.line(style))
}

fn heading(text: &str, style: Style) -> String {
    style.dim(&format!("{text:<9}"))
}

fn delayed(gauges: &Gauges) -> String {
    match gauges.due {
        Some(due) => format!("{} delayed, next in {} ms", gauges.delayed, due.as_millis()),
        None => format!("{} delayed", gauges.delayed),
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::VecDeque, time::Instant};

    use super::*;

    fn notes(happened: usize) -> Notes {
        let act = |n: usize| {
            (
                Duration::from_secs(n as u64),
                DemoEvent::Act(format!("act {n}.")),
            )
        };
        Notes {
            began: Instant::now(),
            server: "https://127.0.0.1:1".to_owned(),
            join: "kubectl".to_owned(),
            console: String::new(),
            round: 1,
            step: (1, 9, "A Service"),
            verdict: None,
            events: 0,
            reconciles: 0,
            failures: 0,
            recent: (1..=happened).map(act).collect::<VecDeque<_>>(),
        }
    }

    fn drawn(happened: usize, height: usize) -> Vec<String> {
        let (notes, gauges) = (notes(happened), Gauges::default());
        lines(&notes, &gauges, Style::of(false), height)
    }

    #[test]
    fn the_picture_is_never_higher_than_the_terminal() {
        for height in [1, 5, 13, 14, 24, 60, 300] {
            let lines = drawn(200, height).len();
            assert!(lines < height.max(1), "{lines} lines on {height}");
        }
    }

    #[test]
    fn a_higher_terminal_shows_more_and_always_the_last() {
        for height in [16, 24, 60] {
            let lines = drawn(200, height);
            assert_eq!(lines.len(), height - 1);
            assert!(lines[height - 2].contains("act 200."), "{lines:?}");
        }
        let all = drawn(3, 60).join("\n");
        assert!(all.contains("act 1.") && all.contains("act 3."), "{all}");
    }
}
