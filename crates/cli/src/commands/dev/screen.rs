//! [`Screen`]: the output of `dev`: a live view on terminals, lines elsewhere, or JSON.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use serde_json::json;
use tokio::sync::Notify;

use super::{event::DevEvent, frame};
use crate::{
    operator::endpoint::Controllers,
    terminal::{LiveView, clock, print, style::Style},
};

/// The number of events kept for the live view.
const REMEMBERED: usize = 12;

/// The interval at which the live view is redrawn when nothing happens.
const REDRAW: Duration = Duration::from_millis(250);

/// The form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    Live,
    Lines,
    Json,
}

/// The output of `dev`. Clones share it.
#[derive(Clone)]
pub(super) struct Screen(Arc<Inner>);

struct Inner {
    view: View,
    style: Style,
    notes: Mutex<Notes>,
    news: Notify,
}

/// The state that the live view shows.
pub(super) struct Notes {
    pub(super) began: Instant,
    pub(super) title: String,
    pub(super) server: String,
    pub(super) flags: String,
    pub(super) state: State,
    /// The errors of the compiler.
    pub(super) broken: Option<String>,
    /// The last status of the controllers.
    pub(super) controllers: Controllers,
    pub(super) recent: VecDeque<(Duration, DevEvent)>,
}

/// The state of the operator.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum State {
    Starting,
    Building { since: Instant, why: String },
    Running { line: String },
    Ended { how: String },
}

impl Screen {
    pub(super) fn new(view: View, style: Style, title: &str) -> Self {
        Self(Arc::new(Inner {
            view,
            style,
            notes: Mutex::new(Notes {
                began: Instant::now(),
                title: title.to_owned(),
                server: String::new(),
                flags: String::new(),
                state: State::Starting,
                broken: None,
                controllers: Controllers::default(),
                recent: VecDeque::new(),
            }),
            news: Notify::new(),
        }))
    }

    /// Shows an event.
    pub(super) fn show(&self, event: DevEvent) {
        let mut notes = self.notes();
        let at = notes.began.elapsed();
        notes.keep(&event, self.0.style);
        match self.0.view {
            View::Live => {
                if event.is_recent() {
                    notes.recent.push_back((at, event));
                    while notes.recent.len() > REMEMBERED {
                        notes.recent.pop_front();
                    }
                }
                drop(notes);
                self.0.news.notify_one();
            }
            // The lock is held, so lines are printed in the order of events.
            View::Lines => {
                let style = self.0.style;
                print(&format!(
                    "{} {}\n",
                    style.dim(&clock(at)),
                    event.line(style)
                ));
            }
            View::Json => {
                let mut line = json!(event);
                line["atSeconds"] = at.as_secs_f64().into();
                print(&format!("{line}\n"));
            }
        }
    }

    /// Updates the status of the controllers.
    pub(super) fn controllers(&self, controllers: Controllers) {
        self.notes().controllers = controllers;
    }

    /// Redraws the live view until the future is dropped. Other views need no drawing.
    pub(super) async fn draw(&self) {
        if self.0.view != View::Live {
            return std::future::pending().await;
        }
        let picture = LiveView::begin();
        loop {
            let lines = frame::lines(&self.notes(), self.0.style);
            picture.draw(&lines);
            let _ = tokio::time::timeout(REDRAW, self.0.news.notified()).await;
        }
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        // Every statement leaves the notes consistent, so a panic elsewhere does no harm.
        self.0.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Notes {
    fn keep(&mut self, event: &DevEvent, style: Style) {
        match event {
            DevEvent::Cluster { server, flags } => {
                self.server.clone_from(server);
                self.flags.clone_from(flags);
            }
            DevEvent::Building { why } => {
                self.state = State::Building {
                    since: Instant::now(),
                    why: why.clone(),
                };
            }
            DevEvent::Broken { said } => {
                self.broken = Some(said.clone());
                self.state = State::Running {
                    line: style.red("does not compile; the old one, if any, keeps running"),
                };
            }
            DevEvent::Running { .. } => {
                self.broken = None;
                self.controllers = Controllers::default();
                let line = event.line(style);
                self.state = State::Running { line };
            }
            DevEvent::Ended { how } => self.state = State::Ended { how: how.clone() },
            _ => {}
        }
    }
}
