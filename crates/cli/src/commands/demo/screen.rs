//! [`Screen`]: where things are shown, line by line or as a picture that is drawn again and again in its place.
//!
//! The picture is for terminals. It is drawn by one task; whoever has something to show only notes it.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::sync::{Notify, watch};

use super::{
    frame::{self, Gauges},
    happening::Happening,
};
use crate::commands::{
    style::Style,
    terminal::{Picture, clock, print},
};

/// How many happenings the picture remembers: as many as a tall terminal shows.
const REMEMBERED: usize = 200;

/// How often the picture is drawn when nothing happens.
const REDRAW: Duration = Duration::from_millis(250);

/// Where things are shown. Clones are the same one.
#[derive(Clone)]
pub(super) struct Screen(Arc<Inner>);

/// How things are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// A picture, drawn again and again.
    Picture,
    /// A line for each thing that happens.
    Lines,
    /// The same, as JSON.
    Json,
}

struct Inner {
    view: View,
    style: Style,
    notes: Mutex<Notes>,
    news: Notify,
    failures: watch::Sender<usize>,
}

/// What is known of the story and the loop.
pub(super) struct Notes {
    pub(super) began: Instant,
    /// Where the server is.
    pub(super) server: String,
    /// How to join in.
    pub(super) join: String,
    pub(super) round: usize,
    /// Number, of how many, and what it is about.
    pub(super) step: (usize, usize, &'static str),
    pub(super) verdict: Option<Happening>,
    pub(super) events: usize,
    pub(super) reconciles: usize,
    pub(super) failures: usize,
    pub(super) recent: VecDeque<(Duration, Happening)>,
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

    /// Shows a line, if lines are shown.
    pub(super) fn say(&self, line: &str) {
        match self.0.view {
            View::Picture => {}
            View::Lines => print(&format!("{line}\n")),
            View::Json => self.document(json!({"what": "said", "text": line.trim()})),
        }
    }

    /// The story begins anew.
    pub(super) fn round(&self, round: usize) {
        self.notes().round = round;
    }

    /// The story goes on.
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
            View::Lines | View::Picture => {
                let title = self.0.style.bold(title);
                self.say(&format!("\n{number}/{of} {title}"));
            }
        }
        self.0.news.notify_one();
    }

    /// Shows what happened.
    pub(super) fn tell(&self, happening: Happening) {
        let mut notes = self.notes();
        let at = notes.began.elapsed();
        match &happening {
            Happening::Event { .. } => notes.events += 1,
            Happening::Reconcile(reconcile) => {
                notes.reconciles += 1;
                notes.failures += usize::from(reconcile.outcome.is_failure());
                self.0.failures.send_replace(notes.failures);
            }
            Happening::Found(_) | Happening::Missed(_) => notes.verdict = Some(happening.clone()),
            Happening::Act(_) => {}
        }
        if self.0.view == View::Picture {
            notes.recent.push_back((at, happening));
            while notes.recent.len() > REMEMBERED {
                notes.recent.pop_front();
            }
            drop(notes);
            self.0.news.notify_one();
            return;
        }
        // Under the lock, so that lines stand in the order in which things happened.
        let style = self.0.style;
        if self.0.view == View::Json {
            let mut document = happening.value();
            document["seconds"] = at.as_secs_f64().into();
            return self.document(document);
        }
        print(&format!(
            "{} {}\n",
            style.dim(&clock(at)),
            happening.line(style)
        ));
    }

    /// How many reconciles have failed, to be waited for.
    pub(super) fn failures(&self) -> watch::Receiver<usize> {
        self.0.failures.subscribe()
    }

    /// Events, reconciles, failures.
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        let notes = self.notes();
        (notes.events, notes.reconciles, notes.failures)
    }

    /// Draws the picture until it is dropped. Lines need no drawing.
    pub(super) async fn draw(&self, gauges: impl Fn() -> Gauges) {
        if self.0.view != View::Picture {
            return std::future::pending().await;
        }
        let picture = Picture::begin();
        loop {
            let lines = frame::lines(&self.notes(), &gauges(), self.0.style, picture.height());
            picture.draw(&lines);
            // Nothing to look at twice means nothing to wait for: news or time.
            let _ = tokio::time::timeout(REDRAW, self.0.news.notified()).await;
        }
    }

    fn document(&self, document: Value) {
        print(&format!("{document}\n"));
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        // Notes are whole after every statement: a panic elsewhere does not spoil them.
        self.0.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
