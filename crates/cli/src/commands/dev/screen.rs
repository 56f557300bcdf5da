//! [`Screen`]: where things are shown: as a picture on a terminal, line by line elsewhere, or as JSON.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use serde_json::json;
use tokio::sync::Notify;

use super::{frame, happening::Happening};
use crate::commands::{
    endpoint::Controllers,
    style::Style,
    terminal::{Picture, clock, print},
};

/// How many happenings the picture remembers.
const REMEMBERED: usize = 12;

/// How often the picture is drawn when nothing happens.
const REDRAW: Duration = Duration::from_millis(250);

/// How things are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    Picture,
    Lines,
    Json,
}

/// Where things are shown. Clones are the same one.
#[derive(Clone)]
pub(super) struct Screen(Arc<Inner>);

struct Inner {
    view: View,
    style: Style,
    notes: Mutex<Notes>,
    news: Notify,
}

/// What is known.
pub(super) struct Notes {
    pub(super) began: Instant,
    pub(super) title: String,
    pub(super) server: String,
    pub(super) flags: String,
    pub(super) state: State,
    /// What the compiler found fault with.
    pub(super) broken: Option<String>,
    /// What the controllers said last.
    pub(super) controllers: Controllers,
    pub(super) recent: VecDeque<(Duration, Happening)>,
}

/// What the operator is at.
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

    /// Shows what happened.
    pub(super) fn tell(&self, happening: Happening) {
        let mut notes = self.notes();
        let at = notes.began.elapsed();
        notes.keep(&happening, self.0.style);
        match self.0.view {
            View::Picture => {
                if happening.is_recent() {
                    notes.recent.push_back((at, happening));
                    while notes.recent.len() > REMEMBERED {
                        notes.recent.pop_front();
                    }
                }
                drop(notes);
                self.0.news.notify_one();
            }
            // Under the lock, so that lines stand in the order in which things happened.
            View::Lines => {
                let style = self.0.style;
                print(&format!(
                    "{} {}\n",
                    style.dim(&clock(at)),
                    happening.line(style)
                ));
            }
            View::Json => {
                let mut line = json!(happening);
                line["atSeconds"] = at.as_secs_f64().into();
                print(&format!("{line}\n"));
            }
        }
    }

    /// What the controllers say of themselves now.
    pub(super) fn controllers(&self, controllers: Controllers) {
        self.notes().controllers = controllers;
    }

    /// Draws the picture until it is dropped. Lines need no drawing.
    pub(super) async fn draw(&self) {
        if self.0.view != View::Picture {
            return std::future::pending().await;
        }
        let picture = Picture::begin();
        loop {
            let lines = frame::lines(&self.notes(), self.0.style);
            picture.draw(&lines);
            // Nothing to look at twice means nothing to wait for: news or time.
            let _ = tokio::time::timeout(REDRAW, self.0.news.notified()).await;
        }
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        // Notes are whole after every statement: a panic elsewhere does not spoil them.
        self.0.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Notes {
    fn keep(&mut self, happening: &Happening, style: Style) {
        match happening {
            Happening::Cluster { server, flags } => {
                self.server.clone_from(server);
                self.flags.clone_from(flags);
            }
            Happening::Building { why } => {
                self.state = State::Building {
                    since: Instant::now(),
                    why: why.clone(),
                };
            }
            Happening::Broken { said } => {
                self.broken = Some(said.clone());
                self.state = State::Running {
                    line: style.red("does not compile; the old one, if any, keeps running"),
                };
            }
            Happening::Running { .. } => {
                self.broken = None;
                self.controllers = Controllers::default();
                let line = happening.line(style);
                self.state = State::Running { line };
            }
            Happening::Ended { how } => self.state = State::Ended { how: how.clone() },
            _ => {}
        }
    }
}
