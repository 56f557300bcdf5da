//! [`Screen`]: the output of the demo, as lines or as a live view that is redrawn in place.
//!
//! The live view is for terminals. One task draws it; everything else only records events.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::sync::{Notify, watch};

use super::{
    event::DemoEvent,
    frame::{self, Gauges},
};
use crate::terminal::{LiveView, clock, print, style::Style};

/// The number of events kept for the live view: as many as a tall terminal shows.
const REMEMBERED: usize = 200;

/// The interval at which the live view is redrawn when nothing happens.
const REDRAW: Duration = Duration::from_millis(250);

/// The output of the demo. Clones share it.
#[derive(Clone)]
pub(super) struct Screen(Arc<Inner>);

/// The form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// A view that is redrawn in place.
    Live,
    /// A line for each event.
    Lines,
    /// A JSON document for each event.
    Json,
}

struct Inner {
    view: View,
    style: Style,
    notes: Mutex<Notes>,
    news: Notify,
    failures: watch::Sender<usize>,
}

/// The state that the live view shows.
pub(super) struct Notes {
    pub(super) began: Instant,
    /// The URL of the server.
    pub(super) server: String,
    /// The command to join in with.
    pub(super) join: String,
    /// The URL of the console, or nothing.
    pub(super) console: String,
    pub(super) round: usize,
    /// The number of the current step, the number of all steps, and the title.
    pub(super) step: (usize, usize, &'static str),
    pub(super) verdict: Option<DemoEvent>,
    pub(super) events: usize,
    pub(super) reconciles: usize,
    pub(super) failures: usize,
    pub(super) recent: VecDeque<(Duration, DemoEvent)>,
}

impl Screen {
    pub(super) fn new(view: View, style: Style, server: String, join: String) -> Self {
        Self(Arc::new(Inner {
            view,
            style,
            notes: Mutex::new(Notes {
                began: Instant::now(),
                server,
                join,
                console: String::new(),
                round: 1,
                step: (0, 0, ""),
                verdict: None,
                events: 0,
                reconciles: 0,
                failures: 0,
                recent: VecDeque::new(),
            }),
            news: Notify::new(),
            failures: watch::Sender::new(0),
        }))
    }

    /// Sets the URL of the console that the live view shows.
    pub(super) fn console(self, url: &str) -> Self {
        self.notes().console = url.to_owned();
        self
    }

    /// Prints a line, except in the live view.
    pub(super) fn say(&self, line: &str) {
        match self.0.view {
            View::Live => {}
            View::Lines => print(&format!("{line}\n")),
            View::Json => self.document(json!({"what": "message", "text": line.trim()})),
        }
    }

    /// Starts a round.
    pub(super) fn round(&self, round: usize) {
        self.notes().round = round;
    }

    /// Starts a step.
    pub(super) fn step(&self, number: usize, of: usize, title: &'static str) {
        {
            let mut notes = self.notes();
            notes.step = (number, of, title);
            notes.verdict = None;
        }
        match self.0.view {
            View::Json => {
                self.document(json!({"what": "step", "number": number, "of": of, "title": title}));
            }
            View::Lines | View::Live => {
                let title = self.0.style.bold(title);
                self.say(&format!("\n{number}/{of} {title}"));
            }
        }
        self.0.news.notify_one();
    }

    /// Shows an event.
    pub(super) fn show(&self, event: DemoEvent) {
        let mut notes = self.notes();
        let at = notes.began.elapsed();
        match &event {
            DemoEvent::Event { .. } => notes.events += 1,
            DemoEvent::Reconcile(reconcile) => {
                notes.reconciles += 1;
                notes.failures += usize::from(reconcile.outcome.is_failure());
                self.0.failures.send_replace(notes.failures);
            }
            DemoEvent::Found(_) | DemoEvent::Missed(_) => notes.verdict = Some(event.clone()),
            DemoEvent::Act(_) | DemoEvent::Fault(_) => {}
        }
        if self.0.view == View::Live {
            notes.recent.push_back((at, event));
            while notes.recent.len() > REMEMBERED {
                notes.recent.pop_front();
            }
            drop(notes);
            self.0.news.notify_one();
            return;
        }
        // The lock is held, so lines are printed in the order of events.
        let style = self.0.style;
        if self.0.view == View::Json {
            let mut document = event.value();
            document["seconds"] = at.as_secs_f64().into();
            return self.document(document);
        }
        print(&format!(
            "{} {}\n",
            style.dim(&clock(at)),
            event.line(style)
        ));
    }

    /// Returns a receiver of the number of failed reconciles.
    pub(super) fn failures(&self) -> watch::Receiver<usize> {
        self.0.failures.subscribe()
    }

    /// Returns the numbers of events, reconciles and failures.
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        let notes = self.notes();
        (notes.events, notes.reconciles, notes.failures)
    }

    /// Redraws the live view until the future is dropped. Other views need no drawing.
    pub(super) async fn draw(&self, gauges: impl Fn() -> Gauges) {
        if self.0.view != View::Live {
            return std::future::pending().await;
        }
        let picture = LiveView::begin();
        loop {
            let lines = frame::lines(&self.notes(), &gauges(), self.0.style, picture.height());
            picture.draw(&lines);
            let _ = tokio::time::timeout(REDRAW, self.0.news.notified()).await;
        }
    }

    fn document(&self, document: Value) {
        print(&format!("{document}\n"));
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        // Every statement leaves the notes consistent, so a panic elsewhere does no harm.
        self.0.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
