//! The stream of watches of a client: each watch is a task, and all of them write to one stream in the order of revisions.
//!
//! The revision of a progress report is taken first; the report is written after every watch of the stream has written what is
//! up to that revision.

use std::{collections::HashMap, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::FutureExt;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use kubewright_store::{Change, ChangeKind, ReadError, Revision, Store, Watch, WatchError};
use tokio::{
    sync::{mpsc, oneshot},
    task::{AbortHandle, JoinSet},
    time::{MissedTickBehavior, interval},
};

use crate::{
    bounds::Bounds,
    call::{CallError, ReplyBody},
    frame::{Frames, framed},
    messages::{WatchRequest, header},
    stored::{COLLECTION, KeyValue},
    wire::Writer,
};

/// The answers that the client has not read yet.
const ANSWERS: usize = 64;
/// The most watches of a stream.
const MAX_WATCHES: usize = 10_000;
/// The most bytes of a request.
const MAX_REQUEST: usize = 64 << 10;
/// The most bytes of the events of an answer.
const MAX_EVENTS: usize = 1 << 20;
/// The interval of progress reports that a client has asked for once.
const PROGRESS: Duration = Duration::from_secs(5);
/// The number of a watch that stands for all of a stream.
const ALL: i64 = -1;

/// A watch that is served.
struct Served {
    wanted: mpsc::Sender<Wanted>,
    task: AbortHandle,
}

/// Asks a watch to write what is up to a revision.
struct Wanted {
    revision: Revision,
    done: oneshot::Sender<()>,
}

/// A watch of a client.
struct Watching {
    store: Arc<dyn Store>,
    answers: mpsc::Sender<Bytes>,
    bounds: Bounds,
    id: i64,
    /// Changes before it are not sent.
    start: u64,
    previous: bool,
    /// Whether it reports progress from time to time.
    reports: bool,
}

/// Serves the watches of a stream until the client ends it.
pub(crate) fn serve(store: Arc<dyn Store>, requests: Incoming) -> ReplyBody {
    let (answers, receiver) = mpsc::channel(ANSWERS);
    tokio::spawn(async move {
        if let Err(error) = stream(store, requests, answers).await {
            tracing::debug!(%error, "a stream of watches ended");
        }
    });
    ReplyBody::Many(receiver)
}

async fn stream(
    store: Arc<dyn Store>,
    mut requests: Incoming,
    answers: mpsc::Sender<Bytes>,
) -> Result<(), CallError> {
    let mut frames = Frames::default();
    let mut unread = 0;
    let mut tasks = JoinSet::new();
    let mut served: HashMap<i64, Served> = HashMap::new();
    let mut next = 0;
    while let Some(Ok(frame)) = requests.frame().await {
        let Ok(data) = frame.into_data() else {
            continue;
        };
        unread += data.len();
        if unread > MAX_REQUEST {
            return Err(CallError::too_large());
        }
        frames.push(&data);
        while let Some(message) = frames.next().map_err(CallError::invalid)? {
            unread = 0;
            served.retain(|_, watch| !watch.task.is_finished());
            while tasks.try_join_next().is_some() {}
            match WatchRequest::read(message)? {
                WatchRequest::Create {
                    bounds,
                    start,
                    progress,
                    previous,
                    id,
                } => {
                    if served.len() >= MAX_WATCHES {
                        return Err(CallError::too_many());
                    }
                    let id = match id {
                        0 => {
                            next += 1;
                            next
                        }
                        id => id,
                    };
                    let watching = Watching {
                        store: Arc::clone(&store),
                        answers: answers.clone(),
                        bounds,
                        id,
                        start,
                        previous,
                        reports: progress,
                    };
                    let (wanted, receiver) = mpsc::channel(1);
                    let task = tasks.spawn(watching.run(receiver));
                    served.insert(id, Served { wanted, task });
                }
                WatchRequest::Cancel(id) => {
                    if let Some(watch) = served.remove(&id) {
                        watch.task.abort();
                        let revision = store.current().await?;
                        let canceled = Writer::default()
                            .message(1, &header(revision.0))
                            .number(2, id)
                            .number(4, 1);
                        send(&answers, &canceled.finish()).await?;
                    }
                }
                WatchRequest::Progress => {
                    let revision = store.current().await?;
                    for watch in served.values() {
                        let (done, reached) = oneshot::channel();
                        let wanted = Wanted { revision, done };
                        // A watch that has ended has nothing more to write.
                        if watch.wanted.send(wanted).await.is_ok() {
                            let _ = reached.await;
                        }
                    }
                    send(&answers, &progress(revision, ALL)).await?;
                }
            }
        }
    }
    Ok(())
}

async fn send(answers: &mpsc::Sender<Bytes>, answer: &[u8]) -> Result<(), CallError> {
    let sent = answers.send(framed(answer)).await;
    sent.map_err(|_| CallError::invalid("the client has gone"))
}

fn progress(revision: Revision, id: i64) -> Vec<u8> {
    Writer::default()
        .message(1, &header(revision.0))
        .number(2, id)
        .finish()
}

impl Watching {
    async fn run(self, wanted: mpsc::Receiver<Wanted>) {
        if let Err(error) = self.watch(wanted).await {
            tracing::debug!(%error, "a watch ended");
        }
    }

    async fn watch(&self, mut wanted: mpsc::Receiver<Wanted>) -> Result<(), CallError> {
        let current = self.store.current().await?;
        let created = Writer::default()
            .message(1, &header(current.0))
            .number(2, self.id)
            .number(3, 1);
        self.send(&created.finish()).await?;
        // A start in the future is waited for.
        let after = match self.start {
            0 => current.0,
            start => current.0.min(start - 1),
        };
        let prefix = self.bounds.prefix();
        let opened = self.store.watch(COLLECTION, prefix, Revision(after)).await;
        let mut watch = match opened {
            Ok(watch) => watch,
            Err(ReadError::Compacted { floor, .. }) => {
                return self.cancel(current, floor, &CallError::compacted()).await;
            }
            Err(error) => return self.cancel(current, Revision(0), &error.into()).await,
        };
        let mut reports = interval(PROGRESS);
        reports.set_missed_tick_behavior(MissedTickBehavior::Delay);
        reports.tick().await;
        loop {
            let changes = tokio::select! {
                changes = watch.next() => changes,
                Some(wanted) = wanted.recv() => {
                    match self.reach(&mut *watch, wanted.revision).await? {
                        Some(ended) => Err(ended),
                        None => {
                            // Nobody waits if the stream has ended.
                            let _ = wanted.done.send(());
                            continue;
                        }
                    }
                }
                _ = reports.tick(), if self.reports => {
                    let reached = watch.progress();
                    self.send(&progress(reached, self.id)).await?;
                    continue;
                }
            };
            match changes {
                Ok(changes) => self.write(watch.progress(), &changes).await?,
                Err(WatchError::Lagged { floor }) => {
                    let current = self.store.current().await?;
                    return self.cancel(current, floor, &CallError::compacted()).await;
                }
                Err(error) => {
                    let error = CallError::invalid(error.to_string());
                    return self.cancel(current, Revision(0), &error).await;
                }
            }
        }
    }

    /// Writes what is up to a revision. Returns the error that ends the watch.
    async fn reach(
        &self,
        watch: &mut dyn Watch,
        revision: Revision,
    ) -> Result<Option<WatchError>, CallError> {
        while watch.progress() < revision {
            // It is committed, so it is there, or nothing of it concerns this watch.
            match watch.next().now_or_never() {
                Some(Ok(changes)) => self.write(watch.progress(), &changes).await?,
                Some(Err(ended)) => return Ok(Some(ended)),
                None => tokio::task::yield_now().await,
            }
        }
        Ok(None)
    }

    async fn write(&self, reached: Revision, changes: &[Arc<Change>]) -> Result<(), CallError> {
        let is_wanted = |change: &&Arc<Change>| {
            change.revision.0 >= self.start && self.bounds.contains(&change.entry.path)
        };
        let mut changes = changes.iter().filter(is_wanted).peekable();
        while changes.peek().is_some() {
            let mut size = 0;
            let mut revision = reached.0;
            let mut events = Writer::default();
            while size < MAX_EVENTS
                && let Some(change) = changes.next()
            {
                let event = self.event(change);
                size += event.len();
                events = events.message(11, &event);
                if changes.peek().is_some() {
                    revision = change.revision.0;
                }
            }
            let answer = Writer::default()
                .message(1, &header(revision.max(1)))
                .number(2, self.id)
                .finish();
            self.send(&[answer, events.finish()].concat()).await?;
        }
        Ok(())
    }

    fn event(&self, change: &Change) -> Vec<u8> {
        let (kind, kv) = match change.kind {
            ChangeKind::Deleted => (1, KeyValue::deleted(&change.entry)),
            ChangeKind::Created | ChangeKind::Updated => (0, KeyValue::of(&change.entry)),
        };
        let event = Writer::default().number(1, kind).message(2, &kv.encode());
        let previous = change.previous.as_ref().filter(|_| self.previous);
        let event = previous.iter().fold(event, |event, previous| {
            event.message(3, &KeyValue::of(previous).encode())
        });
        event.finish()
    }

    async fn cancel(
        &self,
        revision: Revision,
        floor: Revision,
        why: &CallError,
    ) -> Result<(), CallError> {
        let canceled = Writer::default()
            .message(1, &header(revision.0))
            .number(2, self.id)
            .number(4, 1)
            .number(5, floor.0 as i64)
            .bytes(6, why.message.as_bytes());
        self.send(&canceled.finish()).await
    }

    async fn send(&self, answer: &[u8]) -> Result<(), CallError> {
        send(&self.answers, answer).await
    }
}
