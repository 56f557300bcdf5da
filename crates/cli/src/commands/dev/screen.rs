//! [`Screen`]: the output of `dev`: a live view on terminals, lines elsewhere, or JSON.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use serde_json::json;
use tokio::sync::Notify;

use super::{
    event::{self, DevEvent},
    frame,
    recent::Recent,
};
use crate::{
    operator::endpoint::Controllers,
    terminal::{LiveView, clock, print, style::Style},
};

/// The interval at which the progress of a build is printed where it is not drawn.
const PROGRESS: Duration = Duration::from_secs(10);

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
    /// The URL of the console, or nothing.
    pub(super) console: String,
    pub(super) state: State,
    /// The errors of the compiler.
    pub(super) broken: Option<String>,
    /// The last status of the controllers.
    pub(super) controllers: Controllers,
    pub(super) recent: Recent,
    /// The time of the last line about the progress of a build.
    told_progress: Instant,
}

/// The state of the operator.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum State {
    Starting,
    Building {
        since: Instant,
        why: String,
        progress: String,
    },
    Running {
        line: String,
    },
    Ended {
        how: String,
    },
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
                console: String::new(),
                state: State::Starting,
                broken: None,
                controllers: Controllers::default(),
                recent: Recent::default(),
                told_progress: Instant::now(),
            }),
            news: Notify::new(),
        }))
    }

    /// Shows an event.
    pub(super) fn show(&self, event: DevEvent) {
        if event.is_told_otherwise() && self.0.view != View::Json {
            return;
        }
        let mut notes = self.notes();
        let at = notes.began.elapsed();
        notes.keep(&event, self.0.style);
        let now = Instant::now();
        if matches!(event, DevEvent::Progress { .. }) && self.0.view != View::Live {
            if now.duration_since(notes.told_progress) < PROGRESS {
                return;
            }
            notes.told_progress = now;
        }
        let view = match self.0.view {
            // After the end of the view, and after a panic, there is only the terminal.
            View::Live if LiveView::has_ended() => View::Lines,
            view => view,
        };
        match view {
            View::Live => {
                if event.is_recent() {
                    notes.recent.push(at, event);
                }
                drop(notes);
                self.0.news.notify_one();
            }
            // The lock is held, so lines are printed in the order of events.
            View::Lines => {
                let style = self.0.style;
                let mut line = event.line(style);
                let count = notes.recent.push(at, event.clone());
                if event.is_failure() && count > 1 {
                    // A failure that is retried is printed at the 2nd, 4th, 8th time ...
                    if !count.is_power_of_two() {
                        return;
                    }
                    line.push_str(&times(count, style));
                }
                print(&format!("{} {line}\n", style.dim(&clock(at))));
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
            let lines = frame::lines(&self.notes(), self.0.style, picture.size());
            picture.draw(&lines);
            let _ = tokio::time::timeout(REDRAW, self.0.news.notified()).await;
        }
    }

    /// Prints a last line after the live view, which has left nothing on the terminal.
    pub(super) fn end(&self, cluster_is_gone: bool) {
        if self.0.view != View::Live {
            return;
        }
        let notes = self.notes();
        let cluster = match cluster_is_gone {
            true => "; the local cluster is gone",
            false => "",
        };
        print(&format!(
            "kubewright dev: stopped after {} s{cluster}\n",
            notes.began.elapsed().as_secs()
        ));
    }

    /// Returns the lines of the live view at this size.
    #[cfg(test)]
    pub(super) fn lines(&self, size: crate::terminal::Size) -> Vec<String> {
        frame::lines(&self.notes(), self.0.style, size)
    }

    /// Waits for something to be shown on a live view.
    #[cfg(test)]
    pub(super) async fn changed(&self) {
        self.0.news.notified().await;
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        // Every statement leaves the notes consistent, so a panic elsewhere does no harm.
        self.0.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Formats how often an event happened.
pub(super) fn times(count: u64, style: Style) -> String {
    style.dim(&format!(" ({count} times)"))
}

impl Notes {
    fn keep(&mut self, event: &DevEvent, style: Style) {
        match event {
            DevEvent::Cluster {
                server,
                flags,
                console,
            } => {
                self.console = console.clone().unwrap_or_default();
                self.server.clone_from(server);
                self.flags.clone_from(flags);
            }
            DevEvent::Building { why } => {
                self.told_progress = Instant::now();
                self.state = State::Building {
                    since: Instant::now(),
                    why: why.clone(),
                    progress: String::new(),
                };
            }
            DevEvent::Progress { done, total, now } => {
                if let State::Building { progress, .. } = &mut self.state {
                    *progress = event::progress(*done, *total, now);
                }
            }
            DevEvent::Broken { said } => {
                self.broken = Some(said.clone());
                self.state = State::Running {
                    line: style.red("does not compile; the old one, if any, keeps running"),
                };
            }
            DevEvent::Running { .. } | DevEvent::NotReady { .. } => {
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
