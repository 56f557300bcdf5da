//! The task of a tab: its views, its pace and timeouts.

use std::{collections::HashMap, pin::pin, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::future::select_all;
use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};

use super::{
    feed::{Feed, Feeds},
    poll::Answer,
    subscription::{Subscription, Wanted, What},
    table::{Source, TableState},
    window::{Query, Sent},
};

/// The shortest interval between two messages of a view.
const PACE: Duration = Duration::from_millis(200);

/// The polling interval of responses.
const EVERY: Duration = Duration::from_secs(1);

/// The interval of heartbeat lines.
const BEAT: Duration = Duration::from_secs(10);

/// The time after which a tab that does not read is disconnected.
const PATIENCE: Duration = Duration::from_secs(15);

/// The average number of bytes per second that are sent to a tab.
const RATE: f64 = (1 << 20) as f64;

/// The reciprocal share of the time that may be spent on selecting the rows of a window.
const SHARE: u32 = 5;

/// A subscription, its feed, and what was sent.
struct View {
    subscription: Subscription,
    changes: watch::Receiver<u64>,
    looks_at: LooksAt,
    /// The earliest time of the next message.
    not_before: Instant,
    is_due: bool,
}

enum LooksAt {
    Table(Box<Window>),
    Poll(Arc<Feed<Answer>>),
}

/// A window of a table.
struct Window {
    feed: Arc<Feed<TableState>>,
    query: Query,
    sent: Sent,
    /// The columns and the error that were sent last.
    head: Option<Value>,
}

/// Encodes a line of the stream.
pub(crate) fn line(message: &Value) -> Bytes {
    let mut line = message.to_string();
    line.push('\n');
    line.into()
}

/// Sends a tab its views, until it disconnects or stops reading.
pub(crate) async fn run(
    feeds: Arc<Feeds>,
    mut wanted: watch::Receiver<Arc<Wanted>>,
    sender: mpsc::Sender<Bytes>,
) {
    let mut views: Vec<View> = Vec::new();
    let mut beat = Instant::now() + BEAT;
    loop {
        let next = views
            .iter()
            .filter(|view| view.is_due)
            .map(|view| view.not_before)
            .min();
        let wake = next.map_or(beat, |next| next.min(beat));
        tokio::select! {
            () = sender.closed() => return,
            changed = wanted.changed() => match changed {
                Ok(()) => {
                    let now = wanted.borrow_and_update().clone();
                    subscribe(&feeds, &mut views, &now);
                }
                Err(_) => return,
            },
            at = changed(&mut views) => {
                if let Some(view) = views.get_mut(at) {
                    view.is_due = true;
                }
            }
            () = tokio::time::sleep_until(wake) => {}
        }
        let now = Instant::now();
        let mut lines = Vec::new();
        for view in views
            .iter_mut()
            .filter(|view| view.is_due && view.not_before <= now)
        {
            lines.extend(view.message().map(|message| line(&message)));
        }
        if lines.is_empty() && beat <= now {
            lines.push(line(&json!({"type": "beat"})));
        }
        for one in lines {
            beat = Instant::now() + BEAT;
            let length = one.len();
            // Nothing is prepared while the tab is slow: the next message has the state at that time.
            match tokio::time::timeout(PATIENCE, sender.send(one)).await {
                Ok(Ok(())) => {
                    tokio::time::sleep(Duration::from_secs_f64(length as f64 / RATE)).await
                }
                Ok(Err(_)) => return,
                Err(_) => {
                    tracing::debug!("a tab takes nothing and is cut off");
                    return;
                }
            }
        }
    }
}

/// Waits for a change of a feed whose view is not due already.
async fn changed(views: &mut [View]) -> usize {
    let waiting: Vec<_> = views
        .iter_mut()
        .enumerate()
        .filter(|(_, view)| !view.is_due)
        .map(|(at, view)| {
            Box::pin(async move {
                // The feed lives as long as the view.
                let _ = view.changes.changed().await;
                at
            })
        })
        .collect();
    match waiting.is_empty() {
        true => std::future::pending().await,
        false => pin!(select_all(waiting)).await.0,
    }
}

/// Updates the views to the subscriptions of the tab. Views that remain keep their state.
fn subscribe(feeds: &Feeds, views: &mut Vec<View>, wanted: &Wanted) {
    let mut old: HashMap<String, View> = views
        .drain(..)
        .map(|view| (view.subscription.id.clone(), view))
        .collect();
    for subscription in &wanted.subscriptions {
        let kept = old.remove(&subscription.id);
        let view = match kept {
            Some(view) if view.is_same(subscription) => view.with(subscription),
            _ => View::new(feeds, subscription.clone()),
        };
        views.push(view);
    }
}

impl View {
    fn new(feeds: &Feeds, subscription: Subscription) -> Self {
        let (changes, looks_at) = match &subscription.what {
            What::Table(table) => {
                let feed = feeds.table(&Source::of(table));
                let looks_at = LooksAt::Table(Box::new(Window {
                    query: table.query.clone(),
                    sent: Sent::having(&table.have),
                    head: None,
                    feed: feed.clone(),
                }));
                (feed.changes(), looks_at)
            }
            What::Poll { path } => {
                let feed = feeds.poll(path, EVERY);
                (feed.changes(), LooksAt::Poll(feed))
            }
        };
        Self {
            subscription,
            changes,
            looks_at,
            not_before: Instant::now(),
            is_due: true,
        }
    }

    /// Reports whether a subscription selects the same objects, possibly through another window.
    fn is_same(&self, other: &Subscription) -> bool {
        match (&self.subscription.what, &other.what) {
            (What::Table(one), What::Table(other)) => Source::of(one) == Source::of(other),
            (one, other) => one == other,
        }
    }

    fn with(mut self, subscription: &Subscription) -> Self {
        if self.subscription != *subscription {
            if let (LooksAt::Table(window), What::Table(table)) =
                (&mut self.looks_at, &subscription.what)
            {
                window.query.clone_from(&table.query);
            }
            self.subscription = subscription.clone();
            self.is_due = true;
        }
        self
    }

    /// Returns the message that updates the tab, unless it is up to date.
    fn message(&mut self) -> Option<Value> {
        let began = Instant::now();
        self.is_due = false;
        self.changes.mark_unchanged();
        let id = &self.subscription.id;
        let message = match &mut self.looks_at {
            LooksAt::Table(window) => window.message(id),
            LooksAt::Poll(feed) => feed.look(|answer| {
                (answer.code != 0).then(
                    || json!({"type": "answer", "id": id, "code": answer.code, "body": answer.body}),
                )
            }),
        };
        self.not_before = Instant::now() + PACE.max(began.elapsed() * SHARE);
        message
    }
}

impl Window {
    fn message(&mut self, id: &str) -> Option<Value> {
        let (selected, now, revision) = self.feed.look(|state| {
            let selected = state.is_synced.then(|| self.query.select(&state.rows));
            let error = state
                .error
                .as_ref()
                .map(|(code, message)| json!({"code": code, "message": message}));
            let now = json!({"columns": *state.columns, "error": error, "synced": state.is_synced});
            (selected, now, state.revision.clone())
        });
        let update = selected.and_then(|selected| self.sent.update(&selected));
        let is_new = self.head.as_ref() != Some(&now);
        if update.is_none() && !is_new {
            return None;
        }
        let mut message = update.unwrap_or_else(|| json!({}));
        message["type"] = "window".into();
        message["id"] = id.into();
        message["revision"] = revision.into();
        if is_new {
            message["head"] = now.clone();
            self.head = Some(now);
        }
        Some(message)
    }
}
