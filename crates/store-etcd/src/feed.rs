//! [`Feed`]: a watch of the whole prefix that keeps the store in memory up to date.
//!
//! Changes are applied in the order of revisions, all changes of a revision together. A watch that ends is resumed after the last
//! applied revision, at another member. If that revision has been compacted in the meantime, all objects are read again.

use std::{sync::Arc, time::Duration};

use kubewright_store::{
    Key, Payload, ReadError, Revision,
    engine::{Applied, Staged},
};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, sleep, sleep_until, timeout},
};

use crate::{
    api::{Event, Header, WatchAnswer, after_prefix, create_watch, progress_request},
    grpc::{CallError, Channel},
    load::load,
    quorum::newest_revision,
    shared::{Shared, Unreadable},
};

/// The first pause before a watch is resumed. It doubles with each attempt.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// The time limit for the confirmation of a watch.
const CONFIRMATION: Duration = Duration::from_secs(3);
/// The interval at which old history is dropped.
const SWEEP: Duration = Duration::from_secs(10);
/// The maximum number of changes in a fragmented message.
const MAX_PARTS: usize = 1 << 20;

pub(crate) const WATCH: &str = "/etcdserverpb.Watch/Watch";

/// The only writer of the published state.
pub(crate) struct Feed {
    shared: Arc<Shared>,
    channel: Channel,
    staged: Staged,
    commands: mpsc::Receiver<Command>,
    /// The time at which old history is dropped next.
    sweep: Instant,
}

/// A change of the store that is not caused by the watch.
pub(crate) enum Command {
    /// Drops the states before a revision.
    ForgetStates(Revision),
    /// Reads all objects again, since memory differs from etcd.
    Reload,
    /// Drops the states and changes before a revision.
    Compact(Revision, oneshot::Sender<Result<(), ReadError>>),
}

/// The reason why a watch ended.
enum End {
    /// The changes since the last applied revision are gone.
    Compacted,
    /// The history differs from the one that was read, for example after a backup was restored.
    OtherHistory,
    /// Memory differs from etcd.
    Inconsistent,
    Broken(CallError),
}

impl Feed {
    pub(crate) fn new(
        shared: Arc<Shared>,
        channel: Channel,
        staged: Staged,
        commands: mpsc::Receiver<Command>,
    ) -> Self {
        Self {
            shared,
            channel,
            staged,
            commands,
            sweep: Instant::now() + SWEEP,
        }
    }

    /// Follows etcd until the task is aborted.
    pub(crate) async fn run(mut self) {
        let mut pause = FIRST_PAUSE;
        loop {
            let began = Instant::now();
            match self.follow().await {
                End::Compacted => {
                    tracing::warn!(
                        "etcd has compacted changes that were not read yet; reading everything again"
                    );
                    self.reload().await;
                    continue;
                }
                End::OtherHistory => {
                    tracing::warn!("etcd's history has changed; reading everything again");
                    self.reload().await;
                    continue;
                }
                End::Inconsistent => {
                    self.reload().await;
                    continue;
                }
                End::Broken(error) => {
                    tracing::debug!(%error, "etcd's watch ended");
                    self.note_broken(&error);
                }
            }
            self.channel.move_on().await;
            if began.elapsed() > LONGEST_PAUSE {
                pause = FIRST_PAUSE;
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn follow(&mut self) -> End {
        let prefix = self.shared.names.prefix().as_bytes().to_vec();
        let start = self.staged.current().0 + 1;
        let request = create_watch(&prefix, &after_prefix(&prefix), start);
        let mut stream = match self.channel.stream(WATCH, &request).await {
            Ok(stream) => stream,
            Err(error) => return End::Broken(error),
        };
        let confirmed = timeout(CONFIRMATION, stream.next::<WatchAnswer>()).await;
        let confirmed = confirmed
            .unwrap_or_else(|_| Err(CallError::unsent("a watch was not confirmed in 3 s")));
        match confirmed {
            Ok(answer) if answer.canceled => return canceled(&answer),
            Ok(answer) if answer.header.revision + 1 < start && self.is_ahead().await => {
                return End::OtherHistory;
            }
            Ok(_) => *self.shared.broken.lock() = None,
            Err(error) => return End::Broken(error),
        }
        let mut parts = Vec::new();
        let shared = Arc::clone(&self.shared);
        loop {
            let answer: Result<WatchAnswer, _> = tokio::select! {
                answer = stream.next() => answer,
                () = shared.progress_wanted.notified() => {
                    stream.request(&progress_request());
                    continue;
                }
                () = shared.stalled.notified() => {
                    return End::Broken(CallError::unsent("etcd's watch does not make progress"));
                }
                Some(command) = self.commands.recv() => {
                    match self.obey(command) {
                        Some(end) => return end,
                        None => continue,
                    }
                }
                () = sleep_until(self.sweep) => {
                    let now = Instant::now();
                    self.staged.forget_aged(now);
                    self.sweep = now + SWEEP;
                    continue;
                }
            };
            let answer = match answer {
                Ok(answer) => answer,
                Err(error) => return End::Broken(error),
            };
            if answer.canceled {
                return canceled(&answer);
            }
            let is_progress = answer.events.is_empty() && !answer.fragment && parts.is_empty();
            parts.extend(answer.events);
            if answer.fragment && parts.len() < MAX_PARTS {
                continue;
            }
            let applied = match is_progress {
                true => self.progress(answer.header),
                false => self.apply(std::mem::take(&mut parts)),
            };
            if let Err(end) = applied {
                return end;
            }
        }
    }

    /// Applies changes, in the order of their revisions.
    fn apply(&mut self, events: Vec<Event>) -> Result<(), End> {
        let now = Instant::now();
        let mut events = events.into_iter().peekable();
        while let Some(first) = events.next() {
            let revision = first.kv.mod_revision;
            let mut writes: Vec<Applied> = self.write(first).into_iter().collect();
            while let Some(next) = events.next_if(|event| event.kv.mod_revision == revision) {
                writes.extend(self.write(next));
            }
            if self.staged.apply(Revision(revision), writes, now).is_err() {
                return Err(End::OtherHistory);
            }
        }
        self.publish();
        Ok(())
    }

    /// Records that there are no changes up to a revision.
    fn progress(&mut self, header: Header) -> Result<(), End> {
        let revision = Revision(header.revision);
        if revision > self.staged.current() {
            // The revision is newer than the newest one, so that this cannot fail.
            let _ = self.staged.apply(revision, [], Instant::now());
            self.publish();
        }
        Ok(())
    }

    fn publish(&mut self) {
        self.staged.take().publish();
        self.shared.applied.send_replace(self.staged.current());
    }

    /// Returns the write for a change, or `None` if the key is not that of an object.
    fn write(&self, event: Event) -> Option<Applied> {
        let names = &self.shared.names;
        let key = names.key(&event.kv.key)?;
        let payload = match event.is_delete {
            true => None,
            false => self.payload(&key, &event),
        };
        Some(Applied {
            key,
            // Unreadable values are treated as missing.
            payload,
            deadline: None,
        })
    }

    fn payload(&self, key: &Key, event: &Event) -> Option<Payload> {
        let kv = &event.kv;
        let own = self.shared.own.find(&kv.key, &kv.value);
        let payload = match own {
            Some(payload) => payload,
            None => match self.shared.names.layout.decode(key, &kv.value) {
                Ok(payload) => payload,
                Err(reason) => {
                    let error = Unreadable::new(&kv.key, &*reason);
                    self.shared.note_unreadable(&error);
                    return None;
                }
            },
        };
        // etcd deletes objects that have expired.
        Some(Payload {
            ttl: None,
            ..payload
        })
    }

    /// Reads all objects again.
    async fn reload(&mut self) {
        let mut pause = FIRST_PAUSE;
        loop {
            match load(&self.channel, &self.shared.names, None).await {
                Ok(loaded) => {
                    loaded.report(&self.shared);
                    let revision = loaded.revision;
                    self.staged.replace(revision, loaded.objects);
                    self.shared.applied.send_replace(revision);
                    return;
                }
                Err(error) => {
                    tracing::warn!(%error, "etcd could not be read");
                    self.note_broken(&error);
                }
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Returns the reason to end the watch, if there is one.
    fn obey(&mut self, command: Command) -> Option<End> {
        match command {
            Command::Reload => return Some(End::Inconsistent),
            Command::ForgetStates(floor) => {
                self.staged.forget_states(floor);
                self.staged.take().publish();
            }
            Command::Compact(floor, done) => {
                let compacted = self.staged.compact(floor);
                self.staged.take().publish();
                // The requester may be gone.
                let _ = done.send(compacted);
            }
        }
        None
    }

    /// Returns whether etcd as a whole, and not only one member, is behind the state that was read.
    async fn is_ahead(&self) -> bool {
        let newest = newest_revision(&self.channel, &self.shared.names).await;
        newest.is_ok_and(|newest| newest < self.staged.current())
    }

    fn note_broken(&self, error: &CallError) {
        let mut broken = self.shared.broken.lock();
        let since = broken
            .as_ref()
            .map_or_else(Instant::now, |(since, _)| *since);
        *broken = Some((since, error.message.clone()));
    }
}

/// Returns the reason why etcd ended a watch.
fn canceled(answer: &WatchAnswer) -> End {
    match answer.compact_revision {
        0 => End::Broken(CallError::unsent(&answer.cancel_reason)),
        _ => End::Compacted,
    }
}
